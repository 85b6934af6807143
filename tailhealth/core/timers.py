"""Moments at which something is due, in a defined order."""

from __future__ import annotations

from enum import IntEnum
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple


class Due(IntEnum):
    """What is due. The value is the order of things due at one moment in one place."""

    READMIT = 0
    PIN_ENDS = 1
    PAUSE_ENDS = 2
    UNTESTED = 3
    SETTLED = 4
    WINDOW_EMPTY = 5


class Timer(NamedTuple):
    """Something due at `at`. Sorted by time, then by the operator's order of pools and upstreams."""

    at: float
    pool_order: int
    member_order: int
    due: Due
    pool: str
    upstream: str


class Timers:
    """A queue of timers. A timer whose state has changed since is harmless: whoever takes it asks the state again."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self.next_at = inf
        """When the next one is due; infinity if there is none."""

    def set(self, timer: Timer) -> None:
        """Add a timer."""
        heappush(self._heap, timer)
        self.next_at = self._heap[0].at

    def take(self) -> Timer:
        """Remove and return the next one."""
        timer = heappop(self._heap)
        self.next_at = self._heap[0].at if self._heap else inf
        return timer

    def replace(self, timers: list[Timer]) -> None:
        """Drop all timers and set these."""
        self._heap = timers
        heapify(self._heap)
        self.next_at = self._heap[0].at if self._heap else inf
