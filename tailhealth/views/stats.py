"""Rolling numbers that people want to see and that the engine does not keep: rates, header times, bad outcomes by kind.

Fed through the engine's `observe`; time comes from the attempts alone. Memory is bounded: whole numbers per slice of time,
nothing per attempt. Header times go into a histogram with four buckets per doubling: a shown percentile is off by less than
a fifth.
"""

from __future__ import annotations

from array import array
from math import ceil, frexp

import msgspec

from tailhealth.core.judge import header_time
from tailhealth.core.model import Attempt, End, Kind, Outcome, Verdict

TICK = 5.0
"""Seconds of one column of a sparkline."""
TICKS = 60
_PER_SLICE = 3
SLICES = TICKS // _PER_SLICE
SPAN = TICK * TICKS
"""All numbers are about this many seconds (5 minutes)."""
RATE_TICKS = 6
"""Requests per second are those of this many whole ticks, and of the one that runs."""
LIMIT = 4096
"""So many upstreams are shown at most; the log of a proxy that is attacked may name more."""

_BUCKETS = 88
_LOWEST = 0.001
_STEPS = (2**0.25 / 2, 2**0.5 / 2, 2**0.75 / 2)


class UpstreamStats(msgspec.Struct, frozen=True):
    """What the attempts at one upstream in one pool showed during the last `SPAN` seconds."""

    pool: str
    upstream: str
    rate: float
    """Attempts per second, lately (about half a minute)."""
    attempts: int
    good: int
    bad: dict[str, int]
    """By kind, the most frequent first."""
    ignored: int
    p50: float | None
    """Header times in seconds; None where none was seen. Routes that are not judged are left out."""
    p95: float | None
    p99: float | None
    longest: tuple[float | None, ...]
    """The longest wait for a header (or for nothing) per tick of `TICK` seconds, the oldest first; None: nothing ended then."""

    @property
    def bad_total(self) -> int:
        """Return how many were bad."""
        return sum(self.bad.values())

    @property
    def bad_share(self) -> float | None:
        """Return the share of the counted attempts that was bad; None: none was counted."""
        counted = self.good + self.bad_total
        return self.bad_total / counted if counted else None


class StatsView(msgspec.Struct, frozen=True):
    """The rolling numbers of all upstreams at one moment."""

    at: float
    upstreams: tuple[UpstreamStats, ...] = ()
    span: float = SPAN
    tick: float = TICK

    def find(self, pool: str, upstream: str) -> UpstreamStats | None:
        """Return the numbers of one upstream; None: no attempt was seen."""
        return next((one for one in self.upstreams if one.upstream == upstream and one.pool == pool), None)


