"""What `replay` prints: a table of what each upstream showed, a timeline of when it was in, and the decisions as sentences.

Pure functions of values. A terminal's width and colours are rich's matter; without colour the signs alone tell the states.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from enum import StrEnum
from typing import NamedTuple

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tailhealth.core.model import Action, Decision, Reason
from tailhealth.core.view import PoolView, UpstreamView, View
from tailhealth.views.serving import never_fewer
from tailhealth.views.text import by_kind, duration, harmless, moment, sentence

NAME_WIDTH = 28
"""Longest name of an upstream in a table, in characters."""
_SHORTEST_BAR = 20


class Stage(StrEnum):
    """Where an upstream was during a part of the timeline. Of several in one column the last named one is shown."""

    SERVING = "serving"
    PROBATION = "probation"
    OUT = "out"


class Period(NamedTuple):
    """What a report is about: two moments in epoch seconds, and the time zone to write them in."""

    start: float
    end: float
    zone: tzinfo


class Stretch(msgspec.Struct, frozen=True):
    """A part of the timeline."""

    since: float
    until: float
    stage: Stage


class Sign(msgspec.Struct, frozen=True):
    """How a stage is drawn."""

    character: str
    style: str


SIGNS = {Stage.SERVING: Sign("─", "green"), Stage.PROBATION: Sign("▒", "yellow"), Stage.OUT: Sign("█", "red")}
PLAIN_SIGNS = {Stage.SERVING: Sign("-", "green"), Stage.PROBATION: Sign("~", "yellow"), Stage.OUT: Sign("#", "red")}
"""For terminals that know ASCII only."""
_ORDER = list(Stage)


def totals(view: View) -> Group:
    """Tabulate what each upstream showed and what was done about it, over the whole input; then the kinds, where any."""
    parts: list[RenderableType] = []
    width = max((len(harmless(one.address, NAME_WIDTH)) for pool in view.pools for one in pool.upstreams), default=0)
    for pool in view.pools:
        if len(view.pools) > 1:
            parts.append(Text(pool_title(pool), style="bold"))
        parts.append(_pool_totals(pool, max(width, len("upstream"))))
    kinds = [line for pool in view.pools for one in pool.upstreams for line in _kinds(one)]
    return Group(*parts, *([Text(), *kinds] if kinds else []))


def _pool_totals(pool: PoolView, width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("upstream", overflow="fold", width=width)
    for name in ("attempts", "good", "bad"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("ejected", "out for", "avoided bad", "lost good"):
        table.add_column(name, justify="right")
    for one in pool.upstreams:
        _add_totals(table, one)
    return table


def _add_totals(table: Table, one: UpstreamView) -> None:
    bad = sum(one.bad_total.values())
    cells = [
        str(one.good_total + bad + sum(one.ignored_total.values())),
        str(one.good_total),
        str(bad),
        str(one.ejections) if one.ejections else "-",
        duration(one.out_seconds) if one.ejections or one.out_seconds else "-",
        str(one.avoided_bad) if one.ejections else "-",
        str(one.lost_good) if one.ejections else "-",
    ]
    table.add_row(Text(harmless(one.address, NAME_WIDTH)), *(Text(cell) for cell in cells))


def _kinds(one: UpstreamView) -> list[Text]:
    named = [f"{name}: {by_kind(kinds)}" for name, kinds in (("bad", one.bad_total), ("ignored", one.ignored_total)) if kinds]
    return [Text(f"{harmless(one.address, NAME_WIDTH)} {'; '.join(named)}")] if named else []


def pool_title(pool: PoolView) -> str:
    """Name a pool, and say when its decisions are only observed."""
    return f"pool {harmless(pool.name, 60)}" + ("" if pool.enforced else " (observed only)")


def stretches(decisions: Iterable[Decision], period: Period) -> list[Stretch]:
    """Turn the decisions about one upstream in one pool into the stages it went through."""
    start, end, _ = period
    found: list[Stretch] = []
    stage, since = Stage.SERVING, start
    for decision in decisions:
        after = _after(decision, stage)
        at = min(max(decision.at, start), end)
        if after is not stage:
            if at > since:
                found.append(Stretch(since, at, stage))
            stage, since = after, at
    found.append(Stretch(since, end, stage))
    return found


def _after(decision: Decision, before: Stage) -> Stage:
    if decision.action is Action.EJECT:
        return Stage.OUT
    if decision.action is Action.READMIT:
        return Stage.PROBATION if decision.reason in (Reason.TIMER, Reason.RELIEF) else Stage.SERVING
    if decision.action is Action.RECOVERED and before is Stage.PROBATION and decision.reason is not Reason.CLEARED:
        return Stage.SERVING
    return before


def bar(parts: Sequence[Stretch], period: Period, width: int, *, plain: bool = False) -> Text:
    """Draw stages as a bar of `width` characters. Each column shows the worst stage in it: nothing short is lost."""
    start, end, _ = period
    scale = width / (end - start) if end > start else 0.0
    worst = [0] * width
    for part in parts:
        rank = _ORDER.index(part.stage)
        first = min(width - 1, int((part.since - start) * scale))
        last = min(width - 1, max(first, -int(-(part.until - start) * scale // 1) - 1))
        for column in range(first, last + 1):
            worst[column] = max(worst[column], rank)
    signs = PLAIN_SIGNS if plain else SIGNS
    text = Text(no_wrap=True)
    for rank in worst:
        sign = signs[_ORDER[rank]]
        text.append(sign.character, sign.style)
    return text


def timelines(view: View, decisions: Sequence[Decision], period: Period, width: int, *, plain: bool = False) -> Group:
    """Draw one bar per upstream, with the moments below and a legend."""
    names = [harmless(one.address, NAME_WIDTH) for pool in view.pools for one in pool.upstreams]
    indent = max(map(len, names), default=0) + 1
    length = max(_SHORTEST_BAR, width - indent)
    lines: list[RenderableType] = []
    for pool in view.pools:
        if len(view.pools) > 1:
            lines.append(Text(pool_title(pool), style="bold"))
        for one in pool.upstreams:
            own = [two for two in decisions if two.upstream == one.address and two.pool == pool.name]
            line = Text(harmless(one.address, NAME_WIDTH).ljust(indent), no_wrap=True, overflow="crop")
            lines.append(line + bar(stretches(own, period), period, length, plain=plain))
    return Group(*lines, scale(period, indent, length), legend(indent, plain=plain))


def scale(period: Period, indent: int, length: int) -> Text:
    """Write the two ends of a period below bars of `length` columns that begin at column `indent`."""
    left, right = moment(period.start, period.zone), moment(period.end, period.zone)
    return Text(" " * indent + left + right.rjust(max(len(right) + 1, length - len(left))), style="dim", no_wrap=True)


def legend(indent: int, *, plain: bool = False) -> Text:
    """Say what the signs of a bar mean."""
    text = Text(" " * indent, no_wrap=True)
    for stage, sign in (PLAIN_SIGNS if plain else SIGNS).items():
        text.append(sign.character, sign.style)
        text.append(f" {stage}  ")
    return text


def told(decisions: Sequence[Decision], zone: tzinfo, most: int = 50) -> Group:
    """Tell the decisions in sentences, the oldest first; of more than `most`, the first and the last ones."""
    head, tail = list(decisions), []
    if len(decisions) > most:
        head, tail = list(decisions[: most // 2]), list(decisions[-(most - most // 2) :])
    lines = [Text(sentence(one, zone, dated=True), style=style(one)) for one in head]
    if tail:
        left_out = len(decisions) - len(head) - len(tail)
        lines.append(Text(f"... {left_out} more decisions: --json shows them all ...", style="dim"))
        lines += [Text(sentence(one, zone, dated=True), style=style(one)) for one in tail]
    return Group(*lines)


def style(decision: Decision) -> str:
    """Return the colour of a decision."""
    return {Action.EJECT: "red", Action.WITHHELD: "yellow", Action.READMIT: "cyan", Action.RECOVERED: "green"}[decision.action]


def summary(view: View, decisions: Sequence[Decision], period: Period, width: int, *, plain: bool = False) -> Group:
    """Put together what `replay` prints: decisions, table, timelines and what the policy would have spared.

    Args:
        view: The engine's state at the end of the input.
        decisions: All of them, in order.
        period: From the first line to the last.
        width: Columns of the terminal.
        plain: ASCII signs only.
    """
    if not any(pool.upstreams for pool in view.pools):
        return Group(Text("no attempt at any upstream was found: `tailhealth parse` shows how each line is read"))
    spared = [one for pool in view.pools for one in pool.upstreams]
    avoided, lost = sum(one.avoided_bad for one in spared), sum(one.lost_good for one in spared)
    span = duration(period.end - period.start)
    return Group(
        told(decisions, period.zone) if decisions else Text("no decision: nothing was worse than its peers for long enough"),
        Text(),
        totals(view),
        Text(),
        timelines(view, decisions, period, width, plain=plain),
        Text(),
        Text(
            f"{view.attempts} attempts over {span}; while their upstream was out: {avoided} bad ones avoided, "
            f"{lost} good ones lost."
        ),
        *(Text(line) for line in never_fewer(view.pools, decisions, period.zone)),
    )
