"""Rolling numbers: what they say, how exact they are, and that they stay small."""

from __future__ import annotations

import math
import random
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import Attempt, End, Kind, Outcome, Verdict
from tailhealth.views.stats import LIMIT, SPAN, TICK, TICKS, Stats, StatsView, UpstreamStats
from tests.views.build import GOOD, T0, A, B, attempt, bad

START = T0 - T0 % 15
"""A moment at which a slice and a tick begin."""


def fed(*noted: tuple[Attempt, Outcome]) -> Stats:
    """Make stats that saw these attempts in pool `log`."""
    stats = Stats()
    for one, outcome in noted:
        stats.observe(one, "log", one.upstream, outcome)
    return stats


def only(shown: StatsView) -> UpstreamStats:
    """Return the one upstream that is shown."""
    (one,) = shown.upstreams
    return one


def test_counts_and_shares_by_kind() -> None:
    """Good, bad by kind and ignored attempts are counted apart, and the share is that of the counted ones."""
    seen = [(attempt(START + 1), GOOD)] * 6 + [(attempt(START + 2, None), bad(Kind.ABANDONED))] * 2
    seen += [(attempt(START + 3), bad(Kind.STATUS)), (attempt(START + 4), Outcome(Verdict.IGNORED, Kind.BUSY))]
    one = only(fed(*seen).snapshot(START + 5))

    assert (one.attempts, one.good, one.bad, one.ignored) == (10, 6, {"abandoned": 2, "status": 1}, 1)
    assert one.bad_total == 3
    assert one.bad_share == pytest.approx(3 / 9)


def test_nothing_counted_has_no_share() -> None:
    """An upstream of which everything was ignored has no share of bad ones, and one without headers no percentiles."""
    one = only(fed((attempt(START, None), Outcome(Verdict.IGNORED, Kind.ABANDONED_EARLY))).snapshot(START + 1))

    assert one.bad_share is None
    assert (one.p50, one.p95, one.p99) == (None, None, None)


@given(st.lists(st.floats(0.0015, 3000), min_size=1, max_size=300))
def test_percentiles_are_off_by_less_than_a_fifth(headers: list[float]) -> None:
    """Each shown percentile is within a fifth of the exact one."""
    one = only(fed(*((attempt(START, header), GOOD) for header in headers)).snapshot(START + 1))
    for shown, share in ((one.p50, 0.5), (one.p95, 0.95), (one.p99, 0.99)):
        exact = sorted(headers)[max(1, math.ceil(share * len(headers))) - 1]
        assert shown is not None
        assert exact / 1.2 < shown < exact * 1.2


@pytest.mark.parametrize("header", [0.0, -1.0, 1e-9, 1e9])
def test_times_out_of_range_are_kept_in_the_outermost_buckets(header: float) -> None:
    """A header time that is too small or too large for the histogram is no error."""
    one = only(fed((attempt(START, header), GOOD)).snapshot(START + 1))

    assert one.p50 is not None


def test_rate_is_that_of_the_last_ticks() -> None:
    """Ten attempts a second are shown as such, also right after a beginning and after a pause."""
    stats = Stats()
    for index in range(1200):
        stats.observe(attempt(START + index / 10), "log", A, GOOD)
    assert only(stats.snapshot(START + 119.95)).rate == pytest.approx(10, rel=0.02)
    assert only(stats.snapshot(START + 200)).rate == 0

    fresh = fed(*((attempt(START + index / 10), GOOD) for index in range(100)))
    assert only(fresh.snapshot(START + 9.95)).rate == pytest.approx(10, rel=0.02)


def test_a_silent_upstream_is_left_out_after_the_span() -> None:
    """On one side of the span it is shown, on the other it is gone."""
    stats = fed((attempt(START), GOOD))

    assert only(stats.snapshot(START + SPAN - 0.001)).longest[0] == pytest.approx(0.2)
    assert stats.snapshot(START + SPAN).upstreams == ()


def test_old_numbers_are_replaced() -> None:
    """After the span only what came since counts, though the slots are the same."""
    stats = fed(*((attempt(START + index), GOOD) for index in range(60)))
    stats.observe(attempt(START + SPAN + 60, None), "log", A, bad(Kind.ABANDONED))
    one = only(stats.snapshot(START + SPAN + 60))

    assert (one.good, one.bad) == (0, {"abandoned": 1})


def test_an_attempt_older_than_the_span_is_dropped() -> None:
    """A line that comes so late that its slot holds a newer time does not disturb it."""
    stats = fed((attempt(START + SPAN), GOOD), (attempt(START + 2 * TICK), GOOD), (attempt(START), bad(Kind.SLOW)))

    assert only(stats.snapshot(START + SPAN + 1)).attempts == 1


