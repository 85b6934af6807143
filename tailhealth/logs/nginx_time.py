"""The time of an nginx line, in whatever spelling the `log_format` gives it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from tailhealth.logs.values import FIRST_EPOCH, parse_time

if TYPE_CHECKING:
    from datetime import tzinfo

    from tailhealth.logs.order import FutureFilter

MILLISECONDS = 1e11
"""A number from here on counts no seconds."""


class Dates:
    """Reads times that need no other line to be told: what it returns depends on the value alone.

    Args:
        zone: The zone of times that name none.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._spelled: Any = object()
        """The latest spelling of a date: the lines of one second share it."""
        self._time = 0.0

    def read(self, value: Any) -> float | None:
        """Return epoch seconds, None if a text or a number of a line is no time, or one without a year."""
        if value == self._spelled:
            return self._time
        if is_number(value):
            number = float(value)
            if FIRST_EPOCH <= number < MILLISECONDS:
                return number
        time = _with_zone(value)
        if time is None:
            try:
                time = parse_time(value, self._zone)
            except ValueError:
                return None
        self._spelled, self._time = value, time
        return time


class Times:
    """Reads the times of one file's lines.

    Args:
        zone: The zone of times that name none.
        future: Knows the time of the line before, which tells the year of a time without one.
    """

    def __init__(self, zone: tzinfo, future: FutureFilter) -> None:
        self._zone = zone
        self._dates = Dates(zone)
        self._future = future

    def read(self, value: Any, now: float | None) -> float | None:
        """Return epoch seconds, None if it is no time.

        Args:
            value: A text or a number of the line.
            now: The wall clock where lines are live.
        """
        time = self._dates.read(value)
        if time is not None:
            return time
        try:
            return parse_time(value, self._zone, now if self._future.last is None else self._future.last)
        except ValueError:
            return None


def is_number(value: Any) -> bool:
    """Tell whether a time is a number of seconds or their fractions, written as text or not."""
    if isinstance(value, float):
        return True
    return isinstance(value, str) and value.isascii() and value.replace(".", "", 1).isdigit()


def _with_zone(value: Any) -> float | None:
    """Read `2026-11-30T00:53:20+00:00`, the spelling of `$time_iso8601`; None if it is another."""
    if not isinstance(value, str) or value[10:11] != "T":
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return time.timestamp() if time.tzinfo is not None else None
