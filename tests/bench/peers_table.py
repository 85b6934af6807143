"""The table of `replay` and its peers, drawn from what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one peer on one log; of one with a problem there are no figures."""

    name: str
    lines: int = 0
    rate: float = 0.0
    """Lines per second."""
    ratio: float | None = None
    """Times of the peer's time that `replay` takes for a line; None for `replay` itself."""
    bound: float | None = None
    """What the ratio may be at most."""
    problem: str = ""
    detail: str = ""

    @property
    def is_met(self) -> bool | None:
        """Tell whether the ratio keeps to its bound; None if there is none, or no ratio."""
        return None if self.bound is None or self.ratio is None else self.ratio <= self.bound


@dataclass(frozen=True, slots=True)
class Section:
    """What was measured on one log."""

    title: str
    rows: tuple[Row, ...]


HEAD = ("tool", "lines", "lines/s", "times replay", "required", "met")
_MET = {None: "", True: "yes", False: "no"}
_MANY = 10
"""From here on one decimal place is enough."""


def times(ratio: float) -> str:
    """Say how a peer compares with `replay`, which takes so many times of its time: `1.95 x faster`, `60.3 x slower`."""
    factor, word = _named(ratio)
    return f"{factor:.{1 if factor >= _MANY else 2}f} x {word}"


def limit(bound: float | None) -> str:
    """Say what a peer may be at most, or must be at least: `<= 2 x faster`, `>= 60 x slower`."""
    if bound is None:
        return ""
    factor, word = _named(bound)
    return f"{'<=' if bound > 1 else '>='} {factor:g} x {word}"


def _named(ratio: float) -> tuple[float, str]:
    return (ratio, "faster") if ratio > 1 else (1 / ratio, "slower")


def drawn(sections: Iterable[Section]) -> Table:
    """Draw the table, a part for each log."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in HEAD:
        table.add_column(name, justify="right" if name in HEAD[1:4] else "left", no_wrap=name != HEAD[-1])
    for section in sections:
        table.add_row()
        table.add_row(Text(section.title, style="bold"))
        for row in section.rows:
            table.add_row(*map(Text, _cells(row)))
    return table


def _cells(row: Row) -> tuple[str, ...]:
    if row.problem:
        return (row.name, "", "", "", limit(row.bound), row.problem)
    ratio = "" if row.ratio is None else times(row.ratio)
    return (row.name, f"{row.lines:,}", f"{row.rate:,.0f}", ratio, limit(row.bound), _MET[row.is_met])


def remarks(sections: Iterable[Section]) -> Iterator[str]:
    """Say below the table which bounds are not met, and what went wrong."""
    for section in sections:
        for row in section.rows:
            where = f"{section.title}, {row.name}"
            if row.ratio is not None and row.is_met is False:
                yield f"Not met: {where}: {times(row.ratio)}, required {limit(row.bound)}"
            if row.detail:
                yield f"{where}: {row.problem}: {row.detail}"
