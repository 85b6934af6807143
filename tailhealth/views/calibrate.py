"""What `calibrate` prints: the spread of healthy answers, the proposals and what they would have done. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tailhealth.config import format_duration
from tailhealth.core.measure import Place
from tailhealth.core.spread import Spread
from tailhealth.views.calibration import Calibration, OwnRoute, Tried, own_routes, warnings
from tailhealth.views.status import too_little_traffic
from tailhealth.views.text import duration, harmless, moment, short

_NAME = 34
MOST_PATHS = 8
"""So many paths are shown, those with the most answers."""


def calibration(found: Calibration, zone: tzinfo) -> Group:
    """Put together what is printed."""
    parts: list[RenderableType] = [Text(heading(found, zone), style="bold"), Text(), _spreads(found)]
    paths = _paths(found)
    if paths is not None:
        parts += [Text(), paths]
    for place in found.places:
        lines = list(_proposal(found, place, zone))
        if lines:
            parts += [Text(), *lines]
    if found.done is not None:
        parts += [Text(), Text(done(found))]
    told = [*warnings(found, zone), *too_little_traffic(found.too_quiet)]
    if told:
        parts += [Text(), *(Text(f"! {line}", style="yellow") for line in told)]
    return Group(*parts)


def heading(found: Calibration, zone: tzinfo) -> str:
    """Say what was measured."""
    if not found.lines or found.end < found.start:
        return "Healthy answers: time to the header"
    start, end = moment(found.start, zone), moment(found.end, zone)
    return f"Healthy answers, time to the header: {start} to {end}, {duration(found.end - found.start)}"


def _spreads(found: Calibration) -> Table:
    table = _table("")
    for place, measure in found.places.items():
        _add(table, found.name(place), measure.spread, bold=True)
        if len(measure.upstreams) > 1:
            for name, spread in sorted(measure.upstreams.items()):
                _add(table, f"  {harmless(name, _NAME - 2)}", spread)
    return table


def _paths(found: Calibration) -> Table | None:
    """Tabulate the paths that no route of the configuration tells apart, if there are several."""
    table = _table("by path")
    for place, measure in found.places.items():
        if place.route is None and not place.upload and len(measure.paths) > 1:
            for path, spread in sorted(measure.paths.items(), key=lambda one: -one[1].count)[:MOST_PATHS]:
                _add(table, harmless(path, _NAME), spread)
    return table if table.row_count else None


def _table(title: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(title, overflow="fold")
    for name in ("answers", "p50", "p95", "p99", "longest"):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _add(table: Table, name: str, spread: Spread, *, bold: bool = False) -> None:
    figures = [short(spread.percentile(share)) for share in (0.5, 0.95, 0.99)] if spread.count else ["-"] * 3
    cells = [f"{spread.count}", *figures, short(spread.longest) if spread.count else "-"]
    table.add_row(Text(name, style="bold" if bold else ""), *map(Text, cells))


def _proposal(found: Calibration, place: Place, zone: tzinfo) -> Iterator[Text]:
    """Say what to write for one place, and what other values would have done."""
    seconds = found.proposed.get(place)
    measure = found.places[place]
    if seconds is not None:
        text = f'slower_than = "{format_duration(seconds)}"'
        where = "" if len(found.places) == 1 else f"{found.name(place)}: "
        yield Text.assemble(f"{where}", (text, "bold green"), f"  {reason(found, place)}")
        yield Text(f"  the longest: {longest(found, place, zone)}")
    for one in found.tried.get(place, ()):
        yield Text(
            f"  {tried(one, measure.spread)}", style="red" if one.seconds <= measure.spread.longest and one.removed else ""
        )
    if found.tried.get(place):
        yield Text("  (as a threshold alone: no look at the peers, only the last one stays)", style="dim")
    for route in own_routes(found, place):
        yield Text(f"  {own_route(route)}")


def own_route(route: OwnRoute) -> str:
    """Say that a path deserves a yardstick of its own."""
    return (
        f"{harmless(route.path, 60)} never took longer than {short(route.spread.longest)}: "
        f'slower_than = "{format_duration(route.slower_than)}" in a [[bad.route]] of its own would find it stuck sooner'
    )


def reason(found: Calibration, place: Place) -> str:
    """Say how a proposal stands to what was measured."""
    seconds, spread = found.proposed[place], found.places[place].spread
    current = found.yardstick(place).slower_than
    now = "off now" if current is None else f"{duration(current)} now"
    return f"{seconds / spread.longest:.1f} times the longest of {spread.count} healthy answers ({now})"


def longest(found: Calibration, place: Place, zone: tzinfo) -> str:
    """Tell of the longest healthy answer."""
    one = found.places[place].longest
    return f"{short(one.seconds)} at {harmless(one.upstream)}, {moment(one.ended, zone)}"


def tried(one: Tried, spread: Spread) -> str:
    """Say what a value would have done as a threshold alone."""
    removed = f"{one.removed} of {one.of}" if one.removed else "none"
    share = spread.share_from(one.seconds)
    reach = f"{share:.0%} of healthy answers reach it" if share else "no healthy answer reaches it"
    if 0 < share < 0.01:  # noqa: PLR2004 - less than what a whole per cent can show
        reach = "less than 1% of healthy answers reach it"
    return f"{format_duration(one.seconds):>6} would have removed {removed} at once; {reach}"


def done(found: Calibration) -> str:
    """Say what the proposals, with every guard, would have done on this log."""
    one = found.done
    if one is None:
        return ""
    if not one.ejections:
        return "With these values the policy would have ejected nothing on this log."
    names = ", ".join(harmless(name) for name in one.upstreams[:6]) + (", ..." if len(one.upstreams) > 6 else "")  # noqa: PLR2004
    return (
        f"With these values the policy would have made {one.ejections} ejections on this log, of {names}: "
        f"{one.avoided_bad} bad ones avoided, {one.lost_good} good ones lost."
    )
