"""Header times as cumulative histograms, for `/metrics`: they must never lose what they counted."""

from __future__ import annotations

from bisect import bisect_left

import msgspec

from tailhealth.core.judge import header_time
from tailhealth.core.model import Attempt, Outcome, Verdict

BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0)
"""Upper bounds in seconds: from a quick page to an answer of an inference server."""


class HeaderTimes(msgspec.Struct, frozen=True):
    """The histogram of one upstream in one pool."""

    pool: str
    upstream: str
    counts: tuple[int, ...]
    """Attempts per bucket, not cumulated; the last one has no upper bound."""
    total: float
    """Sum of all header times, in seconds."""


class Histograms:
    """One histogram for each upstream of each pool. Only counted attempts are in it."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], list[int]] = {}
        self._sums: dict[tuple[str, str], float] = {}

    def observe(self, attempt: Attempt, pool: str, upstream: str, outcome: Outcome) -> None:
        """Take one judged attempt."""
        waited = header_time(attempt)
        if waited is None or outcome.verdict is Verdict.IGNORED:
            return
        key = (pool, upstream)
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = [0] * (len(BOUNDS) + 1)
            self._sums[key] = 0.0
        counts[bisect_left(BOUNDS, waited)] += 1
        self._sums[key] += waited

    def all(self) -> tuple[HeaderTimes, ...]:
        """Return all of them as values."""
        return tuple(HeaderTimes(*key, tuple(counts), self._sums[key]) for key, counts in self._counts.items())
