"""What a log tells of its pools, as values, and what must be said about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import tzinfo

import msgspec

from tailhealth.core.measure import Measure, Place
from tailhealth.core.propose import FEW, threshold
from tailhealth.core.quiet import TooQuiet
from tailhealth.core.rules import Settings, Yardstick
from tailhealth.core.spread import Spread
from tailhealth.views.report_data import route_name
from tailhealth.views.text import duration, harmless, moment

MANY = 1000
"""With fewer healthy answers, p99 rests on less than ten."""
A_DAY = 86_400.0
LONE = 8.0
"""A longest answer so many times p99 is looked at before it is trusted."""
FAR_OUT = 4.0
"""An upstream so many times slower than its peers, or a path so many times faster than the rest, is another matter."""


class Done(msgspec.Struct, frozen=True):
    """What the proposed values, all together and with every guard, would have done on the log."""

    ejections: int
    upstreams: tuple[str, ...]
    """Those that would have been ejected."""
    avoided_bad: int
    lost_good: int


class Tried(msgspec.Struct, frozen=True):
    """What a value would have done as a threshold alone: without a look at the peers, until the last one is left."""

    seconds: float
    removed: int
    """So many upstreams of the pool would have been out at the same time."""
    of: int


class Calibration(msgspec.Struct, frozen=True):
    """What a log tells of its pools."""

    start: float
    end: float
    """From the first line to the last, in epoch seconds."""
    places: dict[Place, Measure]
    settings: Settings
    """The rules as they were, for the routes."""
    proposed: dict[Place, float]
    """`slower_than` in seconds, where there is enough to say one."""
    too_quiet: tuple[TooQuiet, ...]
    done: Done | None
    """None: nothing is proposed, or the log can't be read again."""
    tried: dict[Place, tuple[Tried, ...]]
    lines: int
    notes: tuple[str, ...]
    upstreams: dict[str, tuple[str, ...]]
    """Addresses by pool."""

    def name(self, place: Place) -> str:
        """Name a place for people: the pool where there are several, the route, and whether it is of uploads."""
        parts = [f"pool {harmless(place.pool, 60)}"] if len({one.pool for one in self.places}) > 1 else []
        routes = self.settings.rules(place.pool).bad.routes
        if place.route is not None:
            parts.append(harmless(route_name(routes[place.route]), 60))
        elif routes:
            parts.append("all other routes")
        if place.upload:
            parts.append("uploads of 1 MiB and more")
        return ", ".join(parts) or "all requests"

    def yardstick(self, place: Place) -> Yardstick:
        """Return the rules of a place as they were."""
        bad = self.settings.rules(place.pool).bad
        return bad.default if place.route is None else bad.routes[place.route].yardstick


def warnings(found: Calibration, zone: tzinfo) -> list[str]:
    """Say what the figures can't tell, the most important first."""
    told = [f"{found.name(place)}: {text}" for place in found.places for text in _of_place(found, place, zone)]
    if not any(measure.spread.count for measure in found.places.values()):
        return ["no healthy answer with a header time was found: `tailhealth parse` shows how each line is read"]
    if found.end - found.start < A_DAY:
        told.append(
            f"the log covers {duration(found.end - found.start)}: a busy hour or a cold start may take longer than all in it"
        )
    return told


def _of_place(found: Calibration, place: Place, zone: tzinfo) -> Iterator[str]:
    measure, spread = found.places[place], found.places[place].spread
    if spread.count < FEW and not place.upload:
        yield f"too few data: {spread.count} healthy answers, nothing is proposed with fewer than {FEW}"
    elif spread.count < MANY:
        yield f"few data: p99 rests on {spread.count} healthy answers"
    if measure.unknown:
        yield f"{measure.unknown} healthy answers have no header time in the log and are not in the figures"
    if spread.count >= FEW and spread.longest >= LONE * spread.percentile(0.99):
        longest = measure.longest
        yield (
            f"the longest healthy answer took {spread.longest / spread.percentile(0.99):.0f} times p99 "
            f"({harmless(longest.upstream)}, {moment(longest.ended, zone)}): was it healthy?"
        )
    yield from (f"{harmless(name)} is much slower than its peers: was it healthy?" for name in _much_slower(measure.upstreams))
    proposed = found.proposed.get(place)
    if proposed is not None and measure.timed_out.count and measure.timed_out.longest < proposed:
        yield f"the proxy itself gives up after {duration(measure.timed_out.longest)}: a higher slower_than is never reached"
    current = found.yardstick(place).slower_than
    if current is not None and not place.upload and current <= spread.longest:
        yield f"slower_than is {duration(current)} now, and healthy answers take longer: it calls them bad"


def _much_slower(upstreams: Mapping[str, Spread]) -> Iterator[str]:
    """Find upstreams whose usual answer takes much longer than the usual one of all their peers."""
    usual = {name: spread.percentile(0.5) for name, spread in upstreams.items() if spread.count >= FEW}
    for name, seconds in usual.items():
        peers = [one for other, one in usual.items() if other != name]
        if peers and seconds >= FAR_OUT * max(peers):
            yield name


class OwnRoute(msgspec.Struct, frozen=True):
    """A path whose answers are so much faster that a yardstick of its own would see it stuck sooner."""

    path: str
    spread: Spread
    slower_than: float


def own_routes(found: Calibration, place: Place) -> list[OwnRoute]:
    """Find the paths of a place that deserve a yardstick of their own."""
    proposed = found.proposed.get(place)
    if proposed is None:
        return []
    routes = []
    for path, spread in found.places[place].paths.items():
        limit = threshold(spread.longest)
        if spread.count >= FEW and limit * FAR_OUT <= proposed and path.startswith("/"):
            routes.append(OwnRoute(path, spread, limit))
    return routes
