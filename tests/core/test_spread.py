"""Percentiles in bounded memory: as good as sorted lists, within one per cent."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.spread import Spread

DURATIONS = st.lists(st.floats(0.0005, 5000.0), min_size=1, max_size=200)


def spread(durations: list[float]) -> Spread:
    """Take durations."""
    found = Spread()
    for one in durations:
        found.add(one)
    return found


@given(DURATIONS, st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_that_of_the_sorted_list(durations: list[float], share: float) -> None:
    """At most one per cent lies between the bucket's middle and the true value."""
    exact = sorted(durations)[max(1, ceil(share * len(durations))) - 1]

    assert spread(durations).percentile(share) == pytest.approx(exact, rel=0.0101)


@given(DURATIONS)
def test_the_extremes_are_exact(durations: list[float]) -> None:
    """The longest and the shortest are no bucket's matter, and no percentile leaves them."""
    found = spread(durations)

    assert (found.count, found.longest, found.shortest) == (len(durations), max(durations), min(durations))
    assert found.shortest <= found.percentile(0.01) <= found.percentile(0.5) <= found.percentile(1.0) <= found.longest


def test_nothing_has_no_percentile() -> None:
    """Without a duration all is 0."""
    assert (spread([]).percentile(0.5), spread([]).share_from(1.0), spread([]).longest) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(("seconds", "share"), [(0.5, 1.0), (1.0, 1.0), (1.5, 0.75), (3.0, 0.5), (10.0, 0.25), (10.1, 0.0)])
def test_the_share_that_reaches_a_value(seconds: float, share: float) -> None:
    """Both sides of the shortest and of the longest; equal counts as reached."""
    assert spread([1.0, 2.0, 5.0, 10.0]).share_from(seconds) == share


def test_memory_does_not_grow_with_the_number() -> None:
    """A hundred thousand durations between 1 ms and an hour share some 1500 buckets."""
    found = spread([0.001 * 1.00015**number for number in range(100_000)])

    assert len(found._buckets) <= 1600
