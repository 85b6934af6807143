"""Times, durations and numbers as log lines spell them. What can't be told for sure is an error, never a guess."""

from __future__ import annotations

import re
from calendar import timegm
from datetime import UTC, datetime, timedelta, tzinfo
from math import isfinite

MONTHS = {
    "jan": 1,
    "feb": 2,
    "mar": 3,
    "apr": 4,
    "may": 5,
    "jun": 6,
    "jul": 7,
    "aug": 8,
    "sep": 9,
    "oct": 10,
    "nov": 11,
    "dec": 12,
}

UNITS = {
    "h": 3600.0,
    "m": 60.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ns": 1e-9,
}
"""Seconds in each unit that Go and people write; the two spellings of micro are different characters."""

_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+"
_PART = re.compile(rf"({_NUMBER})\s*(h|ms|us|µs|μs|ns|m|s)\s*", re.ASCII)
_PLAIN = re.compile(rf"[+-]?(?:{_NUMBER})\Z", re.ASCII)

FIRST_EPOCH = 1e8
"""Seconds below this (March 1973) are no time of a log line: a duration or a counter stands in the time field."""
_SCALES = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
"""Epoch seconds, milliseconds, microseconds and nanoseconds differ by magnitude until the year 5138."""

_CLOCK = r"(?P<H>\d\d):(?P<M>\d\d):(?P<S>\d\d)(?:[.,](?P<f>\d+))?"
_ZONE = r"(?P<z>Z|UTC|GMT|[+-]\d\d:?\d\d)"
_LAYOUTS = tuple(
    re.compile(pattern + r"\Z", re.IGNORECASE | re.ASCII)
    for pattern in (
        # RFC 3339, ISO 8601 (with or without a colon in the zone), Caddy's wall formats
        rf"(?P<y>\d{{4}})[-/](?P<m>\d\d)[-/](?P<d>\d\d)[T ]{_CLOCK}(?: ?{_ZONE})?",
        # common log, nginx $time_local
        rf"\[?(?P<d>\d\d)/(?P<b>[A-Z]{{3}})/(?P<y>\d{{4}}):{_CLOCK}(?: {_ZONE})?\]?",
        # Go's RFC 1123 and 850, HTTP dates
        rf"[A-Z]{{3,9}}, (?P<d>\d\d)[ -](?P<b>[A-Z]{{3}})[ -](?P<y>\d{{4}}|\d\d) {_CLOCK} {_ZONE}",
        # Go's ANSIC, UnixDate and RubyDate
        rf"[A-Z]{{3}} (?P<b>[A-Z]{{3}}) +(?P<d>\d\d?) {_CLOCK}(?: {_ZONE})? (?P<y>\d{{4}})",
        # Go's Stamp, syslog: the year is missing
        rf"(?P<b>[A-Z]{{3}}) +(?P<d>\d\d?) {_CLOCK}(?: {_ZONE})?",
    )
)


class NoYearError(ValueError):
    """A time lacks its year, and nothing tells it."""


def seconds(value: object, unit: str = "s") -> float | None:
    """Read a duration.

    Args:
        value: A number, a number as text, or text with units: `0.012`, `"12ms"`, `"0.012 s"`, `"1m2.5s"`.
        unit: What a number without a unit counts: a key of `UNITS`.

    Returns:
        Seconds, or None where the log says that there is no value: null, an empty text or `-`.

    Raises:
        ValueError: It is no duration, or a negative or infinite one.
    """
    if value is None or (isinstance(value, str) and value.strip() in {"", "-"}):
        return None
    if isinstance(value, str):
        text = value.strip()
        if _PLAIN.match(text):
            return _positive(number(text) * UNITS[unit], value)
        return _positive(_parts(text), value)
    return _positive(number(value) * UNITS[unit], value)


