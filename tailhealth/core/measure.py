"""What healthy answers look like, per pool and route: the ground for `slower_than` (DESIGN sections 4 and 9).

Healthy is what every rule but those of latency lets pass: were `slower_than` set too low, the answers above it would be
missing from the measure, and it would confirm itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tailhealth.core.judge import UPLOAD_BYTES, header_time
from tailhealth.core.model import Attempt, End, Kind, Outcome, Verdict
from tailhealth.core.rules import Settings
from tailhealth.core.spread import Spread

MOST_PATHS = 64
"""So many paths of a route are measured apart; the rest is one."""
OTHER_PATHS = "(others)"
_LONGEST_SEGMENT = 24
_NAMES_ONE = re.compile(r"[0-9]+|[0-9a-fA-F-]{8,}")
"""A segment of a path that names one thing among many."""


class Place(NamedTuple):
    """What is measured apart."""

    pool: str
    route: int | None
    """Index of the route in the pool's rules; None: no route matches."""
    upload: bool
    """The client's upload is part of the header time, and `slower_than` does not judge it."""


class Longest(NamedTuple):
    """The longest healthy answer."""

    seconds: float
    ended: float
    upstream: str


class Measure:
    """Header times of one place."""

    def __init__(self) -> None:
        self.spread = Spread()
        self.longest = Longest(0.0, 0.0, "")
        self.upstreams: dict[str, Spread] = {}
        self.paths: dict[str, Spread] = {}
        self.unknown = 0
        """Healthy answers whose header time the log does not tell."""
        self.abandoned = Spread()
        """How long clients waited for nothing."""
        self.timed_out = Spread()
        """After how long the proxy gave up."""

    def add(self, attempt: Attempt, upstream: str, seconds: float) -> None:
        """Take a healthy answer."""
        self.spread.add(seconds)
        if seconds > self.longest.seconds:
            self.longest = Longest(seconds, attempt.ended, upstream)
        self.upstreams.setdefault(upstream, Spread()).add(seconds)
        path = shape(attempt.path)
        if path not in self.paths and len(self.paths) >= MOST_PATHS:
            path = OTHER_PATHS
        self.paths.setdefault(path, Spread()).add(seconds)


class Measuring:
    """Measures. Give `observe` to an engine that runs by `variants.neutral` settings.

    Args:
        settings: The rules, for their routes.
    """

    def __init__(self, settings: Settings) -> None:
        self.places: dict[Place, Measure] = {}
        self._settings = settings

    def observe(self, attempt: Attempt, pool: str, upstream: str, outcome: Outcome) -> None:
        """Take one judged attempt (the engine's `Observer`)."""
        if outcome.kind is Kind.ROUTE:
            return
        measure = self._measure(attempt, pool)
        if outcome.verdict is Verdict.GOOD:
            seconds = header_time(attempt)
            if seconds is None:
                measure.unknown += 1
            else:
                measure.add(attempt, upstream, seconds)
        elif attempt.duration is not None and attempt.end in (End.ABANDONED, End.TIMED_OUT):
            (measure.abandoned if attempt.end is End.ABANDONED else measure.timed_out).add(attempt.duration)

    def _measure(self, attempt: Attempt, pool: str) -> Measure:
        bad = self._settings.rules(pool).bad
        route = next((i for i, one in enumerate(bad.routes) if one.matches(attempt.method, attempt.host, attempt.path)), None)
        uploads = bad.default.uploads if route is None else bad.routes[route].yardstick.uploads
        place = Place(pool, route, attempt.body_bytes >= UPLOAD_BYTES and not uploads)
        measure = self.places.get(place)
        if measure is None:
            measure = self.places[place] = Measure()
        return measure


def shape(path: str) -> str:
    """Return a path with `*` for each segment that names one thing among many, as a pattern that matches its like."""
    parts = path.split("/")
    return "/".join("*" if len(one) > _LONGEST_SEGMENT or _NAMES_ONE.fullmatch(one) else one for one in parts[:8])
