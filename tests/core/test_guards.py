"""The guards in their order, each with its reason (DESIGN section 7)."""

from __future__ import annotations

import pytest

from tailhealth.core.model import Action, Carried, PoolMember, Reason, Source, Started, Verb
from tailhealth.core.rules import EjectRules, GuardRules, WindowRules
from tests.core.harness import POOL, Story, clock, pool, rules

EJECT, READMIT, WITHHELD, RECOVERED = Action.EJECT, Action.READMIT, Action.WITHHELD, Action.RECOVERED
UNGUARDED = GuardRules(common_cause=False)
FOUR = ("a", "b", "c", "d")


def test_each_guard_in_its_order() -> None:
    """Every objection is taken away one by one; the next guard in order gives its reason, at last the upstream leaves."""
    told = Story("a", "b", "c", "x", settings=rules(window=WindowRules(within=3600.0)))
    told.at("10:01:00").orders(Verb.PAUSE).goes_blind().orders(Verb.PIN_IN, "a").answers("c", times=8).fails("c", times=8)
    told.fails("a", times=8).expects(WITHHELD, "a", Reason.PAUSED)
    told.at("10:02:00").orders(Verb.RESUME).fails("a").expects(WITHHELD, "a", Reason.BLIND)
    told.at("10:03:00").sees_again().expects(WITHHELD, "a", Reason.PINNED)
    told.orders(Verb.EJECT, "b").expects(EJECT, "b", Reason.OPERATOR).orders(Verb.EJECT, "x")
    told.expects(EJECT, "x", Reason.OPERATOR)
    told.at("10:04:00").orders(Verb.UNPIN, "a").expects(WITHHELD, "a", Reason.MAX_EJECTED)
    told.at("10:05:00").orders(Verb.READMIT, "x").expects(READMIT, "x", Reason.OPERATOR)
    told.expects(WITHHELD, "a", Reason.COMMON_CAUSE)
    told.at("10:05:30").orders(Verb.READMIT, "b").expects(READMIT, "b", Reason.OPERATOR)
    told.at("10:06:01").orders(Verb.EJECT, "x").expects(EJECT, "x", Reason.OPERATOR).answers("c", times=40)
    told.fails("a", times=8).expects(WITHHELD, "a", Reason.SETTLE)
    told.at("10:06:11").expects(EJECT, "a", Reason.RATIO).expects_nothing()


def test_protected_comes_after_pinned_and_before_the_caps() -> None:
    """An upstream of the list is never ejected; the pin is asked first."""
    told = Story("a", settings=rules(guard=GuardRules(protected=("a*",)))).orders(Verb.PIN_IN, "a")
    told.fails("a", times=4).expects(WITHHELD, "a", Reason.PINNED)
    told.at("10:00:05").orders(Verb.UNPIN, "a").expects(WITHHELD, "a", Reason.PROTECTED)


def test_backups_are_not_ejected_unless_listed() -> None:
    """A backup stands apart, and counts neither as a primary."""
    spec = (PoolMember("a"), PoolMember("b", backup=True))
    Story(*spec).fails("b", times=9).expects(WITHHELD, "b", Reason.PROTECTED).expects_nothing()
    Story(*spec, settings=rules(guard=UNGUARDED)).fails("a", times=4).expects(WITHHELD, "a", Reason.MAX_EJECTED)

    listed = rules(guard=UNGUARDED, backups=frozenset({"b"}))
    Story(*spec, settings=listed).fails("b", times=4).expects(EJECT, "b", Reason.RATIO)


def test_what_can_not_be_acted_on_is_never_ejected() -> None:
    """An ambiguous name or a dynamic upstream gets no ejection that could not be applied."""
    told = Story(PoolMember("a", actionable=False), "b", settings=rules(guard=UNGUARDED))
    told.fails("a", times=4).expects(WITHHELD, "a", Reason.PROTECTED)


def test_max_ejected_of_four() -> None:
    """Half of four may be out, the third stays in."""
    told = Story(
        *FOUR, settings=rules(guard=GuardRules(common_cause=False, settle=0.0), eject=EjectRules(base=300.0, jitter=0.0))
    )
    told.fails("a", times=4).expects(EJECT, "a", Reason.RATIO).fails("b", times=4).expects(EJECT, "b", Reason.RATIO)
    told.fails("c", times=4).expects(WITHHELD, "c", Reason.MAX_EJECTED)


def test_what_the_proxy_holds_down_counts_as_out() -> None:
    """Two of four held down by the proxy's own checks leave no room."""
    down = [PoolMember(name, held_down=True) for name in ("c", "d")]
    told = Story("a", "b", *down, settings=rules(guard=UNGUARDED))
    told.fails("a", times=4).expects(WITHHELD, "a", Reason.MAX_EJECTED)

    one_down = Story("a", "b", "c", down[1], settings=rules(guard=UNGUARDED))
    one_down.fails("a", times=4).expects(EJECT, "a", Reason.RATIO)


