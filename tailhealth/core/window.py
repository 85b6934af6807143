"""The latest counted outcomes of one upstream, in bounded memory (DESIGN section 5)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from math import floor, inf
from typing import NamedTuple

import msgspec

from tailhealth.core.model import Kind
from tailhealth.core.seconds import GOOD, UNANSWERED, Counted, Seconds

KEPT = 64
"""So many newest outcomes are kept one by one; older ones, as far as `span` needs them, as counts per second."""
_COMPACT_AT, _COMPACT_BAD_AT = 192, 80
"""Tidied when so many are kept, or so many bad ones, which take more memory."""


class Mark(msgspec.Struct, frozen=True, gc=False):
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


_KINDS = (None, *(kind for kind in Kind for _ in range(2)))
"""The kinds of outcomes by their sort: the good one, then each kind of bad ones, without and with a header."""
_SORTS = {(kind, answered): 1 + 2 * number + answered for number, kind in enumerate(Kind) for answered in (False, True)}
_NONE = Counted(0, 0, 0)


class Window:
    """Counted outcomes in the order of their end. Outcomes may be added late; they take their place.

    At a time `at` the window holds the newest `last` outcomes and all that ended at or after `at - span`, and none that ended
    before `at - within`. Beyond the newest 64 the edge of `span` is a whole second.

    Kept as columns of plain numbers: a few KB where objects would take fifty.
    """

    __slots__ = ("_aside", "_clients", "_last", "_sorts", "_span", "_times", "_within")

    def __init__(self, last: int, span: float, within: float) -> None:
        self._last = last
        self._span = span
        self._within = within
        self._times = array("d")
        self._sorts = bytearray()
        self._clients: list[str] = []
        """Of the bad ones among those that are kept one by one, in their order."""
        self._aside = Seconds()

    def reshape(self, last: int, span: float, within: float) -> None:
        """Let other bounds hold. What the old ones have dropped is not there any more."""
        self._last, self._span, self._within = last, span, within

    def __len__(self) -> int:
        """Count what is kept, whatever its age."""
        return len(self._times) + self._aside.counted

    @property
    def newest(self) -> float:
        """When the latest outcome ended; minus infinity if there is none."""
        return self._times[-1] if self._times else -inf

    @property
    def latest(self) -> Kind | None:
        """How the latest outcome was bad; None if it is good or there is none."""
        return _KINDS[self._sorts[-1]] if self._sorts else None

    def clear(self) -> None:
        """Forget everything: an upstream that comes back starts with a clean sheet."""
        del self._times[:], self._sorts[:]
        self._clients.clear()
        self._aside.clear()

    def add(self, ended: float, mark: Mark | None = None) -> None:
        """Add an outcome, good if it has no mark."""
        times, sort = self._times, _sort(mark)
        if not times or ended >= times[-1]:
            times.append(ended)
            self._sorts.append(sort)
            if mark is not None:
                self._clients.append(mark.client)
        else:
            place = bisect_right(times, ended)
            if place == 0 and self._aside and (len(times) >= KEPT or floor(ended) <= self._aside.newest):
                self._aside.add(floor(ended), bytes([sort]))
                return
            if mark is not None:
                self._clients.insert(self._bad_before(place), mark.client)
            times.insert(place, ended)
            self._sorts.insert(place, sort)
        if len(times) >= _COMPACT_AT or len(self._clients) >= _COMPACT_BAD_AT:
            self._compact()

    def extend(self, ends: list[float]) -> None:
        """Add good outcomes, in the order of their ends."""
        if ends and self._times and ends[0] < self._times[-1]:
            for ended in ends:
                self.add(ended)
            return
        self._times.fromlist(ends)
        self._sorts += bytes(len(ends))
        if len(self._times) >= _COMPACT_AT:
            self._compact()

    def take_back(self, ended: float, mark: Mark | None) -> bool:
        """Take back an outcome of which a later line tells more.

        Returns:
            False if it is no longer in the window.
        """
        sort = _sort(mark)
        place = bisect_left(self._times, ended)
        while place < len(self._times) and self._times[place] == ended:
            bad_before = self._bad_before(place)
            if self._sorts[place] == sort and (mark is None or self._clients[bad_before] == mark.client):
                del self._times[place], self._sorts[place]
                if mark is not None:
                    del self._clients[bad_before]
                return True
            place += 1
        return self._aside.take_back(floor(ended), sort)

    def was_answered_after(self, ended: float) -> bool:
        """Tell whether an outcome that ended later had a header."""
        return 0 in self._sorts[bisect_right(self._times, ended) :].translate(UNANSWERED)

    def _bad_before(self, place: int) -> int:
        """Count the bad ones before a place in the list."""
        return place - self._sorts.count(GOOD, 0, place)

    def _compact(self) -> None:
        """Leave the newest 64 in the list and count the others by the second; their clients are not kept."""
        times = self._times
        surplus = len(times) - KEPT
        begin = 0
        while begin < surplus:
            second = floor(times[begin])
            end = bisect_left(times, second + 1, begin, surplus)
            self._aside.add(second, self._sorts[begin:end])
            begin = end
        del self._clients[: self._bad_before(surplus)], times[:surplus], self._sorts[:surplus]
        self._forget()

    def _forget(self) -> None:
        """Drop the seconds that lie more than `span` before the newest outcome."""
        if self._times and self._aside:
            self._aside.forget(floor(self.newest - self._span))

    def seen(self, at: float, stalled: int = 0) -> Seen:
        """Return what the window shows at `at`, with `stalled` bad outcomes dated now that are never stored."""
        first, end, edge = self._part(at, stalled)
        return self._show(first, end, edge, stalled, at)

    def rate(self, at: float, stalled: int = 0) -> tuple[int, int]:
        """Return counted and bad outcomes as `seen` would; of a busy upstream without looking at each."""
        times, reach = self._times, at - min(self._span, self._within)
        if len(times) >= KEPT and times[-1] <= at and times[-KEPT] >= reach and times[0] >= floor(reach):
            self._forget()
            if self._aside.oldest >= floor(reach):
                return len(self) + stalled, len(self._clients) + self._aside.bad + stalled
        return self._count(*self._part(at, stalled), stalled)[:2]

    def _part(self, at: float, stalled: int) -> tuple[int, int, int | None]:
        """Return which part of the list is in the window at `at`, and the first whole second that is; None: no second is."""
        self._settle()
        times = self._times
        end = bisect_right(times, at)
        newest = max(0, end - max(0, self._last - stalled))
        first = max(min(newest, bisect_left(times, at - self._span, 0, end)), bisect_left(times, at - self._within, 0, end))
        edge = floor(at - min(self._span, self._within)) if first == 0 and self._aside else None
        return first, end, edge

    def since(self, start: float, at: float, stalled: int = 0) -> Counted:
        """Count what ended between `start` and `at`, whatever `last` and `span` say: the same time as a peer's window."""
        self._settle()
        times = self._times
        if times and start <= times[0] and times[-1] <= at:
            first, end = 0, len(times)
        else:
            end = bisect_right(times, at)
            first = bisect_left(times, start, 0, end)
        return self._count(first, end, floor(start) if first == 0 and self._aside else None, stalled)

    def _settle(self) -> None:
        """Bring the list to its 64 newest, so that an answer does not depend on when memory was last tidied."""
        if len(self._times) > KEPT:
            self._compact()
        else:
            self._forget()

    def _count(self, first: int, end: int, edge: int | None, stalled: int) -> Counted:
        """Count the list from `first` to `end` and, if `edge` is given, the seconds from that one on."""
        sorts = self._sorts[first:end]
        bad = len(sorts) - sorts.count(GOOD)
        unanswered = sorts.translate(UNANSWERED).count(1) if bad else 0
        aside = _NONE if edge is None else self._aside.since(edge)
        return Counted(len(sorts) + aside.counted + stalled, bad + aside.bad + stalled, unanswered + aside.unanswered + stalled)

    def _show(self, first: int, end: int, edge: int | None, stalled: int, at: float) -> Seen:
        """Show the same part with its kinds, clients and age."""
        counted, bad, unanswered = self._count(first, end, edge, stalled)
        kinds = Counter[str]()
        for sort, number in Counter(self._sorts[first:end]).items():
            _add_kind(kinds, sort, number)
        oldest = self._times[first] if first < end else (at if stalled else inf)
        if stalled:
            kinds[Kind.STALLED.value] += stalled
        if edge is not None:
            for second, sort, number in self._aside.by_sort(edge):
                oldest = min(oldest, second)
                _add_kind(kinds, sort, number)
        clients = set(self._clients[self._bad_before(first) : self._bad_before(end)])
        return Seen(counted, bad, kinds, unanswered, len(clients) + stalled, oldest)


def _sort(mark: Mark | None) -> int:
    return GOOD if mark is None else _SORTS[mark.kind, mark.answered]


def _add_kind(kinds: Counter[str], sort: int, number: int) -> None:
    kind = _KINDS[sort]
    if kind is not None:
        kinds[kind.value] += number
