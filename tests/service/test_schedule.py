"""When to read and to change, on both sides of each boundary."""

from __future__ import annotations

import pytest

from tailhealth.config import parse
from tailhealth.service.schedule import LONGEST_RETRY, ApplyRules, Schedule


def started(**rules: float) -> Schedule:
    """A schedule whose first reading was at 100."""
    one = Schedule(ApplyRules(**rules))
    assert one.due() < 0
    one.read(100.0)
    return one


def test_nothing_but_the_slow_poll() -> None:
    """Where nothing happens the proxy is read once per `drift_poll`."""
    assert started(drift_poll=60.0).due() == 160.0


def test_what_is_desired_waits_for_what_falls_together_with_it() -> None:
    """The first wish sets the time, later ones join it."""
    one = started(coalesce=0.25)
    one.want(110.0)
    one.want(110.2)
    assert one.due() == 110.25
    one.read(110.25)
    assert one.due() == 170.25


def test_changes_keep_their_distance() -> None:
    """A wish right after a change waits for `min_apply_interval`."""
    one = started(min_apply_interval=2.0)
    one.applied(110.0)
    one.want(110.5)
    assert one.due() == 112.0
    assert not one.may_apply(111.999, urgent=True)
    assert one.may_apply(112.0, urgent=True)


def test_a_change_that_has_to_wait_becomes_due() -> None:
    """What a poll finds to do too early is done as soon as it may be."""
    one = started(min_apply_interval=2.0)
    one.applied(110.0)
    one.read(111.0)
    assert not one.may_apply(111.0, urgent=True)
    assert one.due() == 112.0


def test_lifting_waits_ten_times_as_long() -> None:
    """A lift alone is made after 10 x `min_apply_interval`, however often it is looked at."""
    one = started(min_apply_interval=2.0)
    one.read(110.0)
    assert not one.may_apply(110.0, urgent=False)
    one.read(115.0)
    assert not one.may_apply(115.0, urgent=False)
    assert one.due() == 130.0
    assert not one.may_apply(129.9, urgent=False)
    assert one.may_apply(130.0, urgent=False)
    one.nothing_to_lift()
    assert one.due() == 175.0


def test_looks_are_at_most_one_a_second() -> None:
    """However many attempts ask for a look."""
    one = started()
    one.look()
    assert one.due() == 101.0
    one.read(101.0)
    assert one.due() == 161.0


def test_failures_pause_longer_and_longer() -> None:
    """The first retry is quick, then pauses double up to a minute; one success starts anew."""
    one = started()
    pauses = []
    for _ in range(10):
        one.failed(200.0)
        pauses.append(one.due() - 200.0)
    assert pauses == pytest.approx([0.1, 1, 2, 4, 8, 16, 32, 60, 60, LONGEST_RETRY])
    one.want(150.0)
    assert one.due() == 260.0
    one.well()
    one.failed(300.0)
    assert one.due() == pytest.approx(300.1)


def test_what_only_people_can_mend_is_looked_at_slowly() -> None:
    """No hammering at an admin interface that turns us away."""
    one = started(drift_poll=60.0)
    one.hopeless(200.0)
    one.want(200.0)
    assert one.due() == 260.0


@pytest.mark.parametrize(
    ("cuts", "switched", "longer", "pause"),
    [(True, True, 30.0, 30.0), (False, True, 30.0, 2.0), (True, False, 30.0, 2.0), (True, True, None, 2.0)],
)
def test_fewer_changes_where_each_one_closes_websockets(cuts: bool, switched: bool, longer: float | None, pause: float) -> None:
    """Thirty seconds between changes where websockets were seen and would be closed, unless the operator chose the pause."""
    one = Schedule(ApplyRules(switched_interval=longer))
    one.cuts_streams, one.switched = cuts, switched
    one.read(100.0)
    one.applied(100.0)
    one.want(101.0)

    assert one.due() == 100.0 + pause
    assert not one.may_apply(100.0 + pause - 0.1, urgent=True)
    assert one.may_apply(100.0 + pause, urgent=True)


def test_a_pause_that_the_operator_chose_stays() -> None:
    """Only the default pause grows where websockets are seen."""
    assert ApplyRules.of(parse(b"").proxy).switched_interval == 30.0
    assert ApplyRules.of(parse(b'[proxy]\nmin_apply_interval = "5s"').proxy).switched_interval is None