class _Slice:
    """Counts of a few ticks."""

    __slots__ = ("bad", "good", "headers", "ignored", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.good = 0
        self.ignored = 0
        self.bad: dict[str, int] | None = None
        self.headers = array("H", bytes(2 * _BUCKETS))

    def note_bad(self, kind: str) -> None:
        """Count a bad outcome; most slices have none, and there are twenty for each upstream."""
        if self.bad is None:
            self.bad = {}
        self.bad[kind] = self.bad.get(kind, 0) + 1

    def note_header(self, bucket: int) -> None:
        """Count a header time."""
        try:
            self.headers[bucket] += 1
        except OverflowError:
            # Only an upstream with thousands of requests a second needs larger numbers.
            self.headers = array("Q", self.headers)
            self.headers[bucket] += 1


class _Row:
    """One upstream in one pool. Slots are reused in a ring; each knows which slice or tick of time it holds."""

    __slots__ = ("counts", "first", "longest", "newest", "numbers", "slices")

    def __init__(self, first: int) -> None:
        self.first = first
        self.newest = first
        self.numbers = array("q", [-1]) * TICKS
        self.counts = array("I", bytes(4 * TICKS))
        self.longest = array("f", bytes(4 * TICKS))
        self.slices: list[_Slice | None] = [None] * SLICES

    def note(self, attempt: Attempt, outcome: Outcome) -> None:
        tick = int(attempt.ended // TICK)
        slot, number = tick % TICKS, tick // _PER_SLICE
        part = self.slices[number % SLICES]
        if part is None or part.number != number:
            if part is not None and part.number > number:
                return  # too old to be shown
            part = self.slices[number % SLICES] = _Slice(number)
        if self.numbers[slot] != tick:
            self._open(slot, tick)
        self.counts[slot] += 1
        verdict = outcome.verdict
        if verdict is _GOOD:
            part.good += 1
        elif verdict is _BAD and outcome.kind is not None:
            part.note_bad(outcome.kind)
        else:
            part.ignored += 1
            if outcome.kind is _ROUTE:
                return
        waited = header_time(attempt)
        if waited is not None:
            part.note_header(_bucket(waited))
        elif attempt.end is not _ANSWERED:
            waited = attempt.duration
        if waited is not None and waited > self.longest[slot]:
            self.longest[slot] = waited

    def _open(self, slot: int, tick: int) -> None:
        self.numbers[slot] = tick
        self.counts[slot] = 0
        self.longest[slot] = 0.0
        self.newest = max(self.newest, tick)
        self.first = min(self.first, tick)


_GOOD, _BAD, _ROUTE, _ANSWERED = Verdict.GOOD, Verdict.BAD, Kind.ROUTE, End.ANSWERED


class Stats:
    """Keeps the rolling numbers. Give `observe` to the engine; ask with `snapshot`."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, _Row]] = {}

    def observe(self, attempt: Attempt, pool: str, upstream: str, outcome: Outcome) -> None:
        """Take one judged attempt (the engine's `Observer`)."""
        try:
            row = self._rows[pool][upstream]
        except KeyError:
            row = self._new(pool, upstream, int(attempt.ended // TICK))
        row.note(attempt, outcome)

    def _new(self, pool: str, upstream: str, tick: int) -> _Row:
        if sum(map(len, self._rows.values())) >= LIMIT:
            self._forget(max(row.newest for rows in self._rows.values() for row in rows.values()))
        row = _Row(tick)
        self._rows.setdefault(pool, {})[upstream] = row
        return row

    def _forget(self, newest: int) -> None:
        """Make room: drop those that were silent for the whole span, or else the longest silent half."""
        kept = [(row.newest, pool, name) for pool, rows in self._rows.items() for name, row in rows.items()]
        edge = newest - TICKS
        if all(one[0] > edge for one in kept):
            edge = sorted(one[0] for one in kept)[len(kept) // 2]
        for heard, pool, name in kept:
            if heard <= edge:
                del self._rows[pool][name]

    def snapshot(self, at: float) -> StatsView:
        """Return the numbers of the `SPAN` seconds before `at` (epoch seconds); upstreams that were silent are left out."""
        tick = int(at // TICK)
        rows = ((pool, name, row) for pool, rows in self._rows.items() for name, row in rows.items())
        return StatsView(at, tuple(_shown(pool, name, row, tick, at) for pool, name, row in rows if row.newest > tick - TICKS))


def _shown(pool: str, upstream: str, row: _Row, tick: int, at: float) -> UpstreamStats:
    lowest = (tick - TICKS) // _PER_SLICE
    parts = [part for part in row.slices if part is not None and lowest < part.number <= tick // _PER_SLICE]
    bad: dict[str, int] = {}
    headers = [0] * _BUCKETS
    for part in parts:
        headers = [one + more for one, more in zip(headers, part.headers, strict=True)]
        for kind, count in (part.bad or {}).items():
            bad[str(kind)] = bad.get(str(kind), 0) + count
    good, ignored = sum(part.good for part in parts), sum(part.ignored for part in parts)
    return UpstreamStats(
        pool=pool,
        upstream=upstream,
        rate=_rate(row, tick, at),
        attempts=good + ignored + sum(bad.values()),
        good=good,
        bad=dict(sorted(bad.items(), key=lambda item: (-item[1], item[0]))),
        ignored=ignored,
        p50=percentile(headers, 0.5),
        p95=percentile(headers, 0.95),
        p99=percentile(headers, 0.99),
        longest=tuple(row.longest[one % TICKS] if row.numbers[one % TICKS] == one else None for one in _ticks(tick)),
    )


def _ticks(tick: int) -> range:
    return range(tick - TICKS + 1, tick + 1)


def _rate(row: _Row, tick: int, at: float) -> float:
    first = max(tick - RATE_TICKS, min(row.first, tick))
    count = sum(row.counts[one % TICKS] for one in range(first, tick + 1) if row.numbers[one % TICKS] == one)
    return count / max(TICK, at - first * TICK)


def _bucket(seconds: float) -> int:
    """Find the histogram bucket of a duration: four for each doubling, from a millisecond up."""
    if seconds < _LOWEST:
        return 0
    mantissa, exponent = frexp(seconds * 1000.0)
    index = 4 * exponent - 3
    if mantissa >= _STEPS[1]:
        index += 3 if mantissa >= _STEPS[2] else 2
    elif mantissa >= _STEPS[0]:
        index += 1
    return index if index < _BUCKETS else _BUCKETS - 1


def _edge(bucket: int) -> float:
    """Return where a bucket begins, in seconds."""
    return 0.0 if bucket == 0 else _LOWEST * float(2.0 ** ((bucket - 1) / 4))


def percentile(headers: list[int], share: float) -> float | None:
    """Return the duration that `share` of the counted ones do not exceed, in seconds; None: nothing was counted."""
    total = sum(headers)
    if not total:
        return None
    rank = max(1, ceil(share * total))
    bucket = 0
    while headers[bucket] < rank:
        rank -= headers[bucket]
        bucket += 1
    low, high = _edge(bucket), _edge(bucket + 1)
    return low + (high - low) * (rank - 0.5) / headers[bucket]
