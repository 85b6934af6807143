"""The upper part of the report as HTML: what was read, what was decided, what it would have spared. All text is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from tailhealth.core.model import Action, Decision
from tailhealth.core.view import PoolView, UpstreamView, View
from tailhealth.views.points import Points
from tailhealth.views.report_data import MOST_DRAWN, NAME, Told
from tailhealth.views.serving import least_serving
from tailhealth.views.tables import Period, Stage, pool_title, stretches
from tailhealth.views.text import by_kind, duration, harmless, moment, statement

MOST_TOLD = 500
"""So many decisions are told in sentences, the first and the last ones; the plots show all."""
_COLUMNS = ("upstream", "", "attempts", "good", "bad", "ejected", "out for", "avoided bad", "lost good")


class About(NamedTuple):
    """What is said above the numbers."""

    config: str
    logs: Sequence[str]
    notes: Sequence[str]
    """What was odd about the input, in sentences."""


def summary_html(about: About, told: Told) -> str:
    """Put the upper part together."""
    view, decisions, period = told
    parts = [_heading(about, period), f"<div class='cards'>{_cards(view, decisions)}</div>"]
    parts += [_table(pool, decisions, period, several=len(view.pools) > 1) for pool in view.pools if pool.upstreams]
    parts.append(_told(decisions, period))
    return "\n".join(parts)


def notes_html(about: About, view: View, points: Points) -> str:
    """Say how to read the page, and what is not on it."""
    upstreams = sum(len(pool.upstreams) for pool in view.pools)
    notes = [
        "It shows what would have been decided on recorded traffic; a real ejection would have moved traffic.",
        "A triangle is a request that got no header: it waited that long, so the header time is at least that.",
        "Hollow points did not count: they began while their upstream was out, or before it was acted on.",
    ]
    if points.longest_run > 1:
        notes.append(
            f"Thinned: every bad attempt is drawn; of up to {points.longest_run:,} others in a row, the first and the slowest."
        )
    else:
        notes.append("Every attempt is drawn.")
    if upstreams > MOST_DRAWN:
        notes.append(
            f"{MOST_DRAWN} of {upstreams:,} upstreams are drawn: those with decisions, then those with most bad attempts."
        )
    if view.late_lines:
        notes.append(f"{view.late_lines:,} lines came too late to be judged in their place.")
    if view.unmanaged_attempts:
        notes.append(f"{view.unmanaged_attempts:,} attempts at upstreams of no pool are not drawn.")
    return "".join(f"<li>{_text(note)}</li>" for note in (*notes, *about.notes))


def _heading(about: About, period: Period) -> str:
    logs = ", ".join(_text(one, 200) for one in about.logs)
    start, end = (_text(moment(at, period.zone)) for at in (period.start, period.end))
    return (
        "<header><h1>What tailhealth would have decided</h1>"
        f"<p><b>{logs}</b>, judged by <b>{_text(about.config, 200)}</b><br>"
        f"{start} to {end} ({_text(str(period.zone))}), {_text(duration(period.end - period.start))}</p></header>"
    )


def _cards(view: View, decisions: Sequence[Decision]) -> str:
    upstreams = [one for pool in view.pools for one in pool.upstreams]
    ejected = [(one.pool, one.upstream) for one in decisions if one.action is Action.EJECT]
    withheld = sum(one.action is Action.WITHHELD for one in decisions)
    bad = sum(sum(one.bad_total.values()) for one in upstreams)
    found = [
        ("attempts", f"{view.attempts:,}", f"at {len(upstreams):,} upstream{'s' * (len(upstreams) != 1)}"),
        ("counted bad", f"{bad:,}", "while their upstream was in"),
        ("ejections", f"{len(ejected):,}", f"of {len(set(ejected)):,} upstream{'s' * (len(set(ejected)) != 1)}"),
        ("withheld", f"{withheld:,}", "a guard said no"),
        ("bad ones avoided", f"{sum(one.avoided_bad for one in upstreams):,}", "what it would have spared"),
        ("good ones lost", f"{sum(one.lost_good for one in upstreams):,}", "its price"),
    ]
    least = [least_serving(pool, decisions) for pool in view.pools if pool.upstreams]
    if least:
        worst = min(least, key=lambda one: one.serving / max(1, one.of))
        where = f"in {_text(worst.pool, 24)}" if len(least) > 1 else "never fewer"
        found.append(("least serving", f"{worst.serving} of {worst.of}", where))
    return "".join(
        f"<div class='card'><span>{name}</span><b>{value}</b><small>{more}</small></div>" for name, value, more in found
    )


def _table(pool: PoolView, decisions: Sequence[Decision], period: Period, *, several: bool) -> str:
    title = f"<caption>{_text(pool_title(pool))}</caption>" if several or not pool.enforced else ""
    head = "".join(f"<th scope='col'>{name}</th>" for name in _COLUMNS)
    rows = "\n".join(_row(one, [two for two in decisions if two.pool == pool.name], period) for one in pool.upstreams)
    return f"<div class='scroll'><table>{title}<thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"


def _row(one: UpstreamView, decisions: Sequence[Decision], period: Period) -> str:
    bad = sum(one.bad_total.values())
    kinds = f" <small>{_text(by_kind(one.bad_total))}</small>" if bad else ""
    acted = bool(one.ejections)
    cells = [
        f"{one.good_total + bad + sum(one.ignored_total.values()):,}",
        f"{one.good_total:,}",
        f"{bad:,}{kinds}",
        f"{one.ejections:,}" if acted else "-",
        _text(duration(one.out_seconds)) if one.out_seconds else "-",
        f"{one.avoided_bad:,}" if acted else "-",
        f"{one.lost_good:,}" if acted else "-",
    ]
    bar = _bar([two for two in decisions if two.upstream == one.address], period)
    return (
        f"<tr><th scope='row'>{_text(one.address, NAME)}</th><td>{bar}</td>"
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
    )


def _bar(decisions: Sequence[Decision], period: Period) -> str:
    """Draw when an upstream was out or on probation, as a strip."""
    length = max(period.end - period.start, 1e-9)
    parts = []
    for part in stretches(decisions, period):
        if part.stage is not Stage.SERVING:
            left, width = (part.since - period.start) / length * 100, (part.until - part.since) / length * 100
            parts.append(f"<rect class='{part.stage}' x='{left:.3f}%' width='{max(width, 0.4):.3f}%' height='100%'/>")
    label = f"out {sum(two.action is Action.EJECT for two in decisions)} times"
    parts.insert(0, "<rect class='serving' width='100%' height='100%'/>")
    return f"<svg class='strip' role='img' aria-label='{label}'>{''.join(parts)}</svg>"


def _told(decisions: Sequence[Decision], period: Period) -> str:
    if not decisions:
        return "<p class='none'>No decision: nothing was worse than its peers for long enough.</p>"
    head, tail = list(decisions), []
    if len(decisions) > MOST_TOLD:
        head, tail = list(decisions[: MOST_TOLD // 2]), list(decisions[-MOST_TOLD // 2 :])
    lines = [_sentence(one, period) for one in head]
    if tail:
        lines.append(f"<li>... {len(decisions) - MOST_TOLD:,} more decisions: the plots show them all ...</li>")
        lines += [_sentence(one, period) for one in tail]
    is_open = "open" if len(decisions) <= 12 else ""  # noqa: PLR2004 - so many stand on one screen
    return f"<details {is_open}><summary>{len(decisions):,} decisions</summary><ol class='told'>{''.join(lines)}</ol></details>"


def _sentence(one: Decision, period: Period) -> str:
    when = (
        f"<button type='button' data-at='{one.at:.3f}' title='show in the plots'>{_text(moment(one.at, period.zone))}</button>"
    )
    return f"<li class='{one.action}'>{when} <b>{_text(one.upstream, NAME)}</b> {_text(statement(one))}</li>"


def _text(text: str, limit: int | None = None) -> str:
    """Return text from anywhere so that a page shows it and nothing else."""
    return escape(harmless(text, limit), quote=True)
