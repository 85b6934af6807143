"""One upstream as a row of `top`: its state, its numbers, and a sparkline of how long its requests waited."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from tailhealth.core.model import Source
from tailhealth.core.view import PoolView, Standing, UpstreamView
from tailhealth.views.stats import UpstreamStats
from tailhealth.views.text import by_kind, countdown, guard, harmless, short

BLOCKS, PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
"""The levels of a sparkline; the plain ones are for terminals that know ASCII only."""
_SHORTEST = 0.01
_FEWEST_COLUMNS = 8


class Row:
    """One upstream, with its numbers if any attempt at it was seen lately.

    Args:
        pool: The pool that it stands in.
        upstream: Its state.
        stats: Its rolling numbers; None: silent.
        now: Current time in epoch seconds, for the countdown.
        order: Its place in the view.
    """

    def __init__(self, pool: PoolView, upstream: UpstreamView, stats: UpstreamStats | None, now: float, order: int) -> None:
        self.pool = pool
        self.upstream = upstream
        self.stats = stats
        self.order = order
        self.name = harmless(upstream.address)
        self.state, self.style, self.rank = _state(pool, upstream, now)
        self.rate = stats.rate if stats else 0.0
        self.bad_share = (stats.bad_share if stats else None) or 0.0
        self.p95 = (stats.p95 if stats else None) or 0.0
        self.kinds = by_kind(stats.bad) if stats else ""

    @property
    def numbers(self) -> list[str]:
        """Requests/s, in flight, p50, p95, p99, share of bad ones."""
        stats, flying = self.stats, self.upstream.in_flight
        share = stats.bad_share if stats else None
        return [
            rate(self.rate),
            "-" if flying is None else str(flying),
            *(short(one) for one in ((stats.p50, stats.p95, stats.p99) if stats else (None, None, None))),
            "-" if share is None else f"{share:.0%}",
        ]

    def detail(self, *, with_kinds: bool) -> str:
        """Return what the row itself has no place for; empty: nothing."""
        parts = []
        one = self.upstream
        if with_kinds and self.kinds:
            parts.append(f"bad: {self.kinds}")
        if one.withheld is not None and one.standing is not Standing.OUT:
            parts.append(f"kept in: {guard(one.withheld)}")
        if one.ejection is not None and one.ejection.why:
            parts.append(f"why: {harmless(one.ejection.why)}")
        if one.stalled:
            parts.append(f"{one.stalled} stuck in flight")
        return "; ".join(parts)


def _state(pool: PoolView, one: UpstreamView, now: float) -> tuple[str, str, int]:
    """Return its state in words, its colour and how urgent it is (least first)."""
    marks = [mark for mark, on in (("pinned", one.pinned), ("protected", one.protected), ("backup", one.backup)) if on]
    if one.standing is Standing.OUT and one.ejection is not None:
        left = "by operator" if one.ejection.source is Source.OPERATOR else ""
        if one.ejection.until is not None:
            left = f"{left} {countdown(one.ejection.until - now)}".strip()
        out = "out" if pool.enforced else "would be out"
        drains = f", {one.in_flight} draining" if pool.enforced and one.in_flight else ""
        state, style, rank = f"{out} {left}{drains}".rstrip(), "red", 0
    elif one.standing is Standing.HELD_DOWN:
        state, style, rank = "held down", "red", 1
    elif one.withheld is not None:
        state, style, rank = f"withheld {harmless(one.withheld)}", "magenta", 2
    elif one.standing is Standing.PROBATION:
        state, style, rank = f"probation {one.probation_good}/{one.probation_needs}", "yellow", 3
    else:
        state, style, rank = "serving", "green", 5 - bool(one.bad)
    return ", ".join([state, *marks]), style, rank


def rate(per_second: float) -> str:
    """Write a rate in at most five characters, with the decimal places that fit: `0.03`, `12.3`, `1234`."""
    places = 2 if per_second < 0.995 else 1 if per_second < 99.95 else 0  # noqa: PLR2004 - where the rounding changes
    return f"{min(per_second, 99_999.0):.{places}f}"


class Columns:
    """The widths of the columns of one table, made for its rows and the width of the terminal."""

    NUMBERS = (("req/s", 5), ("fly", 4), ("p50", 5), ("p95", 5), ("p99", 5), ("bad", 4))
    _WIDE = 34
    """From this much room on, bad outcomes by kind get a column of their own."""

    def __init__(self, rows: Sequence[Row], width: int) -> None:
        fixed = sum(size + 1 for _, size in self.NUMBERS)
        room = max(2, width - fixed - 1)
        self._longest = longest(rows)
        name = max([len("upstream"), *(cell_len(row.name) for row in rows)])
        state = max([len("state"), *(cell_len(row.state) for row in rows)])
        self.state = min(state, max(room - name, room * 55 // 100))
        self.name = max(1, min(name, room - self.state))
        left = room - self.state - self.name
        self.kinds = min(max(cell_len(row.kinds) for row in rows), left // 2) if rows and left >= self._WIDE else 0
        left -= self.kinds + 2 if self.kinds else 0
        self.spark = min(60, left - 1) if left > _FEWEST_COLUMNS else 0

    def header(self) -> Text:
        """Return the line of titles."""
        names = " ".join(name.rjust(size) for name, size in self.NUMBERS)
        line = f"{set_cell_size('upstream', self.name)} {set_cell_size('state', self.state)} {names}"
        if self.kinds:
            line += "  " + set_cell_size("bad by kind", self.kinds)
        if self.spark:
            line += " " + set_cell_size("longest wait" if self.spark >= len("longest wait") else "waits", self.spark)
        return Text(line, style="bold", no_wrap=True, overflow="crop")

    def line(self, row: Row, *, plain: bool) -> Text:
        """Return one row as a line."""
        numbers = " ".join(value.rjust(size)[-size:] for value, (_, size) in zip(row.numbers, self.NUMBERS, strict=True))
        text = Text(no_wrap=True, overflow="crop")
        text.append(cut(row.name, self.name) + " ")
        text.append(cut(row.state, self.state), row.style)
        text.append(" " + numbers)
        if self.kinds:
            text.append("  " + cut(row.kinds, self.kinds), "red")
        if self.spark and row.stats is not None:
            text.append(" " + sparkline(row.stats.longest, self.spark, self._longest, plain=plain), "cyan")
        return text


def cut(text: str, width: int) -> str:
    """Make a text exactly `width` cells wide; what is cut off is shown as `…`."""
    return set_cell_size(text, width) if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)) + "…"


def longest(rows: Sequence[Row]) -> float:
    """Return the longest wait of all rows, in seconds, at least one: the top of the scale that they share."""
    return max([1.0, *(one for row in rows if row.stats for one in row.stats.longest if one is not None)])


def sparkline(values: Sequence[float | None], width: int, top: float = 1.0, *, plain: bool = False) -> str:
    """Draw the latest values as levels, the newest at the right; nothing known is a blank.

    Args:
        values: Seconds, the oldest first.
        width: Columns; of more values the latest are shown.
        top: Where the scale ends, in seconds. It is logarithmic from 10 ms on, so that a minute does not flatten the rest.
        plain: ASCII signs only.
    """
    blocks = PLAIN_BLOCKS if plain else BLOCKS
    scale = (len(blocks) - 1) / (log10(top) - log10(_SHORTEST))
    shown = (None if one is None else min(max(one, _SHORTEST), top) for one in values[-width:])
    marks = [" " if one is None else blocks[round((log10(one) - log10(_SHORTEST)) * scale)] for one in shown]
    return "".join(marks).rjust(width)
