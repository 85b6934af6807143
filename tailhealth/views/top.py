"""`top`: one screen that shows what every upstream does, what was decided, and whether the input can be trusted.

`render` is a pure function; the command's loop owns the terminal. Every line fits the width, and all lines the height.
"""

from __future__ import annotations

import sys
from textwrap import wrap

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from tailhealth.core.view import PoolView, Standing
from tailhealth.views.frame import Frame, InputHealth, Look, Sort
from tailhealth.views.rows import Columns, Row, rate
from tailhealth.views.tables import style
from tailhealth.views.text import clock, duration, harmless, sentence

FEWEST_DECISIONS = 4
"""Lines that the decisions get at least, where there are any."""
_LAG = 2.0
_INPUTS = 3
_HINTS = 2


HELP = (
    "q  quit (Ctrl-C too)     p  pause the picture; reading goes on",
    "s  sort by the next      f  filter by a part of name, state or pool",
    "Esc  no filter           ?  this help, and back",
    "",
    "out 0:33, 2 draining  back in 33 s; 2 requests are still in flight at it",
    "probation 1/3         back again, with 1 of the 3 good answers it needs",
    "withheld settle       it tripped, and this guard keeps it in",
    "held down             by the proxy's own checks",
    "protected, pinned     never ejected",
    "",
    "req/s   attempts a second, lately      fly  in flight, as the proxy counts",
    "p50 ..  time until the header, 5 min   bad  share of the counted attempts",
    "longest wait, or waits: a sign per 5 s, newest at the right, logarithmic",
)


def render(frame: Frame, look: Look, width: int, height: int) -> RenderableType:
    """Draw the screen of a terminal of this size."""
    top = [_title(frame, look, width), *_inputs(frame, width)]
    room = max(0, height - len(top) - 1)
    if look.help:
        body = [Text(), *(Text(line, no_wrap=True, overflow="ellipsis") for line in HELP)]
    else:
        body = _body(frame, look, width, room)
    lines = [*top, *body[:room]]
    lines += [Text()] * (height - 1 - len(lines))
    return Group(*lines[: max(0, height - 1)], _foot(look, width))


def still(frame: Frame, look: Look, width: int) -> RenderableType:
    """Draw one picture without keys, as high as it needs to be."""
    return Group(_title(frame, look, width), *_inputs(frame, width), *_body(frame, look, width, sys.maxsize))


