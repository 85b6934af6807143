"""Puts inputs in order of time before they are judged (DESIGN section 2, Order)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Sequence
from math import inf
from operator import attrgetter, lt
from typing import Generic, TypeAlias, TypeVar

from tailhealth.core.model import Aborted, Attempt

Event: TypeAlias = Attempt | Aborted
Control = TypeVar("Control")

_ended = attrgetter("ended")
_place = attrgetter("ended", "file", "offset")


class Buffer(Generic[Control]):
    """Events by (ended, file, offset) and controls by their time, until they are `lateness` seconds old."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._controls: list[tuple[float, int, Control]] = []
        self._arrivals = 0

    def add_events(self, events: Sequence[Event]) -> float:
        """Take events in any order.

        Returns:
            The time of the newest.
        """
        fresh = list(events)
        ends = list(map(_ended, fresh))
        if not all(map(lt, ends, ends[1:])):
            fresh.sort(key=_place)
        waiting = self._events
        if waiting and fresh[0].ended <= waiting[-1].ended:
            first = bisect_left(waiting, fresh[0].ended, key=_ended)
            waiting[first:] = sorted(waiting[first:] + fresh, key=_place)
        else:
            waiting += fresh
        newest: float = fresh[-1].ended
        return newest

    def add_control(self, at: float, control: Control) -> None:
        """Take another input, due at its time."""
        self._arrivals += 1
        self._controls.append((at, self._arrivals, control))
        self._controls.sort(key=lambda one: one[:2])

    def events_until(self, limit: float) -> list[Event]:
        """Remove and return the events that ended at or before `limit`, in order."""
        events = self._events
        count = len(events) if limit == inf else bisect_right(events, limit, key=_ended)
        self._events = events[count:]
        return events[:count]

    def controls_until(self, limit: float) -> deque[tuple[float, Control]]:
        """Remove and return the other inputs due at or before `limit`, in order."""
        due = deque((at, control) for at, _, control in self._controls if at <= limit)
        self._controls = self._controls[len(due) :]
        return due

    def is_empty(self) -> bool:
        """Tell whether nothing waits."""
        return not self._events and not self._controls