def number(value: object) -> float:
    """Read a number that may be written as text.

    Raises:
        ValueError: It is none, or not a finite one.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"no number: {value!r:.60}")  # noqa: TRY004 - a line's content is a value, not a programming error
    if isinstance(value, str) and not _PLAIN.match(value.strip()):
        raise ValueError(f"no number: {value!r:.60}")
    try:
        result = float(value)
    except OverflowError:
        raise ValueError("a number too large for any log") from None
    if not isfinite(result):
        raise ValueError(f"no finite number: {value!r:.60}")
    return result


def integer(value: object) -> int:
    """Read a whole number that may be written as text.

    Raises:
        ValueError: It is none.
    """
    result = number(value)
    if result != int(result):
        raise ValueError(f"no whole number: {value!r:.60}")
    return int(result)


def _positive(result: float, value: object) -> float:
    if not 0.0 <= result < float("inf"):
        raise ValueError(f"no duration: {value!r:.60}")
    return result


def _parts(text: str) -> float:
    """Add up the parts of a duration with units, as Go writes them."""
    total, at = 0.0, 0
    while part := _PART.match(text, at):
        total += float(part[1]) * UNITS[part[2]]
        at = part.end()
    if at == 0 or at < len(text):
        raise ValueError(f"no duration: {text!r:.60}")
    return total


def parse_time(value: object, zone: tzinfo = UTC, near: float | None = None) -> float:
    """Read a point in time.

    Args:
        value: Epoch seconds, milliseconds, microseconds or nanoseconds (told apart by their magnitude; also as text), or one
            of the spellings that Caddy, nginx, Go and syslog use.
        zone: The zone of a time that names none.
        near: A time close to the wanted one (the neighbouring line, or the clock), for spellings without a year.

    Returns:
        Epoch seconds.

    Raises:
        NoYearError: Its year is missing, and `near` is not given.
        ValueError: It is no time, or one that can be read in more than one way.
    """
    if not isinstance(value, str):
        return epoch(number(value))
    text = value.strip()
    if _PLAIN.match(text):
        return epoch(number(text))
    for layout in _LAYOUTS:
        found = layout.match(text)
        if found:
            return _moment(found.groupdict(), zone, near)
    raise ValueError(f"no time: {text!r:.60}")


def epoch(value: float) -> float:
    """Bring an epoch time of any usual unit to seconds.

    Raises:
        ValueError: The number is too small or too large to be one.
    """
    if value >= FIRST_EPOCH:
        for limit, scale in _SCALES:
            if value < limit:
                return value / scale
    raise ValueError(f"no epoch time: {value!r:.60}")


def _moment(parts: dict[str, str | None], zone: tzinfo, near: float | None) -> float:
    month = MONTHS.get((parts.get("b") or "").lower()) if "b" in parts else int(parts["m"] or 0)
    if month is None:
        raise ValueError(f"no month: {parts['b']!r}")
    year = parts.get("y")
    if year is not None:
        return _at(int(year) + (2000 if len(year) == 2 else 0), month, parts, zone)  # noqa: PLR2004 - a year of two digits
    if near is None:
        raise NoYearError("a time without a year, and no neighbour that tells it")
    around = datetime.fromtimestamp(near, UTC).year
    candidates = []
    for candidate in (around - 1, around, around + 1):
        try:
            candidates.append(_at(candidate, month, parts, zone))
        except ValueError:
            continue  # the 29th of February
    if not candidates:
        raise ValueError("no such day")
    return min(candidates, key=lambda moment: abs(moment - near))


def _at(year: int, month: int, parts: dict[str, str | None], zone: tzinfo) -> float:
    day, hour, minute, second = (int(parts[name] or 0) for name in ("d", "H", "M", "S"))
    leap = second == 60  # noqa: PLR2004 - a leap second is read as the second after
    wall = datetime(year, month, day, hour, minute, 59 if leap else second, tzinfo=UTC)
    fraction = float(f"0.{parts['f']}") if parts.get("f") else 0.0
    base = timegm(wall.timetuple()) + (1 if leap else 0) + fraction
    spelled = parts.get("z")
    return base - (_offset(spelled) if spelled else _zone_offset(wall, zone))


def _offset(spelled: str) -> float:
    if spelled[0] not in "+-":
        return 0.0
    digits = spelled[1:].replace(":", "")
    distance = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return float(-distance if spelled[0] == "-" else distance)


def _zone_offset(wall: datetime, zone: tzinfo) -> float:
    """Return the zone's distance from UTC at a wall time.

    Raises:
        ValueError: The wall time exists twice or never in this zone (the clocks changed).
    """
    first, second = (wall.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta() for fold in (0, 1))
    if first != second:
        raise ValueError("a time without a zone in the hour in which the clocks changed")
    return first.total_seconds()
