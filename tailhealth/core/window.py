"""The latest counted outcomes of one upstream, in bounded memory (DESIGN section 5)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, deque
from math import floor, inf
from typing import NamedTuple

from tailhealth.core.model import Kind

KEPT = 64
"""So many newest outcomes are kept one by one; older ones, as far as `span` needs them, as counts per second."""
_COMPACT_AT, _COMPACT_BAD_AT = 192, 96
"""Tidied when so many are kept, or so many bad ones, which take more memory."""


class Mark(NamedTuple):
    """A bad outcome in the window."""

    kind: Kind
    client: str
    answered: bool
    """A header came all the same (a 5xx, a slow or a broken-off answer)."""


class Seen(NamedTuple):
    """What a window shows at one moment."""

    counted: int
    bad: int
    kinds: Counter[str]
    unanswered: int
    """Bad outcomes without a header."""
    clients: int
    """Distinct clients among the bad outcomes."""
    oldest: float
    """When the oldest outcome ended; infinity if there is none."""

    @property
    def share(self) -> float:
        """Bad among counted; 0 of nothing."""
        return self.bad / self.counted if self.counted else 0.0


class Window:
    """Counted outcomes in the order of their end. Outcomes may be added late; they take their place.

    At a time `at` the window holds the newest `last` outcomes and all that ended at or after `at - span`, and none that ended
    before `at - within`. Beyond the newest 64 the edge of `span` is a whole second.
    """

    __slots__ = ("_aside", "_aside_bad", "_bad", "_buckets", "_last", "_marks", "_span", "_times", "_within")

    def __init__(self, last: int, span: float, within: float) -> None:
        self._last = last
        self._span = span
        self._within = within
        self._times: list[float] = []
        self._marks: list[Mark | None] = []
        self._bad = 0
        """How many of those kept one by one are bad."""
        self._buckets: deque[tuple[int, Counter[Mark | None]]] = deque()
        self._aside = 0
        """How many are counted by the second, and how many of them are bad."""
        self._aside_bad = 0

    def reshape(self, last: int, span: float, within: float) -> None:
        """Let other bounds hold. What the old ones have dropped is not there any more."""
        self._last, self._span, self._within = last, span, within

    def __len__(self) -> int:
        """Count what is kept, whatever its age."""
        return len(self._times) + self._aside

    @property
    def newest(self) -> float:
        """When the latest outcome ended; minus infinity if there is none."""
        return self._times[-1] if self._times else -inf

    @property
    def latest(self) -> Mark | None:
        """The latest outcome: None if it is good or there is none."""
        return self._marks[-1] if self._marks else None

    def clear(self) -> None:
        """Forget everything: an upstream that comes back starts with a clean sheet."""
        self._times.clear()
        self._marks.clear()
        self._buckets.clear()
        self._bad = self._aside = self._aside_bad = 0

    def add(self, ended: float, mark: Mark | None = None) -> None:
        """Add an outcome, good if it has no mark."""
        times = self._times
        if not times or ended >= times[-1]:
            times.append(ended)
            self._marks.append(mark)
        else:
            place = bisect_right(times, ended)
            if place == 0 and self._buckets and (len(times) >= KEPT or floor(ended) <= self._buckets[-1][0]):
                self._put_aside(floor(ended), [mark])
                return
            times.insert(place, ended)
            self._marks.insert(place, mark)
        if mark is not None:
            self._bad += 1
        if len(times) >= _COMPACT_AT or self._bad >= _COMPACT_BAD_AT:
            self._compact()

    def extend(self, ends: list[float]) -> None:
        """Add good outcomes, in the order of their ends."""
        if ends and self._times and ends[0] < self._times[-1]:
            for ended in ends:
                self.add(ended)
            return
        self._times += ends
        self._marks += [None] * len(ends)
        if len(self._times) >= _COMPACT_AT:
            self._compact()

    def take_back(self, ended: float, mark: Mark | None) -> bool:
        """Take back an outcome of which a later line tells more.

        Returns:
            False if it is no longer in the window.
        """
        place = bisect_left(self._times, ended)
        while place < len(self._times) and self._times[place] == ended:
            if self._marks[place] == mark:
                del self._times[place], self._marks[place]
                self._bad -= mark is not None
                return True
            place += 1
        for second, bucket in self._buckets:
            if second == floor(ended) and bucket[_anonymous(mark)] > 0:
                bucket[_anonymous(mark)] -= 1
                self._aside -= 1
                self._aside_bad -= mark is not None
                return True
        return False

    def was_answered_after(self, ended: float) -> bool:
        """Tell whether an outcome that ended later had a header."""
        later = self._marks[bisect_right(self._times, ended) :]
        return any(mark is None or mark.answered for mark in later)

    def _compact(self) -> None:
        times, marks = self._times, self._marks
        surplus = len(times) - KEPT
        begin = 0
        while begin < surplus:
            second = floor(times[begin])
            end = bisect_left(times, second + 1, begin, surplus)
            self._bad -= self._put_aside(second, marks[begin:end])
            begin = end
        del times[:surplus], marks[:surplus]
        self._forget()

    def _forget(self) -> None:
        """Drop the seconds that lie more than `span` before the newest outcome."""
        while self._buckets and self._buckets[0][0] < floor(self.newest - self._span):
            _, bucket = self._buckets.popleft()
            whole = bucket.total()
            self._aside -= whole
            self._aside_bad -= whole - bucket[None]

    def _put_aside(self, second: int, marks: list[Mark | None]) -> int:
        """Count outcomes of one second; clients of single ones beyond the newest 64 are not kept apart.

        Returns:
            How many of them are bad.
        """
        bucket = self._bucket(second)
        good = marks.count(None)
        bad = len(marks) - good
        bucket[None] += good
        if bad:
            bucket.update(_anonymous(mark) for mark in marks if mark is not None)
        self._aside += len(marks)
        self._aside_bad += bad
        return bad

    def _bucket(self, second: int) -> Counter[Mark | None]:
        buckets = self._buckets
        if not buckets or buckets[-1][0] < second:
            buckets.append((second, Counter()))
            return buckets[-1][1]
        place = next(index for index in range(len(buckets) - 1, -1, -1) if index == 0 or buckets[index - 1][0] < second)
        if buckets[place][0] != second:
            buckets.insert(place, (second, Counter()))
        return buckets[place][1]

    def seen(self, at: float, stalled: int = 0) -> Seen:
        """Return what the window shows at `at`, with `stalled` bad outcomes dated now that are never stored."""
        first, end, edge = self._part(at, stalled)
        return self._count(first, end, edge, stalled, at)

    def rate(self, at: float, stalled: int = 0) -> tuple[int, int]:
        """Return counted and bad outcomes as `seen` would; of a busy upstream without looking at each."""
        times, reach = self._times, at - min(self._span, self._within)
        if len(times) >= KEPT and times[-1] <= at and times[-KEPT] >= reach and times[0] >= floor(reach):
            self._forget()
            if not self._buckets or self._buckets[0][0] >= floor(reach):
                return len(times) + self._aside + stalled, self._bad + self._aside_bad + stalled
        first, end, edge = self._part(at, stalled)
        if first == 0 and end == len(self._times) and (edge is None or self._buckets[0][0] >= edge):
            aside, aside_bad = (0, 0) if edge is None else (self._aside, self._aside_bad)
            return end + aside + stalled, self._bad + aside_bad + stalled
        seen = self._count(first, end, edge, stalled, at)
        return seen.counted, seen.bad

    def _part(self, at: float, stalled: int) -> tuple[int, int, int | None]:
        """Return which part of the list is in the window at `at`, and the first whole second that is; None: no second is."""
        self._settle()
        times = self._times
        end = bisect_right(times, at)
        newest = max(0, end - max(0, self._last - stalled))
        first = max(min(newest, bisect_left(times, at - self._span, 0, end)), bisect_left(times, at - self._within, 0, end))
        edge = floor(at - min(self._span, self._within)) if first == 0 and self._buckets else None
        return first, end, edge

    def since(self, start: float, at: float, stalled: int = 0) -> Seen:
        """Return what ended between `start` and `at`, whatever `last` and `span` say: the same time as a peer's window."""
        self._settle()
        times = self._times
        end = bisect_right(times, at)
        first = bisect_left(times, start, 0, end)
        return self._count(first, end, floor(start) if first == 0 else None, stalled, at)

    def _settle(self) -> None:
        """Bring the list to its 64 newest, so that an answer does not depend on when memory was last tidied."""
        if len(self._times) > KEPT:
            self._compact()
        elif self._times:
            self._forget()

    def _count(self, first: int, end: int, edge: int | None, stalled: int, at: float) -> Seen:
        """Count the list from `first` to `end` and, if `edge` is given, the buckets from that second on."""
        marks = [mark for mark in self._marks[first:end] if mark is not None]
        counted = end - first + stalled
        kinds = Counter([mark.kind for mark in marks])
        unanswered = [mark.answered for mark in marks].count(False) + stalled
        clients = len({mark.client for mark in marks}) + stalled
        oldest = self._times[first] if first < end else (at if stalled else inf)
        if stalled:
            kinds[Kind.STALLED] += stalled
        if edge is not None:
            aside: Counter[Mark | None] = Counter()
            for second, bucket in self._buckets:
                if second >= edge:
                    oldest = min(oldest, second)
                    aside.update(bucket)
            counted += aside.total()
            for mark, number in aside.items():
                if mark is not None:
                    kinds[mark.kind] += number
                    unanswered += 0 if mark.answered else number
        by_name = Counter({kind.value: number for kind, number in kinds.items()})
        return Seen(counted, kinds.total(), by_name, unanswered, clients, oldest)


def _anonymous(mark: Mark | None) -> Mark | None:
    return None if mark is None else Mark(mark.kind, "", mark.answered)
