"""Puts inputs in order of time before they are judged (DESIGN section 2, Order)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from math import inf, nextafter
from operator import attrgetter, lt
from typing import Generic, TypeAlias, TypeVar

from tailhealth.core.bulk import Bulk, merged
from tailhealth.core.model import Aborted, Attempt

Event: TypeAlias = Attempt | Aborted
Entry: TypeAlias = Attempt | Aborted | Bulk
Control = TypeVar("Control")

_ended = attrgetter("ended")
_place = attrgetter("ended", "file", "offset")


def one_by_one(entries: Iterable[Entry]) -> list[Event]:
    """Return the events, those in bulks too."""
    events: list[Event] = []
    for entry in entries:
        if isinstance(entry, Bulk):
            events += entry.attempts()
        else:
            events.append(entry)
    return events


class Buffer(Generic[Control]):
    """Events by (ended, file, offset) and controls by their time, until they are `lateness` seconds old."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        """In order, and no bulk reaches over the entry after it."""
        self._controls: list[tuple[float, int, Control]] = []
        self._arrivals = 0

    def add_events(self, entries: Sequence[Entry]) -> float:
        """Take events in any order, those of one file in the order of its lines.

        Returns:
            The time of the newest.
        """
        fresh = list(entries)
        ends = list(map(_ended, fresh))
        in_order = True
        if Bulk in set(map(type, fresh)):
            lasts = [entry.last if isinstance(entry, Bulk) else entry.ended for entry in fresh]
            in_order = all(map(lt, lasts, ends[1:])) or all(map(_follows, fresh, fresh[1:]))
        elif not all(map(lt, ends, ends[1:])):
            fresh.sort(key=_place)
        waiting = self._entries
        if in_order and not (waiting and not _follows(waiting[-1], fresh[0])):
            waiting += fresh
            return _last(fresh[-1])
        earliest = min(ends)
        first = bisect_left(waiting, earliest, key=_ended)
        if first and _last(waiting[first - 1]) >= earliest:
            first -= 1
        waiting[first:] = _arranged(waiting[first:] + fresh)
        return max(map(_last, fresh))

    def add_control(self, at: float, control: Control) -> None:
        """Take another input, due at its time."""
        self._arrivals += 1
        self._controls.append((at, self._arrivals, control))
        self._controls.sort(key=lambda one: one[:2])

    def whole_until(self, limit: float) -> float:
        """Return the latest time up to `limit` that cuts no bulk: to wait a little longer for late lines does no harm."""
        entries = self._entries
        place = bisect_right(entries, limit, key=_ended) if limit < inf else 0
        entry = entries[place - 1] if place else None
        return nextafter(entry.ended, -inf) if isinstance(entry, Bulk) and entry.last > limit else limit

    def events_until(self, limit: float) -> list[Entry]:
        """Remove and return the events that ended at or before `limit`, in order."""
        entries = self._entries
        count = len(entries) if limit == inf else bisect_right(entries, limit, key=_ended)
        due = entries[:count]
        del entries[:count]
        return due

    def controls_until(self, limit: float) -> deque[tuple[float, Control]]:
        """Remove and return the other inputs due at or before `limit`, in order."""
        due = deque((at, control) for at, _, control in self._controls if at <= limit)
        self._controls = self._controls[len(due) :]
        return due

    def is_empty(self) -> bool:
        """Tell whether nothing waits."""
        return not self._entries and not self._controls


def _last(entry: Entry) -> float:
    return entry.last if isinstance(entry, Bulk) else entry.ended


def _follows(one: Entry, other: Entry) -> bool:
    """Tell whether an entry stands in its place behind one that came before it."""
    last = _last(one)
    if last == other.ended and (isinstance(one, Bulk) or isinstance(other, Bulk)):
        return one.file == other.file
    return last < other.ended


def _arranged(entries: list[Entry]) -> list[Entry]:
    """Put entries in order: bulks that overlap become one, and an event cuts the one in which it stands."""
    bulks = _apart([entry for entry in entries if isinstance(entry, Bulk)])
    arranged: list[Entry] = []
    for event in sorted((entry for entry in entries if not isinstance(entry, Bulk)), key=_ended):
        arranged.append(event)
        while bulks and bulks[0].ended <= event.ended:
            before, rest = bulks.popleft().split(event.ended)
            same, after = (None, None) if rest is None else rest.split(nextafter(event.ended, inf))
            arranged += [] if before is None else [before]
            # Attempts of the event's own moment stand before or behind it by their place in their files.
            arranged += [] if same is None else same.attempts()
            bulks.extendleft([] if after is None else [after])
    return sorted([*arranged, *bulks], key=_order)


def _order(entry: Entry) -> tuple[float, int, int]:
    return (entry.ended, -1, -1) if isinstance(entry, Bulk) else (entry.ended, entry.file, entry.offset)


def _apart(bulks: list[Bulk]) -> deque[Bulk]:
    """Make one bulk of those that overlap."""
    apart: deque[Bulk] = deque()
    overlapping: list[Bulk] = []
    last = -inf
    for bulk in sorted(bulks, key=_ended):
        if overlapping and bulk.ended > last:
            apart.append(merged(overlapping))
            overlapping = []
        overlapping.append(bulk)
        last = max(last, bulk.last)
    if overlapping:
        apart.append(merged(overlapping))
    return apart
