"""Two policies side by side on the same log: what each decided, what it would have spared, and the difference.

Pure functions of values, for a terminal and for scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any, NamedTuple

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tailhealth.core.judge import judge
from tailhealth.core.model import Action, Attempt, Decision, Kind, Outcome, Verdict
from tailhealth.core.rules import Settings
from tailhealth.core.view import PoolView, UpstreamView, View
from tailhealth.views.records import VERSION
from tailhealth.views.serving import LeastServing, least_serving
from tailhealth.views.tables import NAME_WIDTH, Period, bar, legend, scale, stretches, style
from tailhealth.views.text import duration, harmless, sentence

LABELS = ("A", "B")
MOST = 60
"""So many decisions are told at most, the first and the last ones."""


class Missed:
    """Counts what one policy kept away from its upstreams by the yardstick of another. Give `observe` to its engine.

    Each policy judges by its own `[bad]`: one that calls healthy answers bad would seem to have avoided much.

    Args:
        settings: The rules whose yardstick counts.
    """

    def __init__(self, settings: Settings) -> None:
        self.avoided_bad = 0
        self.lost_good = 0
        self._settings = settings

    def observe(self, attempt: Attempt, pool: str, _: str, outcome: Outcome) -> None:
        """Take one judged attempt (the engine's `Observer`)."""
        if outcome.kind is Kind.WHILE_OUT:
            verdict = judge(attempt, self._settings.rules(pool).bad).verdict
            self.avoided_bad += verdict is Verdict.BAD
            self.lost_good += verdict is Verdict.GOOD


class Side(NamedTuple):
    """What one policy made of the log."""

    name: str
    """The file of the policy."""
    view: View
    decisions: Sequence[Decision]
    missed: Missed | None = None
    """By the yardstick of the first policy, where that is another one."""

    def pool(self, name: str) -> PoolView | None:
        """Find one of its pools."""
        return next((one for one in self.view.pools if one.name == name), None)


Sides = tuple[Side, Side]


class Sums(msgspec.Struct, frozen=True):
    """One policy in numbers, over all pools."""

    decisions: int
    ejections: int
    upstreams_ejected: int
    withheld: int
    out_seconds: float
    avoided_bad: int
    lost_good: int
    avoided_bad_by_a: int
    """By the yardstick of the first policy."""
    lost_good_by_a: int


_TITLES = {
    "decisions": "decisions",
    "ejections": "ejections",
    "upstreams_ejected": "upstreams ejected",
    "withheld": "withheld",
    "out_seconds": "out for, in all",
    "avoided_bad": "bad ones avoided",
    "lost_good": "good ones lost",
    "avoided_bad_by_a": "bad ones avoided, by A's [bad]",
    "lost_good_by_a": "good ones lost, by A's [bad]",
}


def judge_differently(first: Settings, second: Settings) -> bool:
    """Tell whether two policies differ in what they call bad."""
    names = {*first.pools, *second.pools}
    return first.default.bad != second.default.bad or any(first.rules(one).bad != second.rules(one).bad for one in names)


def sums(side: Side) -> Sums:
    """Add up what a policy did."""
    upstreams = [one for pool in side.view.pools for one in pool.upstreams]
    ejections = [one for one in side.decisions if one.action is Action.EJECT]
    avoided, lost = sum(one.avoided_bad for one in upstreams), sum(one.lost_good for one in upstreams)
    return Sums(
        decisions=len(side.decisions),
        ejections=len(ejections),
        upstreams_ejected=len({(one.pool, one.upstream) for one in ejections}),
        withheld=sum(one.action is Action.WITHHELD for one in side.decisions),
        out_seconds=round(sum(one.out_seconds for one in upstreams), 3),
        avoided_bad=avoided,
        lost_good=lost,
        avoided_bad_by_a=avoided if side.missed is None else side.missed.avoided_bad,
        lost_good_by_a=lost if side.missed is None else side.missed.lost_good,
    )


def comparison_record(sides: Sides) -> dict[str, Any]:
    """Return the last object of `replay --compare --json`: both policies in numbers, and B minus A."""
    numbers = [msgspec.to_builtins(sums(side)) for side in sides]
    return {
        "v": VERSION,
        "comparison": {
            "policies": {
                label: {"name": side.name, **own, "least_serving": _least_record(side)}
                for label, side, own in zip(LABELS, sides, numbers, strict=True)
            },
            "difference": {name: round(numbers[1][name] - numbers[0][name], 3) for name in numbers[0]},
            "upstreams": [_upstream_record(pool, address, sides) for pool, address in _upstreams(sides)],
        },
    }


def _least_record(side: Side) -> dict[str, dict[str, int]]:
    found = [least_serving(pool, side.decisions) for pool in side.view.pools]
    return {one.pool: {"serving": one.serving, "of": one.of} for one in found}


def _upstream_record(pool: str, address: str, sides: Sides) -> dict[str, Any]:
    record: dict[str, Any] = {"pool": pool, "upstream": address}
    for label, one in zip(LABELS, _views(pool, address, sides), strict=True):
        record[label] = one and {
            "ejections": one.ejections,
            "out_seconds": round(one.out_seconds, 3),
            "avoided_bad": one.avoided_bad,
            "lost_good": one.lost_good,
        }
    return record


def comparison(sides: Sides, period: Period, width: int, *, plain: bool = False) -> Group:
    """Put together what `replay --compare` prints.

    Args:
        sides: The two policies.
        period: From the first line to the last.
        width: Columns of the terminal.
        plain: ASCII signs only.
    """
    names = [Text(f"{label}: {harmless(side.name)}") for label, side in zip(LABELS, sides, strict=True)]
    if not _upstreams(sides):
        return Group(*names, Text("no attempt at any upstream was found: `tailhealth parse` shows how each line is read"))
    parts: list[RenderableType] = list(names)
    for part in (
        _told(sides, period.zone),
        _per_upstream(sides),
        _timelines(sides, period, width, plain=plain),
        _difference(sides),
    ):
        parts += [Text(), part]
    return Group(*parts)


def _told(sides: Sides, zone: tzinfo) -> Group:
    """Tell the decisions of both in one order of time; what both decided alike stands once."""
    lines = _side_by_side(sides)
    if not lines:
        return Group(Text("no decision by either: nothing was worse than its peers for long enough"))
    shown = [Text(f"{label:<4} {sentence(one, zone, dated=True)}", style=style(one)) for label, one in lines]
    if len(shown) > MOST:
        left_out = Text(f"... {len(shown) - MOST} more decisions: --json shows them all ...", style="dim")
        shown = [*shown[: MOST // 2], left_out, *shown[-MOST // 2 :]]
    return Group(*shown)


def _side_by_side(sides: Sides) -> list[tuple[str, Decision]]:
    first, second = ({msgspec.json.encode(one): one for one in side.decisions} for side in sides)
    found = [("both", one) for key, one in first.items() if key in second]
    found += [(LABELS[0], one) for key, one in first.items() if key not in second]
    found += [(LABELS[1], one) for key, one in second.items() if key not in first]
    return sorted(found, key=lambda item: item[1].at)


def _upstreams(sides: Sides) -> list[tuple[str, str]]:
    """Name every upstream by (pool, address), in the order of the first policy that has it."""
    return list(dict.fromkeys((pool.name, one.address) for side in sides for pool in side.view.pools for one in pool.upstreams))


def _views(pool: str, address: str, sides: Sides) -> list[UpstreamView | None]:
    found = []
    for side in sides:
        own = side.pool(pool)
        found.append(next((one for one in own.upstreams if one.address == address), None) if own else None)
    return found


_COLUMNS: tuple[tuple[str, Callable[[UpstreamView], str]], ...] = (
    ("ejected", lambda one: str(one.ejections) if one.ejections else "-"),
    ("out for", lambda one: duration(one.out_seconds) if one.out_seconds else "-"),
    ("avoided bad", lambda one: str(one.avoided_bad) if one.ejections else "-"),
    ("lost good", lambda one: str(one.lost_good) if one.ejections else "-"),
)


def _per_upstream(sides: Sides) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("upstream", overflow="fold")
    table.add_column("")
    for name, _ in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    several = len({pool for pool, _ in _upstreams(sides)}) > 1
    for pool, address in _upstreams(sides):
        name = harmless(address, NAME_WIDTH) + (f" ({harmless(pool, NAME_WIDTH)})" if several else "")
        for label, one in zip(LABELS, _views(pool, address, sides), strict=True):
            cells = ["-" if one is None else told(one) for _, told in _COLUMNS]
            table.add_row(Text(name if label == LABELS[0] else ""), Text(label, style="bold"), *map(Text, cells))
    return table


def _timelines(sides: Sides, period: Period, width: int, *, plain: bool) -> Group:
    """Draw two bars per upstream, one above the other."""
    names = _upstreams(sides)
    indent = max(len(harmless(address, NAME_WIDTH)) for _, address in names) + 3
    length = max(20, width - indent)
    lines: list[RenderableType] = []
    for pool, address in names:
        for label, side in zip(LABELS, sides, strict=True):
            own = [one for one in side.decisions if one.upstream == address and one.pool == pool]
            title = harmless(address, NAME_WIDTH) if label == LABELS[0] else ""
            line = Text(f"{title.ljust(indent - 2)}{label} ", no_wrap=True, overflow="crop")
            lines.append(line + bar(stretches(own, period), period, length, plain=plain))
    return Group(*lines, scale(period, indent, length), legend(indent, plain=plain))


def _difference(sides: Sides) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    for name in (*LABELS, "B - A"):
        table.add_column(name, justify="right", no_wrap=True)
    first, second = (msgspec.to_builtins(sums(side)) for side in sides)
    for key, title in _TITLES.items():
        if key.endswith("_by_a") and all(side.missed is None for side in sides):
            continue
        write: Callable[[float], str] = duration if key == "out_seconds" else str
        cells = (title, write(first[key]), write(second[key]), _signed(second[key] - first[key], write))
        table.add_row(*map(Text, cells))
    for name in dict.fromkeys(pool.name for side in sides for pool in side.view.pools):
        table.add_row(*map(Text, _least_row(name, sides)))
    return table


def _least_row(name: str, sides: Sides) -> list[str]:
    least: list[LeastServing | None] = []
    for side in sides:
        own = side.pool(name)
        least.append(None if own is None else least_serving(own, side.decisions))
    cells = ["-" if one is None else f"{one.serving} of {one.of}" for one in least]
    first, second = least
    change = "-" if first is None or second is None else _signed(second.serving - first.serving, str)
    pools = {pool.name for side in sides for pool in side.view.pools}
    return ["least serving" + (f" ({harmless(name, NAME_WIDTH)})" if len(pools) > 1 else ""), *cells, change]


def _signed(value: float, write: Callable[[float], str]) -> str:
    if not value:
        return "="
    return ("+" if value > 0 else "-") + write(abs(value))
