"""Generators and broken changes, on both sides of each boundary."""

from __future__ import annotations

import pytest

from tailhealth.service.unrest import Aftermath, Rewrites


def test_more_than_three_rewrites_in_ten_minutes() -> None:
    """Three are an operator, four a generator, until the first of them is ten minutes old."""
    one = Rewrites()
    for at in (0.0, 100.0, 200.0):
        one.note("k", at)
    assert one.calm_at("k", 200.0) is None
    one.note("k", 599.0)
    assert one.calm_at("k", 599.9) == 600.0
    assert one.calm_at("k", 600.0) is None
    assert one.calm_at("other", 599.0) is None


def test_four_rewrites_in_more_than_ten_minutes() -> None:
    """Slow ones are an operator's."""
    one = Rewrites()
    for at in (0.0, 300.0, 500.0, 600.0):
        one.note("k", at)
    assert one.calm_at("k", 600.0) is None


@pytest.mark.parametrize(
    ("before", "after", "broke"),
    [
        ([], [100.0, 105.0, 110.0], True),
        ([], [100.0, 110.0], False),
        ([], [100.0, 105.0, 110.1], False),
        ([40.0], [101.0, 102.0, 103.0], False),
        ([39.9], [101.0, 102.0, 103.0], True),
        ([99.9], [101.0, 102.0, 103.0], False),
    ],
)
def test_failures_right_after_a_change_where_there_were_none(before: list[float], after: list[float], broke: bool) -> None:
    """Three within 10 s, and none in the 60 s before, are the change's doing; lines may come out of order."""
    one = Aftermath()
    for at in before:
        one.note(at)
    one.applied(100.0)
    for at in reversed(after):
        one.note(at)
    assert one.broke() is broke
    one.forget()
    assert not one.broke()


def test_many_at_once_are_as_many() -> None:
    """A count of three is three failures."""
    one = Aftermath()
    one.note(5.0, 1000)
    assert not one.broke()
    one.applied(100.0)
    one.note(101.0, 2)
    assert not one.broke()
    one.note(101.0, 1)
    assert one.broke()
