"""Header times by bucket: bounds on both sides, and nothing counted that is no judgement of an upstream."""

from __future__ import annotations

from math import fsum, inf, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import Kind, Outcome, Verdict
from tailhealth.service.header_times import BOUNDS, HeaderTimes, Histograms
from tests.views.build import GOOD, T0, A, B, attempt, bad

IGNORED = Outcome(Verdict.IGNORED, Kind.BUSY)


def seen(*headers: float | None, outcome: Outcome = GOOD) -> tuple[HeaderTimes, ...]:
    """Return the histograms of attempts with these header times."""
    histograms = Histograms()
    for header in headers:
        histograms.observe(attempt(T0, header), "chat", A, outcome)
    return histograms.all()


@pytest.mark.parametrize(("index", "bound"), list(enumerate(BOUNDS)))
def test_a_bound_belongs_to_its_bucket(index: int, bound: float) -> None:
    """A time equal to a bound is in its bucket (`le`), the next greater one in the bucket after it."""
    (at,) = seen(bound)
    (above,) = seen(nextafter(bound, inf))

    assert at.counts[index] == 1
    assert above.counts[index + 1] == 1


def test_bounds_grow() -> None:
    """Prometheus wants them sorted; the longest holds the answers of a slow inference server."""
    assert list(BOUNDS) == sorted(set(BOUNDS))
    assert BOUNDS[-1] >= 600


@given(st.lists(st.floats(0.0, 2000.0), min_size=1))
def test_nothing_is_lost(headers: list[float]) -> None:
    """The buckets together hold every attempt, and the sum is that of their times."""
    (one,) = seen(*headers)

    assert sum(one.counts) == len(headers)
    assert len(one.counts) == len(BOUNDS) + 1
    assert one.total == pytest.approx(fsum(headers))


def test_bad_ones_count_too() -> None:
    """A slow answer is bad and is what the histogram is there for."""
    (one,) = seen(200.0, outcome=bad(Kind.SLOW))

    assert sum(one.counts) == 1


def test_what_has_no_header_or_is_ignored_does_not_count() -> None:
    """An attempt without a header has no header time, and an ignored one says nothing about the upstream."""
    assert seen(None, outcome=bad(Kind.ABANDONED)) == ()
    assert seen(0.2, outcome=IGNORED) == ()


def test_pools_and_upstreams_apart() -> None:
    """An address in two pools has a histogram in each."""
    histograms = Histograms()
    for pool, upstream in (("chat", A), ("chat", B), ("embed", A), ("chat", A)):
        histograms.observe(attempt(T0, 1.0, upstream), pool, upstream, GOOD)

    assert {(one.pool, one.upstream): sum(one.counts) for one in histograms.all()} == {
        ("chat", A): 2,
        ("chat", B): 1,
        ("embed", A): 1,
    }
