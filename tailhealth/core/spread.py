"""How durations are spread: percentiles of any number of them in bounded memory."""

from __future__ import annotations

from collections import Counter
from math import ceil, exp, floor, inf, log

_STEP = log(1.01)
_LOWEST = 1e-4
"""Seconds below which durations are not told apart."""


class Spread:
    """Durations in buckets that are one per cent wide: so much a percentile may be off. The extremes are exact."""

    __slots__ = ("_buckets", "count", "longest", "shortest")

    def __init__(self) -> None:
        self.count = 0
        self.longest = 0.0
        self.shortest = inf
        self._buckets: Counter[int] = Counter()

    def add(self, seconds: float) -> None:
        """Take a duration."""
        self.count += 1
        self.longest = max(self.longest, seconds)
        self.shortest = min(self.shortest, seconds)
        self._buckets[_bucket(seconds)] += 1

    def percentile(self, share: float) -> float:
        """Return the duration that `share` (above 0, up to 1) of all do not exceed; 0 where there is none."""
        if not self.count:
            return 0.0
        rank = min(self.count, max(1, ceil(share * self.count)))
        for bucket in sorted(self._buckets):
            rank -= self._buckets[bucket]
            if rank <= 0:
                middle = _LOWEST * exp((bucket + 0.5) * _STEP)
                return min(self.longest, max(self.shortest, middle))
        return self.longest

    def share_from(self, seconds: float) -> float:
        """Return the share of durations that last at least so many seconds."""
        if not self.count:
            return 0.0
        if seconds <= self.shortest:
            return 1.0
        edge = _bucket(seconds)
        return (
            sum(count for bucket, count in self._buckets.items() if bucket >= edge) / self.count
            if seconds <= self.longest
            else 0.0
        )


def _bucket(seconds: float) -> int:
    return floor(log(max(seconds, _LOWEST) / _LOWEST) / _STEP)
