"""Times, durations and numbers in all their spellings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.logs.values import integer, number, parse_time, seconds

INSTANT = 1_796_000_000.25


@pytest.mark.parametrize(
    ("value", "unit", "wanted"),
    [
        (0.012, "s", 0.012),
        (12, "ms", 0.012),
        ("12", "ms", 0.012),
        ("12ms", "s", 0.012),
        ("0.012 s", "ms", 0.012),
        ("12.340652ms", "s", 0.012340652),
        ("250µs", "s", 0.00025),
        ("250μs", "s", 0.00025),
        ("250us", "s", 0.00025),
        ("12ns", "s", 1.2e-8),
        ("1m2.5s", "s", 62.5),
        ("1h0m5s", "s", 3605.0),
        ("1.5e-05", "s", 1.5e-05),
        (0, "s", 0.0),
        ("0s", "s", 0.0),
        (None, "s", None),
        ("", "s", None),
        ("-", "s", None),
    ],
)
def test_seconds(value: object, unit: str, wanted: float | None) -> None:
    """A duration is read in the unit that it names, else in the one given; absent is None."""
    assert wanted == (pytest.approx(seconds(value, unit)) if wanted is not None else seconds(value, unit))


@pytest.mark.parametrize(
    "value", ["abc", "1x", "5 m s", "-1", -0.5, True, float("nan"), float("inf"), "1e999", 10**400, [], "1.2.3"]
)
def test_no_seconds(value: object) -> None:
    """What is no duration, or a negative or infinite one, is an error."""
    with pytest.raises(ValueError, match=r"no |too large"):
        seconds(value)


@pytest.mark.parametrize(
    "value",
    [
        INSTANT,
        INSTANT * 1e3,
        INSTANT * 1e6,
        int(INSTANT * 4) * 250_000_000,
        "1796000000.250",
        "1796000000250",
        "2026-11-30T00:53:20.25Z",
        "2026-11-29T19:53:20.250-0500",
        "2026-11-29T19:53:20.25-05:00",
        "2026-11-30T06:23:20,250+05:30",
        "2026-11-30 00:53:20.250",
        "2026/11/30 00:53:20.250",
        "30/Nov/2026:00:53:20.25 +0000",
        "[30/Nov/2026:05:53:20.25 +0500]",
        "Mon, 30 Nov 2026 00:53:20.25 GMT",
        "Monday, 30-Nov-26 00:53:20.25 UTC",
        "Mon Nov 30 00:53:20.25 2026",
        "Mon Nov 30 00:53:20.25 UTC 2026",
        "Mon Nov 30 02:53:20.25 +0200 2026",
    ],
)
def test_one_instant(value: object) -> None:
    """Every spelling of one instant is that instant."""
    assert parse_time(value) == pytest.approx(INSTANT, abs=1e-6)


@pytest.mark.parametrize(
    "value",
    [
        *("", "yesterday", "00:53:20", "Nov 30 00:53:20", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-30"),
        *(99_999_999, 5.0, -1.0, 1e20, True, None, "Mon Nov 30 00:53:20 EST 2026"),
    ],
)
def test_no_time(value: object) -> None:
    """What is no time, or one of several, is an error and never a guess."""
    with pytest.raises(ValueError, match=r"no |year|month|day|range"):
        parse_time(value)


@pytest.mark.parametrize(("value", "scale"), [(1e8, 1.0), (99_999_999_999.0, 1.0), (1e11, 1e3), (1e14, 1e6), (1e17, 1e9)])
def test_epoch_units_by_magnitude(value: float, scale: float) -> None:
    """Seconds, ms, µs and ns are told apart at their boundaries."""
    assert value / scale == parse_time(value)


def test_zone_of_wall_times() -> None:
    """A time without a zone is in the zone given; one with a zone keeps it."""
    paris = ZoneInfo("Europe/Paris")
    assert parse_time("2026/11/30 01:53:20.250", paris) == INSTANT
    assert parse_time("2026-11-30T00:53:20.25Z", paris) == INSTANT


def test_the_hour_of_the_clock_change() -> None:
    """A wall time that exists twice or never in its zone is an error; the minutes around it are not."""
    paris = ZoneInfo("Europe/Paris")
    for ambiguous in ("2026-10-25 02:30:00", "2026-03-29 02:30:00"):
        with pytest.raises(ValueError, match="clocks changed"):
            parse_time(ambiguous, paris)
    assert parse_time("2026-10-25 03:00:00", paris) - parse_time("2026-10-25 01:59:59", paris) == 7201


def test_missing_year() -> None:
    """A time without a year is the one closest to its neighbour: December read on the first of January was last year."""
    new_year = datetime(2027, 1, 1, 0, 0, 5, tzinfo=UTC).timestamp()
    assert datetime(2026, 12, 31, 23, 59, 58, tzinfo=UTC).timestamp() == parse_time("Dec 31 23:59:58", near=new_year)
    assert datetime(2027, 1, 1, 0, 0, 1, tzinfo=UTC).timestamp() == parse_time("Jan  1 00:00:01", near=new_year - 60)
    leap = datetime(2028, 2, 29, 12, tzinfo=UTC).timestamp()
    assert leap == parse_time("Feb 29 12:00:00", near=leap + 86_400 * 30)
    with pytest.raises(ValueError, match="no such day"):
        parse_time("Feb 29 12:00:00", near=datetime(2026, 2, 1, tzinfo=UTC).timestamp())


def test_leap_second() -> None:
    """The sixtieth second is the one after the fifty-ninth."""
    assert parse_time("2026-12-31T23:59:60Z") == parse_time("2027-01-01T00:00:00Z")


@given(
    st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)),  # noqa: DTZ001 - the zone is the other value
    st.integers(-14 * 60, 14 * 60),
)
def test_written_and_read(wall: datetime, minutes: int) -> None:
    """Whatever offset a time is written with, it is read as the same instant."""
    moment = wall.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    for text in (moment.isoformat(), moment.strftime("%d/%b/%Y:%H:%M:%S.%f %z"), moment.strftime("%Y-%m-%dT%H:%M:%S.%f%z")):
        assert parse_time(text) == pytest.approx(moment.timestamp(), abs=1e-5)


@given(st.text() | st.floats() | st.integers() | st.none() | st.binary())
def test_only_value_errors(value: object) -> None:
    """Whatever stands in a field, the answer is a value or a ValueError."""
    for read in (seconds, parse_time, number, integer):
        try:
            read(value)
        except ValueError:
            continue


def test_whole_numbers() -> None:
    """A whole number may be text or have a fraction of zero, but no other."""
    assert [integer(200), integer("200"), integer(200.0)] == [200, 200, 200]
    for value in (200.5, "abc", True, None):
        with pytest.raises(ValueError, match="no "):
            integer(value)
