"""Every attempt as a point of a plot: when it ended, how long its header took, how it was judged.

Fed through the engine's `observe`. Every bad attempt is kept. Of the others, memory and page hold a bounded number: of so many
in a row the first and the slowest are kept, and that many doubles whenever there are too many points. The same input always
keeps the same points.
"""

from __future__ import annotations

from array import array
from enum import StrEnum
from typing import NamedTuple

import msgspec

from tailhealth.core.judge import has_header, header_time, judge
from tailhealth.core.model import Attempt, Kind, Outcome, Verdict
from tailhealth.core.rules import Settings
from tailhealth.views.text import harmless

MOST_BLOCKS = 60_000
"""So many runs of attempts that are not bad are kept in all, each with at most two points."""
MOST_ROUTES = 2_000
"""So many different routes of bad attempts are named; an attacker may ask for any number of paths."""
ROUTE_LENGTH = 100
GOOD = "good"
"""The kind of an attempt that is not bad and not ignored."""

_ASIDE = (Kind.WHILE_OUT, Kind.BEFORE_ACTION)


class Shown(StrEnum):
    """What the height of a point is."""

    HEADER = "header"
    """The time to the header."""
    AT_LEAST = "at_least"
    """No header came: it waited this long, so the header time is at least this."""
    TOTAL = "total"
    """The whole duration: the log does not tell the time to the header."""
    UNKNOWN = "unknown"
    """The log tells no time."""


class Key(NamedTuple):
    """What the points of one series have in common."""

    pool: str
    upstream: str
    verdict: Verdict
    """The attempt's own judgement, whether or not it counted."""
    kind: str
    aside: str
    """Why it did not count (`while_out`, `before_action`); empty: it did."""
    shown: Shown


class Point(NamedTuple):
    """One attempt."""

    ended: float
    seconds: float
    status: int
    """0: none is known."""
    route: int = 0
    """Index into `Points.routes`."""


class Series:
    """The points of one key that are kept."""

    __slots__ = ("endings", "routes", "seconds", "seen", "statuses")

    def __init__(self) -> None:
        self.seen = 0
        """So many attempts there were."""
        self.endings = array("d")
        self.seconds = array("f")
        self.statuses = array("H")
        self.routes = array("H")

    def __len__(self) -> int:
        """Return how many points are kept."""
        return len(self.endings)

    def add(self, point: Point) -> None:
        """Keep a point."""
        self.endings.append(point.ended)
        self.seconds.append(point.seconds)
        self.statuses.append(point.status)
        self.routes.append(point.route)


class _Block(msgspec.Struct):
    """A run of attempts, of which the first and the slowest are kept."""

    first: Point
    slowest: Point
    count: int = 1


class _Thinned:
    """Attempts in runs of equal length."""

    def __init__(self) -> None:
        self.every = 1
        self.seen = 0
        self.blocks: list[_Block] = []

    def add(self, point: Point) -> int:
        """Take a point; return how many blocks that added."""
        self.seen += 1
        last = self.blocks[-1] if self.blocks else None
        if last is None or last.count >= self.every:
            self.blocks.append(_Block(point, point))
            return 1
        last.count += 1
        if point.seconds > last.slowest.seconds:
            last.slowest = point
        return 0

    def halve(self) -> int:
        """Make runs twice as long; return how many blocks that took away."""
        before = len(self.blocks)
        self.every *= 2
        self.blocks = [_joined(self.blocks[place : place + 2]) for place in range(0, before, 2)]
        return before - len(self.blocks)

    def series(self) -> Series:
        found = Series()
        found.seen = self.seen
        for block in self.blocks:
            found.add(block.first)
            if block.slowest is not block.first:
                found.add(block.slowest)
        return found


def _joined(blocks: list[_Block]) -> _Block:
    slowest = max((block.slowest for block in blocks), key=lambda point: point.seconds)
    return _Block(blocks[0].first, slowest, sum(block.count for block in blocks))


class Points:
    """Keeps the points. Give `observe` to the engine.

    Args:
        settings: The rules: an attempt that did not count is shown with its own judgement all the same.
        most: So many blocks are kept in all.
    """

    def __init__(self, settings: Settings, most: int = MOST_BLOCKS) -> None:
        self.routes: list[str] = [""]
        """`METHOD /path` of bad attempts, without queries; the first stands for those that are not named."""
        self._settings = settings
        self._most = most
        self._blocks = 0
        self._bad: dict[Key, Series] = {}
        self._rest: dict[Key, _Thinned] = {}
        self._numbers: dict[str, int] = {}

    def observe(self, attempt: Attempt, pool: str, upstream: str, outcome: Outcome) -> None:
        """Take one judged attempt (the engine's `Observer`)."""
        aside = ""
        if outcome.kind in _ASIDE:
            aside = outcome.kind
            outcome = judge(attempt, self._settings.rules(pool).bad)
        seconds, shown = waited(attempt)
        key = Key(pool, upstream, outcome.verdict, outcome.kind or GOOD, aside, shown)
        point = Point(attempt.ended, seconds, _status(attempt))
        if outcome.verdict is Verdict.BAD:
            self._add_bad(key, point._replace(route=self._route(attempt)))
        else:
            self._add(key, point)

    def series(self) -> dict[Key, Series]:
        """Return the points that are kept, by what they have in common."""
        return {**self._bad, **{key: thinned.series() for key, thinned in self._rest.items()}}

    @property
    def longest_run(self) -> int:
        """Return of how many attempts in a row, at most, only two are shown; 1: all are shown."""
        return max((thinned.every for thinned in self._rest.values()), default=1)

    def _add_bad(self, key: Key, point: Point) -> None:
        series = self._bad.get(key)
        if series is None:
            series = self._bad[key] = Series()
        series.seen += 1
        series.add(point)

    def _add(self, key: Key, point: Point) -> None:
        thinned = self._rest.get(key)
        if thinned is None:
            thinned = self._rest[key] = _Thinned()
        self._blocks += thinned.add(point)
        if self._blocks > max(self._most, 2 * len(self._rest)):
            fullest = max(self._rest.values(), key=lambda one: len(one.blocks))
            self._blocks -= fullest.halve()

    def _route(self, attempt: Attempt) -> int:
        name = f"{harmless(attempt.method, 20)} {harmless(attempt.path, ROUTE_LENGTH)}".strip()
        number = self._numbers.get(name)
        if number is None and len(self.routes) < MOST_ROUTES:
            number = self._numbers[name] = len(self.routes)
            self.routes.append(name)
        return number or 0


def waited(attempt: Attempt) -> tuple[float, Shown]:
    """Return how high an attempt stands in a plot, in seconds, and what that is."""
    header = header_time(attempt)
    if header is not None:
        return header, Shown.HEADER
    if attempt.duration is None:
        return 0.0, Shown.UNKNOWN
    return attempt.duration, Shown.TOTAL if has_header(attempt) else Shown.AT_LEAST


def _status(attempt: Attempt) -> int:
    return attempt.status if attempt.status is not None and 0 < attempt.status < 1 << 16 else 0
