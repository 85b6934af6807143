"""Outcomes counted by the second: what a window keeps of those that are too many to be kept one by one (DESIGN section 5)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import compress
from math import inf
from typing import NamedTuple

GOOD = 0
"""The sort of a good outcome. Bad ones have other numbers, odd ones where no header came."""
UNANSWERED = bytes(sort % 2 for sort in range(256))
"""Translates each sort to 1 if no header came, else to 0."""


class Counted(NamedTuple):
    """How many outcomes ended in some time."""

    counted: int
    bad: int
    unanswered: int
    """Bad outcomes without a header."""


class Seconds:
    """How many outcomes of each sort ended in each whole second, the oldest second first.

    Three columns of numbers: a dictionary a second would take ten times the memory, and there are thousands of windows.
    """

    __slots__ = ("_counts", "_seconds", "_sorts", "bad", "counted", "unanswered")

    def __init__(self) -> None:
        self._seconds = array("q")
        self._sorts = bytearray()
        self._counts = array("L")
        self.counted = 0
        self.bad = 0
        self.unanswered = 0

    def __bool__(self) -> bool:
        """Tell whether there is a second, also one whose outcomes were all taken back."""
        return bool(self._seconds)

    @property
    def oldest(self) -> float:
        """The first second; infinity if there is none."""
        return self._seconds[0] if self._seconds else inf

    @property
    def newest(self) -> float:
        """The last second; minus infinity if there is none."""
        return self._seconds[-1] if self._seconds else -inf

    def add(self, second: int, sorts: bytes | bytearray) -> None:
        """Count outcomes of one second."""
        good = sorts.count(GOOD)
        for sort in (GOOD,) if good == len(sorts) else dict.fromkeys(sorts):
            self._add(second, sort, sorts.count(sort))
        self.counted += len(sorts)
        self.bad += len(sorts) - good
        self.unanswered += sum(sorts.translate(UNANSWERED)) if good < len(sorts) else 0

    def _add(self, second: int, sort: int, number: int) -> None:
        place, end = self._find(second, sort)
        if place >= 0:
            self._counts[place] += number
            return
        self._seconds.insert(end, second)
        self._sorts.insert(end, sort)
        self._counts.insert(end, number)

    def _find(self, second: int, sort: int) -> tuple[int, int]:
        """Return the place of a second's count of one sort, negative if there is none, and where that second ends."""
        begin = bisect_left(self._seconds, second)
        end = bisect_right(self._seconds, second, begin)
        return self._sorts.find(sort, begin, end), end

    def take_back(self, second: int, sort: int) -> bool:
        """Take one outcome back.

        Returns:
            False if there is none like it.
        """
        place, _ = self._find(second, sort)
        if place < 0 or not self._counts[place]:
            return False
        self._counts[place] -= 1
        self.counted -= 1
        self.bad -= sort != GOOD
        self.unanswered -= sort % 2
        return True

    def forget(self, before: int) -> None:
        """Drop the seconds before this one."""
        if not self._seconds or self._seconds[0] >= before:
            return
        place = bisect_left(self._seconds, before)
        gone = _counted(self._sorts[:place], self._counts[:place])
        self.counted -= gone.counted
        self.bad -= gone.bad
        self.unanswered -= gone.unanswered
        del self._seconds[:place], self._sorts[:place], self._counts[:place]

    def since(self, second: int) -> Counted:
        """Count what ended in a second or later."""
        if not self._seconds or second <= self._seconds[0]:
            return Counted(self.counted, self.bad, self.unanswered)
        place = bisect_left(self._seconds, second)
        return _counted(self._sorts[place:], self._counts[place:])

    def by_sort(self, second: int) -> Iterator[tuple[int, int, int]]:
        """Yield the second, the sort and the number of each count from a second on."""
        place = bisect_left(self._seconds, second)
        return zip(self._seconds[place:], self._sorts[place:], self._counts[place:], strict=True)

    def clear(self) -> None:
        """Forget everything."""
        del self._seconds[:], self._sorts[:], self._counts[:]
        self.counted = self.bad = self.unanswered = 0


def _counted(sorts: bytearray, counts: array[int]) -> Counted:
    return Counted(sum(counts), sum(compress(counts, sorts)), sum(compress(counts, sorts.translate(UNANSWERED))))