def _body(frame: Frame, look: Look, width: int, room: int) -> list[Text]:
    """Draw the table and the decisions on at most about `room` lines."""
    told = _told(frame, look, width)
    kept = min(len(told) + 1, max(FEWEST_DECISIONS, room // 3)) if told else 0
    body = _table(frame, look, width, room - kept)
    if told:
        body += [_rule("decisions, the latest first", width), *told]
    return body


def _title(frame: Frame, look: Look, width: int) -> Text:
    """Return the first line: what and when at the left, the totals at the right."""
    view = frame.view
    ups = [one for pool in view.pools for one in pool.upstreams]
    out = sum(one.standing is Standing.OUT for one in ups)
    together = rate(sum(one.rate for one in frame.stats.upstreams))
    left = f"tailhealth  {clock(frame.now, look.zone)}  {harmless(look.mode)}" + ("  PAUSED" if look.paused else "")
    right = f"{len(ups)} upstreams, {out} out  {together} req/s"
    text = Text(no_wrap=True, overflow="ellipsis", style="bold")
    text.append(left)
    text.append(" " * max(2, width - cell_len(left) - cell_len(right)) + right, "red" if out else "")
    return text


def _inputs(frame: Frame, width: int) -> list[Text]:
    """Return lines on the health of the input, and on what is wrong with the setup."""
    lines = [Text(part, style="bold cyan") for part in wrap(harmless(frame.caption), max(20, width))]
    lines += [Text(harmless(note, width), style="red") for note in frame.notes[:_INPUTS]]
    troubled = sorted(frame.inputs, key=lambda one: not one.why)
    lines += [_input(one, frame.now, max(16, width // 3)) for one in troubled[:_INPUTS]]
    if len(troubled) > _INPUTS:
        lines.append(Text(f"and {len(troubled) - _INPUTS} more logs", style="dim"))
    hints = dict.fromkeys(hint for one in frame.inputs for hint in one.hints.values())
    lines += [Text("hint: " + harmless(hint, width), style="yellow") for hint in list(hints)[:_HINTS]]
    view = frame.view
    rest = [f"{view.late_lines} lines came late"] if view.late_lines else []
    if view.unmanaged_attempts:
        names = ", ".join(harmless(name, 40) for name in view.unmanaged[:3])
        rest.append(f"{view.unmanaged_attempts} attempts at addresses that no pool has: {names}")
    if rest:
        lines.append(Text("; ".join(rest), style="dim"))
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return lines


def _input(one: InputHealth, now: float, room: int) -> Text:
    name = harmless(one.path)
    if len(name) > room:
        name = "…" + name[1 - room :]
    parts = [f"{one.lines} lines"]
    if one.late_by is not None and one.late_by >= _LAG:
        parts.append(f"{duration(one.late_by)} behind")
    if one.newest is not None and now - one.newest >= 1:
        parts.append(f"the last {duration(now - one.newest)} ago")
    if one.skipped:
        kinds = ", ".join(f"{count} {harmless(reason)}" for reason, count in sorted(one.skipped.items()))
        parts.append(f"{sum(one.skipped.values())} skipped ({kinds})")
    state = f"{harmless(one.state)}: {harmless(one.why)}" if one.why else harmless(one.state)
    return Text(f"{name}: {state}, {', '.join(parts)}", style="red" if one.why else "dim")


def _rows(frame: Frame, look: Look) -> list[Row]:
    numbers = {(one.pool, one.upstream): one for one in frame.stats.upstreams}
    rows: list[Row] = []
    for pool in frame.view.pools:
        for upstream in pool.upstreams:
            stats = numbers.get((pool.name, upstream.address))
            rows.append(Row(pool, upstream, stats, frame.now, len(rows)))
    wanted = look.filter.casefold()
    rows = [row for row in rows if wanted in f"{row.name} {row.state} {row.pool.name}".casefold()]
    return sorted(rows, key=lambda row: (*_key(row, look.sort), row.order))


def _key(row: Row, sort: Sort) -> tuple[float, ...]:
    match sort:
        case Sort.POOL:
            return ()
        case Sort.URGENCY:
            return (row.rank,)
        case Sort.RATE:
            return (-row.rate,)
        case Sort.SLOWEST:
            return (-row.p95,)
        case Sort.BAD:
            return (-row.bad_share,)


def _table(frame: Frame, look: Look, width: int, room: int) -> list[Text]:
    """Draw the pools and their upstreams on at most `room` lines; what does not fit is counted, the urgent ones stay."""
    rows = _rows(frame, look)
    if not rows:
        why = "no upstream matches the filter" if look.filter else "no attempt at any upstream was seen yet"
        return [Text(), Text(why, style="yellow", no_wrap=True, overflow="ellipsis")][: max(0, room)]
    columns = Columns(rows, width)
    pools = [pool for pool in frame.view.pools if any(row.pool is pool for row in rows)]
    room -= 1
    kept = _kept(rows, max(0, room - 1))
    hidden = len(rows) - len(kept)
    details = {row.order: row.detail(with_kinds=not columns.kinds) for row in kept}
    needed = len(kept) + len({id(row.pool) for row in kept}) + bool(hidden)
    spare = room - needed
    lines = [columns.header()]
    for pool in pools:
        own = [row for row in kept if row.pool is pool]
        if own:
            lines.append(_pool(pool, width))
        for row in own:
            lines.append(columns.line(row, plain=look.plain))
            if details[row.order] and spare > 0:
                spare -= 1
                lines.append(Text(f"    {details[row.order]}", style="dim", no_wrap=True, overflow="ellipsis"))
    if hidden:
        lines.append(Text(f"... {hidden} more upstreams: f filters, s sorts", style="dim", no_wrap=True, overflow="ellipsis"))
    return lines[: max(0, room + 1)]


def _kept(rows: list[Row], room: int) -> list[Row]:
    """Choose the rows that fit, the urgent ones first; each pool needs a line for its title too."""
    pools: set[int] = set()
    kept: set[int] = set()
    for row in sorted(rows, key=lambda one: one.rank):
        cost = 1 + (id(row.pool) not in pools)
        if cost <= room:
            room -= cost
            pools.add(id(row.pool))
            kept.add(row.order)
    return [row for row in rows if row.order in kept]


def _pool(pool: PoolView, width: int) -> Text:
    """Return the title of a pool: its name, and all that keeps decisions from being taken or applied."""
    text = Text(f"pool {harmless(pool.name, max(8, width // 2))}", style="bold", no_wrap=True, overflow="ellipsis")
    if not pool.enforced:
        text.append("  observed only", "yellow")
    if pool.paused:
        text.append("  decisions paused", "yellow")
    for source, reason in list(pool.blind.items())[:2]:
        text.append(f"  BLIND: {harmless(reason)} ({harmless(source, 40)})", "red")
    if pool.stalled_off is not None:
        text.append(f"  stalled off: {harmless(pool.stalled_off)}", "dim not bold")
    return text


def _told(frame: Frame, look: Look, width: int) -> list[Text]:
    lines: list[Text] = []
    marked = any(pool.enforced for pool in frame.view.pools)
    for decision in reversed(frame.decisions[-20:]):
        parts = wrap(sentence(decision, look.zone, marked=marked), max(20, width), subsequent_indent="  ")
        lines += [Text(part, style=style(decision), no_wrap=True, overflow="ellipsis") for part in parts]
    return lines


def _rule(title: str, width: int) -> Text:
    return Text(f"{title} ".ljust(width, "-"), style="dim", no_wrap=True, overflow="crop")


def _foot(look: Look, width: int) -> Text:
    text = Text(no_wrap=True, overflow="crop", style="reverse")
    if look.typing:
        line = f"filter: {harmless(look.filter)}_   Enter keeps it, Esc clears it"
    else:
        line = f"q quit  p {'go on' if look.paused else 'pause'}  s sort: {look.sort}  f filter"
        line += f": {harmless(look.filter)}" if look.filter else ""
        line += "  ? help"
    text.append(line.ljust(width))
    return text