def test_min_serving_asks_for_weight() -> None:
    """An upstream with weight 0 serves nobody."""
    told = Story("a", PoolMember("b", weight=0), settings=rules(guard=UNGUARDED))
    told.fails("a", times=4).expects(WITHHELD, "a", Reason.MIN_SERVING)
    story = Story("a", PoolMember("b", weight=1), settings=rules(guard=UNGUARDED))
    story.fails("a", times=4).expects(EJECT, "a", Reason.RATIO)


def test_a_lone_upstream_is_never_ejected() -> None:
    """One of one is more than half."""
    Story("a").refuses("a", times=9).expects(WITHHELD, "a", Reason.MAX_EJECTED).expects_nothing()


@pytest.mark.parametrize(("settled", "reason"), [(9.9375, Reason.SETTLE), (10.0, None)])
def test_settle_on_both_sides(settled: float, reason: Reason | None) -> None:
    """Until exactly `settle` after the pool's last ejection the next trip waits."""
    told = Story(*FOUR, settings=rules(guard=UNGUARDED))
    told.at(0.0).fails("a", times=4).expects(EJECT, "a", Reason.RATIO).at(settled).fails("b", times=4)
    if reason is None:
        told.expects(EJECT, "b", Reason.RATIO)
    else:
        told.expects(WITHHELD, "b", reason).at(10.0).expects(EJECT, "b", Reason.RATIO, at="10:00:10")


def test_settle_begins_with_an_operators_ejection_too() -> None:
    """The load redistributes whoever took the upstream out."""
    told = Story(*FOUR, settings=rules(guard=UNGUARDED)).orders(Verb.EJECT, "a").expects(EJECT, "a", Reason.OPERATOR)
    told.at("10:00:09").fails("b", times=4).expects(WITHHELD, "b", Reason.SETTLE)


def test_a_settled_trip_is_judged_as_of_that_moment() -> None:
    """What recovered meanwhile is not ejected when the time is over."""
    told = Story(*FOUR, settings=rules(guard=UNGUARDED)).fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:02").fails("b", times=4).expects(WITHHELD, "b", Reason.SETTLE)
    told.at("10:00:03").answers("b", times=9).at("10:00:05").answers("b").expects(
        RECOVERED, "b", Reason.CLEARED, source=Source.POLICY
    )
    told.at("10:00:20").expects_nothing()


def two(**guard: object) -> Story:
    """Return a pool of two with a record; `a` is out for four minutes since 10:00:00, `for` is one."""
    settings = rules(
        guard=GuardRules(common_cause=False, **guard),  # type: ignore[arg-type]  # keywords of GuardRules
        eject=EjectRules(base=60.0, jitter=0.0),
    )
    record = tuple(Carried(POOL, node, strikes=2, acted_at=clock(-60.0), proof_since=clock(-60.0)) for node in ("a", "b"))
    told = Story("a", "b", settings=settings, started=Started(clock(0.0), record))
    return told.fails("a", times=4).expects(EJECT, "a", Reason.RATIO, until="10:04:00", strikes=2)


def test_relief() -> None:
    """If the cap refuses, the one that is longest out comes back at once; the other can leave then."""
    told = two().at("10:00:20").refuses("b", times=2).expects(WITHHELD, "b", Reason.MAX_EJECTED)
    told.expects(READMIT, "a", Reason.RELIEF, at="10:00:20", source=Source.POLICY)
    told.expects(EJECT, "b", Reason.CONSECUTIVE_REFUSED, at="10:00:20").expects_nothing()


@pytest.mark.parametrize(("second", "again"), [("10:01:19.5", False), ("10:01:20", True)])
def test_relief_at_most_once_per_for(second: str, again: bool) -> None:
    """The pool gets no more than one relief in each `for`."""
    told = two().at("10:00:20").refuses("b", times=2).skips()
    told.at("10:00:50").fails("a").expects(WITHHELD, "a", Reason.MAX_EJECTED).at(second).expects_nothing().fails("a")

    assert again is (("b", Reason.RELIEF) in [(one.upstream, one.reason) for one in told.told])
    told.skips()


