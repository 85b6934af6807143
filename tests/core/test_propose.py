"""From measures to thresholds, and the rules with another threshold in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.measure import OTHER_PATHS, Measure, Measuring, Place, shape
from tailhealth.core.model import Attempt, End, Kind, Outcome, Verdict
from tailhealth.core.propose import FEW, MARGIN, candidates, propose, threshold
from tailhealth.core.rules import BadRules, PoolRules, Route, Settings, Yardstick
from tailhealth.core.spread import Spread
from tailhealth.core.variants import neutral, unguarded, with_slower_than

GOOD = Outcome(Verdict.GOOD)
ALL = Place("log", None, upload=False)


def attempt(seconds: float | None, path: str = "/a", **more: object) -> Attempt:
    """Make an attempt with this header time."""
    values: dict[str, object] = {"end": End.ANSWERED, "status": 200, "header_came": True, "duration": seconds, "uri": path}
    return Attempt(ended=100.0, upstream="10.0.0.1:80", started=90.0, header=seconds, **(values | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("longest", "proposed"),
    [(0.2, 0.5), (0.25, 0.5), (0.251, 1.0), (59.9991, 120.0), (60.0, 120.0), (60.1, 180.0), (1800.0, 3600.0), (1801.0, 7200.0)],
)
def test_a_threshold_is_round_and_twice_the_longest(longest: float, proposed: float) -> None:
    """Both sides of the boundary: exactly twice the longest is enough."""
    assert threshold(longest) == proposed


@given(st.floats(0.0001, 50_000.0))
def test_no_threshold_is_below_its_margin(longest: float) -> None:
    """Whatever was measured, the margin is kept."""
    assert threshold(longest) >= MARGIN * longest * 0.999999


def test_too_few_answers_give_no_proposal() -> None:
    """One fewer than enough gives none, enough gives one, uploads never."""
    few, enough, upload = Measure(), Measure(), Measure()
    for number in range(FEW):
        enough.spread.add(1.0)
        upload.spread.add(1.0)
        if number:
            few.spread.add(1.0)
    places = {Place("few", None, upload=False): few, ALL: enough, Place("log", None, upload=True): upload}

    assert propose(places) == {ALL: 2.0}


def test_candidates_lie_among_the_healthy_answers() -> None:
    """What is tried lies between a third of the usual answer and the longest, and is not too much."""
    spread = Spread()
    for number in range(10, 61):
        spread.add(float(number))

    assert candidates(spread) == [15.0, 20.0, 30.0, 45.0, 60.0]
    assert candidates(Spread()) == []


# Measuring


def test_healthy_answers_are_measured_by_place() -> None:
    """Routes and uploads stand apart; what is bad, ignored or of an ignored route is not healthy."""
    routes = (Route(Yardstick(), paths=("/slow/*",)),)
    measuring = Measuring(Settings(default=PoolRules(bad=BadRules(routes=routes))))
    for one, outcome in [
        (attempt(1.0), GOOD),
        (attempt(9.0, "/slow/1"), GOOD),
        (attempt(30.0, body_bytes=1 << 20), GOOD),
        (attempt(0.1), Outcome(Verdict.BAD, Kind.STATUS)),
        (attempt(0.1), Outcome(Verdict.IGNORED, Kind.ROUTE)),
        (attempt(None, end=End.ABANDONED, duration=70.0), Outcome(Verdict.BAD, Kind.ABANDONED)),
        (attempt(None, end=End.TIMED_OUT, duration=40.0), Outcome(Verdict.BAD, Kind.TIMED_OUT)),
        (attempt(None, stream=True), GOOD),
    ]:
        measuring.observe(one, "log", one.upstream, outcome)

    places = measuring.places
    assert {place: measure.spread.longest for place, measure in places.items()} == {
        ALL: 1.0,
        Place("log", 0, upload=False): 9.0,
        Place("log", None, upload=True): 30.0,
    }
    assert (places[ALL].abandoned.longest, places[ALL].timed_out.longest, places[ALL].unknown) == (70.0, 40.0, 1)
    assert places[ALL].longest == (1.0, 100.0, "10.0.0.1:80")


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/api/chat", "/api/chat"),
        ("/item/17", "/item/*"),
        ("/x/0a1b2c3d", "/x/*"),
        ("/x/0a1b2c3", "/x/0a1b2c3"),
        ("/" + "y" * 25, "/*"),
    ],
)
def test_paths_of_one_kind_are_one(path: str, pattern: str) -> None:
    """Numbers, long hexadecimal names and long segments are told apart from words."""
    assert shape(path) == pattern


def test_paths_are_bounded() -> None:
    """However many paths a client asks for, some are measured apart and the rest is one."""
    measure = Measure()
    for number in range(1000):
        measure.add(attempt(1.0, f"/word{number}"), "10.0.0.1:80", 1.0)

    assert len(measure.paths) == 65
    assert measure.paths[OTHER_PATHS].count == 1000 - 64


# Rules with something else in them


def test_neutral_rules_judge_no_latency_and_eject_nothing() -> None:
    """In the default, in routes and in pools with a table of their own."""
    routes = (Route(Yardstick(slower_than=1.0, total_slower_than=2.0)),)
    found = neutral(Settings(pools={"a": PoolRules(bad=BadRules(routes=routes))}))

    for rules in (found.default, found.rules("a")):
        yardsticks = [rules.bad.default, *(route.yardstick for route in rules.bad.routes)]
        assert {(one.slower_than, one.total_slower_than) for one in yardsticks} == {(None, None)}
        assert (rules.bad.stalled_after, rules.guard.max_ejected) == (None, 0.0)


def test_without_guards_only_the_last_one_stays() -> None:
    """No peers, no list, no share, no pause: a threshold alone."""
    guard = unguarded(Settings()).default.guard

    assert (guard.common_cause, guard.max_ejected, guard.min_serving, guard.settle, guard.protected) == (
        False,
        None,
        1,
        0.0,
        (),
    )


def test_what_depends_on_slower_than_follows() -> None:
    """Half of it and the greatest of the pool follow where they were defaults; what was set by hand stays."""
    routes = (Route(Yardstick(slower_than=10.0, abandoned_after=5.0)), Route(Yardstick(slower_than=10.0, abandoned_after=1.0)))
    before = Settings(default=PoolRules(bad=BadRules(Yardstick(), routes, stalled_after=120.0)))
    bad = with_slower_than(before, {("log", None): 40.0, ("log", 0): 60.0, ("log", 1): 20.0}).rules("log").bad

    assert (bad.default.slower_than, bad.default.abandoned_after) == (40.0, 20.0)
    assert [(one.yardstick.slower_than, one.yardstick.abandoned_after) for one in bad.routes] == [(60.0, 30.0), (20.0, 1.0)]
    assert bad.stalled_after == 60.0
    assert with_slower_than(before, {("log", None): 40.0}).rules("other") == before.default


def test_stalled_after_that_was_set_stays() -> None:
    """A value that is not the greatest of the thresholds is the operator's own."""
    before = Settings(default=PoolRules(bad=BadRules(stalled_after=300.0)))

    assert with_slower_than(before, {("log", None): 40.0}).rules("log").bad.stalled_after == 300.0
