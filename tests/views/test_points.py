"""Which points of a log are kept for the report."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import Attempt, End, Kind, Outcome, Verdict
from tailhealth.core.rules import Settings
from tailhealth.views.points import MOST_ROUTES, Key, Points, Shown, waited
from tests.views.build import GOOD, T0, A, B, attempt, bad


def fed(attempts: list[tuple[Attempt, Outcome]], most: int = 1000) -> Points:
    """Feed attempts at A."""
    points = Points(Settings(), most)
    for one, outcome in attempts:
        points.observe(one, "log", A, outcome)
    return points


@pytest.mark.parametrize(
    ("one", "height"),
    [
        (attempt(T0, 0.2), (0.2, Shown.HEADER)),
        (attempt(T0, None), (5.0, Shown.AT_LEAST)),
        (attempt(T0, None, end=End.ANSWERED, header_came=None, duration=7.0), (7.0, Shown.TOTAL)),
        (attempt(T0, None, end=End.ANSWERED, header_came=None, duration=7.0, own_duration=6.0), (6.0, Shown.HEADER)),
        (attempt(T0, None, duration=None), (0.0, Shown.UNKNOWN)),
    ],
)
def test_what_the_height_of_a_point_is(one: Attempt, height: tuple[float, Shown]) -> None:
    """A header time where there is one, else a wait as a lower bound, else the whole duration, else nothing."""
    assert waited(one) == height


@given(st.lists(st.tuples(st.floats(0.001, 100.0), st.sampled_from(["good", "bad", "busy"])), max_size=300), st.integers(3, 40))
def test_every_bad_one_is_kept(some: list[tuple[float, str]], most: int) -> None:
    """However little room there is, bad ones are all there; of each other kind at least the slowest, and all are counted."""
    outcomes = {"good": GOOD, "bad": bad(Kind.SLOW), "busy": Outcome(Verdict.IGNORED, Kind.BUSY)}
    series = fed([(attempt(T0 + n, seconds), outcomes[what]) for n, (seconds, what) in enumerate(some)], most).series()
    kept = {key.verdict: one for key, one in series.items()}

    for verdict, what in ((Verdict.BAD, "bad"), (Verdict.GOOD, "good"), (Verdict.IGNORED, "busy")):
        seconds = [one for one, own in some if own == what]
        if not seconds:
            assert verdict not in kept
        elif verdict is Verdict.BAD:
            assert list(kept[verdict].seconds) == pytest.approx(seconds)
        else:
            assert kept[verdict].seen == len(seconds)
            assert max(kept[verdict].seconds) == pytest.approx(max(seconds))
            assert len(kept[verdict]) <= 2 * max(most, 4)


def test_thinning_keeps_the_first_and_the_slowest_of_each_run() -> None:
    """Eight in room for four: of each two in a row both are kept, of more the first and the slowest."""
    seconds = [1.0, 2.0, 1.0, 9.0, 1.0, 3.0, 4.0, 1.0, 1.0]
    found = fed([(attempt(T0 + n, one), GOOD) for n, one in enumerate(seconds)], most=4)
    (series,) = found.series().values()

    assert found.longest_run == 4
    assert [(at - T0, one) for at, one in zip(series.endings, series.seconds, strict=True)] == [
        *((0.0, 1.0), (3.0, 9.0)),
        *((4.0, 1.0), (6.0, 4.0)),
        (8.0, 1.0),
    ]


def test_the_same_input_keeps_the_same_points() -> None:
    """Thinning throws no dice."""
    attempts = [(attempt(T0 + n, 1.0 + n * 7 % 13), GOOD) for n in range(1000)]
    first, second = (fed(attempts, most=50).series() for _ in range(2))

    assert [list(one.endings) for one in first.values()] == [list(one.endings) for one in second.values()]


def test_room_is_shared_by_the_fullest() -> None:
    """A busy upstream is thinned before a quiet one loses a point."""
    points = Points(Settings(), 100)
    for n in range(1000):
        points.observe(attempt(T0 + n, 1.0), "log", A, GOOD)
        if n % 100 == 0:
            points.observe(attempt(T0 + n, 1.0, upstream=B), "log", B, GOOD)
    kept = {key.upstream: one for key, one in points.series().items()}

    assert len(kept[B]) == 10
    assert len(kept[A]) <= 200


def test_many_upstreams_of_one_attempt_each_cost_no_more() -> None:
    """More series than there is room for: each keeps its point, and nothing is searched for ever."""
    points = Points(Settings(), 10)
    for n in range(200):
        points.observe(attempt(T0 + n, 1.0), "log", f"10.0.0.{n}:80", GOOD)

    assert len(points.series()) == 200


def test_what_did_not_count_is_judged_all_the_same() -> None:
    """An attempt that began while its upstream was out shows its own kind, and that it did not count."""
    outcome = Outcome(Verdict.IGNORED, Kind.WHILE_OUT)
    keys = set(fed([(attempt(T0, 0.2), outcome), (attempt(T0, 0.2, status=500), outcome)]).series())

    assert keys == {
        Key("log", A, Verdict.GOOD, "good", "while_out", Shown.HEADER),
        Key("log", A, Verdict.BAD, "status", "while_out", Shown.HEADER),
    }


def test_routes_of_bad_attempts_are_named_without_queries() -> None:
    """Method and path, made harmless, cut, and only so many."""
    paths = ["/a?token=1", "/a?token=2", "/b\x1b[2J", "/" + "c" * 200]
    points = fed([(attempt(T0, 0.1, method="POST", uri=one), bad(Kind.STATUS)) for one in paths])

    assert points.routes[:3] == ["", "POST /a", r"POST /b\x1b[2J"]
    assert len(points.routes[3]) == len("POST ") + 100
    (series,) = points.series().values()
    assert list(series.routes) == [1, 1, 2, 3]


def test_routes_are_bounded() -> None:
    """A client that asks for any number of paths fills no memory; the rest goes unnamed."""
    numbers = count()
    points = fed([(attempt(T0, 0.1, uri=f"/{next(numbers)}"), bad(Kind.STATUS)) for _ in range(MOST_ROUTES + 50)])

    assert len(points.routes) == MOST_ROUTES
    (series,) = points.series().values()
    assert list(series.routes)[-1] == 0