def test_only_what_the_policy_put_out_is_relieved() -> None:
    """An operator's ejection stands."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED)).orders(Verb.EJECT, "a").expects(EJECT, "a", Reason.OPERATOR)
    told.at("10:05:00").fails("b", times=9).expects(WITHHELD, "b", Reason.MAX_EJECTED).expects_nothing()


def test_relief_takes_the_longest_out() -> None:
    """Of two that are out, the one that left first comes back."""
    settings = rules(guard=GuardRules(common_cause=False, settle=0.0), eject=EjectRules(base=300.0, jitter=0.0))
    told = Story(*FOUR, settings=settings).at("10:00:01").fails("b", times=4).expects(EJECT, "b", Reason.RATIO)
    told.at("10:00:02").fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:03").fails("c", times=4).expects(WITHHELD, "c", Reason.MAX_EJECTED)
    told.expects(READMIT, "b", Reason.RELIEF).expects(EJECT, "c", Reason.RATIO)


def test_no_relief_where_another_guard_speaks_first() -> None:
    """A protected upstream that trips brings nobody back."""
    told = Story("a", "b", settings=rules(guard=GuardRules(protected=("b",), common_cause=False)))
    told.fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:20").fails("b", times=9).expects(WITHHELD, "b", Reason.PROTECTED).expects_nothing()


def test_simultaneous_trips_go_by_share_then_by_order() -> None:
    """At one moment the worst leaves first; of equals the first of the pool."""
    settings = rules(guard=GuardRules(common_cause=False, settle=10.0, max_ejected=None))
    told = Story(*FOUR, settings=settings).orders(Verb.PAUSE)
    told.at("10:00:01").answers("a").fails("a", times=3).expects(WITHHELD, "a", Reason.PAUSED)
    told.fails("c", times=4).expects(WITHHELD, "c", Reason.PAUSED).fails("b", times=4).expects(WITHHELD, "b", Reason.PAUSED)
    told.at("10:00:02").orders(Verb.RESUME).expects(EJECT, "b", Reason.RATIO)
    told.expects(WITHHELD, "c", Reason.SETTLE).expects(WITHHELD, "a", Reason.SETTLE)
    told.at("10:00:12").expects(EJECT, "c", Reason.RATIO).at("10:00:22").expects(EJECT, "a", Reason.RATIO)


def test_withheld_is_told_once_per_reason() -> None:
    """A whole pool failing is one line per upstream and reason, not one per request."""
    told = Story("a", "b")
    for second in range(1, 60):
        told.at(float(second)).fails("a", "b", times=3)
        if second == 2:
            told.skips()
    told.expects_nothing()

    assert sorted(told.decided(WITHHELD)) == ["a", "b"]


@pytest.mark.parametrize(("after", "asked"), [(0.9375, False), (1.0, True)])
def test_a_withheld_trip_is_asked_again_after_a_second(after: float, asked: bool) -> None:
    """What is held is not asked about at every line, but after a second of engine time."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED)).goes_blind(pool="other").orders(Verb.PIN_IN, "a")
    told.at(1.0).fails("a", times=4).expects(WITHHELD, "a", Reason.PINNED)
    told.engine.pools["pool"].members["a"].pinned_in = False
    told.at(1.0 + after).fails("a")

    assert asked is (told.decided(EJECT) == ["a"])
    told.skips()


def test_cleared_at_the_end_of_the_window() -> None:
    """A held trip ends when its outcomes are too old, even if nothing more comes."""
    told = Story("a").at("10:00:01").fails("a", times=4).expects(WITHHELD, "a", Reason.MAX_EJECTED)
    told.at("10:20:00").expects(RECOVERED, "a", Reason.CLEARED)

    assert 600.0 <= told.told[-1].at - told.told[0].at <= 601.0


def test_observe_decides_and_marks() -> None:
    """An observed pool gets every decision, marked as not enforced."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED, enforce=False)).fails("a", times=4)
    told.expects(EJECT, "a", Reason.RATIO, enforced=False).at("10:00:30").expects(READMIT, "a", Reason.TIMER, enforced=False)
    Story(pool("a")).fails("a", times=4).expects(WITHHELD, "a", Reason.MAX_EJECTED, enforced=True)


def two_bad_ones() -> Story:
    """Return a pool in which `a` and `d` have begun to fail, while `b` does well."""
    told = Story("a", "b", "c", "d", settings=rules(guard=GuardRules(settle=0.0))).at(10.0).answers("b", times=8)
    told.fails("a", times=4).expects(WITHHELD, "a", Reason.COMMON_CAUSE)
    return told.fails("d", times=8).expects(WITHHELD, "d", Reason.COMMON_CAUSE)


@pytest.mark.parametrize("held_down", [False, True])
def test_only_serving_peers_are_compared(held_down: bool) -> None:
    """What is out, by us or by the proxy's own checks, says nothing about what is normal now."""
    told = two_bad_ones()
    if held_down:
        told.names(pool("a", "b", "c", PoolMember("d", held_down=True)))
    else:
        told.orders(Verb.EJECT, "d").expects(EJECT, "d", Reason.OPERATOR)
    told.at(11.0).fails("a", times=4).expects_nothing().at(12.0).fails("a").expects(EJECT, "a", Reason.RATIO)


def test_the_same_peers_while_they_serve() -> None:
    """In rotation, a peer as bad as that holds the trip: the limit is a tenth."""
    two_bad_ones().at(11.0).fails("a", times=4).at(12.0).fails("a").expects_nothing()