def test_the_sparkline_shows_the_longest_wait_per_tick() -> None:
    """The newest tick stands last; a wait that nobody answered counts; a tick without attempts is None."""
    stats = fed((attempt(START, 1.0), GOOD), (attempt(START, 3.0), GOOD), (attempt(START + TICK, None), bad(Kind.ABANDONED)))
    longest = only(stats.snapshot(START + 2 * TICK)).longest

    assert len(longest) == TICKS
    assert list(longest[-3:]) == [3.0, 5.0, None]


def test_a_body_that_took_long_is_no_wait() -> None:
    """An answered attempt without a header time shows no wait, since its duration may be a stream's."""
    stream = attempt(START, None, end=End.ANSWERED, header_came=None, status=200, stream=True, duration=600.0)
    one = only(fed((stream, GOOD)).snapshot(START + 1))

    assert one.longest[-1] == 0.0
    assert one.p50 is None


def test_probe_paths_do_not_dilute() -> None:
    """Attempts on ignored routes count for the rate and not for the percentiles."""
    probes = [(attempt(START, 0.001), Outcome(Verdict.IGNORED, Kind.ROUTE))] * 50
    one = only(fed(*probes, (attempt(START, 10.0), GOOD)).snapshot(START + 1))

    assert one.p50 == pytest.approx(10, rel=0.2)
    assert one.rate == pytest.approx(51 / TICK)


def test_pools_are_kept_apart() -> None:
    """An address in two pools has two rows, and each is found by its pool and name."""
    stats = fed((attempt(START), GOOD))
    stats.observe(attempt(START), "other", A, bad(Kind.SLOW))
    shown = stats.snapshot(START + 1)

    assert [(one.pool, one.good) for one in shown.upstreams] == [("log", 1), ("other", 0)]
    found = shown.find("other", A)
    assert found is not None
    assert found.bad == {"slow": 1}
    assert shown.find("other", B) is None


def test_a_very_busy_upstream_is_counted_on() -> None:
    """Beyond what the small numbers of a slice can hold, with nothing lost."""
    stats = Stats()
    for _ in range(65_600):
        stats.observe(attempt(START, 0.2), "log", A, GOOD)
    stats.observe(attempt(START, 30.0), "log", A, GOOD)
    one = only(stats.snapshot(START + 1))

    assert one.good == 65_601
    assert one.p99 == pytest.approx(0.2, rel=0.2)


def test_an_upstream_takes_ten_kilobytes() -> None:
    """When it was busy for the whole span, and nothing failed."""
    tracemalloc.start()
    try:
        stats = Stats()
        for second in range(int(SPAN)):
            for name in range(20):
                stats.observe(attempt(START + second, 0.2 + second / 100), "log", str(name), GOOD)
        whole = tracemalloc.get_traced_memory()[0]
        del stats
        assert (whole - tracemalloc.get_traced_memory()[0]) / 20 < 10_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("apart", [0.0, TICK])
def test_memory_is_bounded_by_the_number_of_upstreams(apart: float) -> None:
    """A log that names ever new upstreams makes the longest silent ones go; the newest is always there."""
    stats = Stats()
    for index in range(LIMIT + 500):
        ended = START + apart * index
        stats.observe(attempt(ended, upstream=str(index)), "log", str(index), GOOD)
        if index % 1000 == 0:
            assert stats.snapshot(ended).find("log", str(index)) is not None

    assert sum(len(rows) for rows in stats._rows.values()) <= LIMIT


def test_the_view_survives_json() -> None:
    """What goes over the control socket comes back the same."""
    rng = random.Random(7)
    seen = [
        (attempt(START + index, rng.expovariate(1), rng.choice([A, B])), rng.choice([GOOD, bad(Kind.SLOW)]))
        for index in range(200)
    ]
    shown = fed(*seen).snapshot(START + 200)

    assert msgspec.json.decode(msgspec.json.encode(shown), type=StatsView) == shown


@given(st.lists(st.tuples(st.floats(0, 4 * SPAN), st.sampled_from([A, B])), max_size=80), st.randoms(use_true_random=False))
def test_the_order_of_fresh_attempts_does_not_matter(seen: list[tuple[float, str]], rng: random.Random) -> None:
    """Attempts within the last span may come in any order."""
    last = START + max((at for at, _ in seen), default=0.0)
    fresh = [(attempt(START + at, upstream=name), GOOD) for at, name in seen if START + at > last - SPAN + 3 * TICK]
    shuffled = rng.sample(fresh, len(fresh))
    one, other = fed(*fresh).snapshot(last), fed(*shuffled).snapshot(last)

    assert {row.upstream: row for row in one.upstreams} == {row.upstream: row for row in other.upstreams}
