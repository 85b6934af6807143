"""Lists of statuses (DESIGN section 4)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.config.statuses import Busy, read_busy, read_grpc_statuses, read_statuses
from tailhealth.core.rules import SERVER_ERRORS


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["5xx", "!501", "!505"], SERVER_ERRORS),
        (["5xx", "!501", "502", "500-504"], set(range(500, 600)) - {501}),
        (["500-504"], {500, 501, 502, 503, 504}),
        (["5XX", "!5xx", "502"], set()),
        (["!500-503", "500-504"], {504}),
        (["100", 999], {100, 999}),
        ("502", {502}),
        (502, {502}),
        ([], set()),
        (False, set()),
    ],
)
def test_statuses(value: Any, expected: set[int]) -> None:
    """Entries add up, exclusions win wherever they stand, `false` and an empty list are none."""
    assert read_statuses(value) == expected


@pytest.mark.parametrize(
    "entry", ["099", "99", "1000", "0xx", "xxx", "5x", "-502", "500-", "503+retry-after", "", "ok", 99, 1000, 5.5, True]
)
def test_no_status(entry: Any) -> None:
    """What is no status is named, with examples of what is."""
    with pytest.raises(ValueError, match=r'expected statuses such as "5xx"'):
        read_statuses(["502", entry])


def test_empty_range() -> None:
    """A range written backwards is refused with the right one."""
    with pytest.raises(ValueError, match='"504-500" is empty; write "500-504"'):
        read_statuses(["504-500"])


def test_only_exclusions() -> None:
    """Excluding from nothing is a misunderstanding."""
    with pytest.raises(ValueError, match="only excludes"):
        read_statuses(["!501"])


@given(st.integers(100, 999), st.integers(100, 999))
def test_range_is_closed(one: int, other: int) -> None:
    """A range holds both of its ends and all between."""
    low, high = sorted((one, other))
    assert read_statuses([f"{low}-{high}"]) == set(range(low, high + 1))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["429", "503+retry-after"], Busy()),
        ([429], Busy(frozenset({429}), frozenset())),
        (["503+Retry-After", "529"], Busy(frozenset({529}), frozenset({503}))),
        ([], Busy(frozenset(), frozenset())),
        (False, Busy(frozenset(), frozenset())),
    ],
)
def test_busy(value: Any, expected: Busy) -> None:
    """Statuses that need the header are kept apart from those that do not."""
    assert read_busy(value) == expected


@pytest.mark.parametrize(
    ("value", "fits"), [(0, False), (1, True), (16, True), (17, False), ("14", False), (True, False), (1.0, False)]
)
def test_grpc_statuses(value: Any, fits: bool) -> None:
    """Statuses of gRPC are numbers from 1 to 16: 0 is success."""
    if fits:
        assert read_grpc_statuses([value]) == {value} == read_grpc_statuses(value)
    else:
        with pytest.raises(ValueError, match="from 1 to 16"):
            read_grpc_statuses([value])


def test_grpc_off() -> None:
    """`false` and an empty list turn the rule off."""
    assert read_grpc_statuses(False) == read_grpc_statuses([]) == frozenset()
