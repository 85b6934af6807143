"""Time stamps that can't be: one bad stamp must not move time for all other lines (DESIGN section 3, "Both")."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import msgspec

from tailhealth.core.model import Attempt
from tailhealth.logs.reading import Event, Skip, Tally
from tailhealth.logs.values import FIRST_EPOCH

AHEAD = 300.0
"""Seconds: a line's time further ahead than this lies in the future."""
DELAYED = 60.0
"""Seconds: lines written while we watched that are older than this when they come were held back by a buffer."""


class Bounds(NamedTuple):
    """Between which times a line may stand."""

    low: float
    high: float
    before: float
    """Time of the line before."""
    leap: float
    """So many seconds after the line before it at most."""

    def has(self, time: float) -> bool:
        """Tell whether a line of this time may stand here."""
        return self.low <= time <= self.high and time - self.before <= self.leap

    def after(self, line: float) -> Bounds:
        """Return what holds for the next line."""
        return self if self.leap == inf else Bounds(self.low, self.high, line, self.leap)


def past_bounds(before: float) -> Bounds:
    """Return what holds in history, where only the line before tells that a time lies in the future."""
    return Bounds(FIRST_EPOCH, inf, before, AHEAD)


class Reading(msgspec.Struct, gc=False):
    """What one line (or one record over several lines) told: its time, its events and what it counts as."""

    at: float
    line: bytes
    """The line's first bytes, as an example if it has to be skipped."""
    offset: int = 0
    events: tuple[Event, ...] = ()
    records: int = 1
    unattributed: int = 0
    pool_events: int = 0
    aborted: int = 0
    other: int = 0


class FutureFilter:
    """Drops readings that lie in the future, counts the others, and hands on their events. One per file.

    Live, a time more than `AHEAD` after the wall clock is skipped. In history there is no clock: such a time is one that is
    more than `AHEAD` after both the line before and the line after it, so a reading that leaps ahead waits for the next one.
    """

    def __init__(self, tally: Tally) -> None:
        self.last: float | None = None
        """Time of the line before, in epoch seconds; None before the first."""
        self.held: Reading | None = None
        """A reading that leapt ahead and waits for its next neighbour."""
        self._tally = tally
        self._watched_since: float | None = None
        """Clock at the first live line."""

    def bounds(self, now: float | None) -> Bounds | None:
        """Return between which times the next line needs no closer look; None while a reading waits to hear of it first.

        Args:
            now: Wall clock where lines are live; None in history.
        """
        if self.held is not None:
            return None
        if now is not None:
            return Bounds(now - DELAYED, now + AHEAD, -inf, inf)
        return past_bounds(-inf if self.last is None else self.last)

    def admit(self, reading: Reading, now: float | None) -> list[Event]:
        """Take the next reading of the file and return the events that are certain now."""
        events: list[Event] = []
        held, self.held = self.held, None
        if held is not None:
            if held.at - reading.at > AHEAD:
                self._tally.skip(Skip.FUTURE, held.line)
            else:
                events += self._release(held)
        if now is not None:
            if reading.at - now > AHEAD:
                self._tally.skip(Skip.FUTURE, reading.line)
                return events
            if self._watched_since is None:
                self._watched_since = now
            if now - reading.at > DELAYED and reading.at > self._watched_since:
                self._tally.hints["delayed"] = (
                    f"lines come {now - reading.at:.0f} s after their time: the log is written through a buffer; give it a"
                    " short flush time (nginx: `access_log ... flush=1s`)"
                )
        elif self.last is not None and reading.at - self.last > AHEAD:
            self.held = reading
            return events
        return events + self._release(reading)

    def finish(self) -> list[Event]:
        """Release what waits: after the file's last line there is no neighbour that speaks against it."""
        held, self.held = self.held, None
        return self._release(held) if held is not None else []

    def _release(self, reading: Reading) -> list[Event]:
        tally = self._tally
        self.last = reading.at
        tally.records += reading.records
        tally.unattributed += reading.unattributed
        tally.pool_events += reading.pool_events
        tally.aborted += reading.aborted
        tally.other += reading.other
        tally.attempts += sum(isinstance(event, Attempt) for event in reading.events)
        return list(reading.events)
