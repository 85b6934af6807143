"""Durations: what is read, what is refused, and that writing and reading agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.config.durations import LONGEST, format_duration, read_duration

SPELLINGS: list[tuple[Any, float]] = [
    ("250ms", 0.25),
    ("30s", 30.0),
    ("10m", 600.0),
    ("2h", 7200.0),
    ("1d", 86400.0),
    ("1m30s", 90.0),
    ("1d2h3m4s5ms", 93784.005),
    ("1.5s", 1.5),
    ("0.1s", 0.1),
    (" 30s ", 30.0),
    ("0s", 0.0),
    (0, 0.0),
    (30, 30.0),
    (0.25, 0.25),
    ("366d", LONGEST),
]


@pytest.mark.parametrize(("value", "seconds"), SPELLINGS)
def test_spelling(value: Any, seconds: float) -> None:
    """Every documented spelling is read to seconds."""
    assert read_duration(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "s",
        "30",
        "30S",
        "30 s",
        "1s1m",
        "1s1s",
        "-5s",
        "1e3s",
        "5us",
        "\u0663s",
        True,
        False,
        [],
        float("nan"),
        float("inf"),
    ],
)
def test_no_duration(value: Any) -> None:
    """What is no duration is refused with an example of one."""
    with pytest.raises(ValueError, match=r'expected a duration such as "30s"'):
        read_duration(value)


def test_number_as_text() -> None:
    """A number in quotes is refused with the spelling that was meant."""
    with pytest.raises(ValueError, match='got "30"; write "30s" for seconds'):
        read_duration("30")


@pytest.mark.parametrize("value", ["366d1ms", LONGEST + 1, 1e300])
def test_too_long(value: Any) -> None:
    """More than a year is a typo."""
    with pytest.raises(ValueError, match='at most "366d"'):
        read_duration(value)


@pytest.mark.parametrize(
    ("seconds", "text"), [(90.0, "1m30s"), (0.25, "250ms"), (0.0, "0s"), (86400.0, "1d"), (1.5, "1s500ms"), (-5.0, "-5s")]
)
def test_format(seconds: float, text: str) -> None:
    """A duration is written as an operator would write it."""
    assert format_duration(seconds) == text


@given(st.floats(min_value=0, max_value=LONGEST))
def test_round_trip(seconds: float) -> None:
    """What is written is read to the very same number."""
    assert read_duration(format_duration(seconds)) == seconds


@given(st.tuples(*(st.integers(0, 99) for _ in range(5))).filter(any))
def test_parts_add_up(parts: tuple[int, ...]) -> None:
    """A combined duration is the sum of its parts."""
    text = "".join(f"{part}{unit}" for part, unit in zip(parts, ("d", "h", "m", "s", "ms"), strict=True) if part)
    milliseconds = sum(part * size for part, size in zip(parts, (86400000, 3600000, 60000, 1000, 1), strict=True))
    assert read_duration(text) == milliseconds / 1000
