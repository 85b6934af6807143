"""An operator's commands (DESIGN section 7)."""

from __future__ import annotations

import pytest

from tailhealth.core.model import Action, PoolMember, Reason, Source, Verb
from tailhealth.core.rules import GuardRules
from tests.core.harness import Story, pool, rules

EJECT, READMIT, WITHHELD, RECOVERED = Action.EJECT, Action.READMIT, Action.WITHHELD, Action.RECOVERED
UNGUARDED = GuardRules(common_cause=False)
OPERATOR = Source.OPERATOR


def story(*nodes: str) -> Story:
    """Return a pool without a common cause guard."""
    return Story(*(nodes or ("a", "b")), settings=rules(guard=UNGUARDED))


def test_eject_lasts_until_readmit() -> None:
    """Without a time it stays out; the readmission skips probation."""
    told = story().orders(Verb.EJECT, "a", why="new disk")
    told.expects(EJECT, "a", Reason.OPERATOR, until=None, source=OPERATOR, strikes=0, why="new disk")
    told.at("18:00:00").orders(Verb.READMIT, "a", why="done")
    told.expects(READMIT, "a", Reason.OPERATOR, source=OPERATOR, why="done").fails("a", times=3).expects_nothing()


def test_eject_for_a_time() -> None:
    """With a time it comes back by timer, on probation, and has no strike."""
    told = story().orders(Verb.EJECT, "a", duration=90.0).expects(EJECT, "a", Reason.OPERATOR, until="10:01:30")
    told.at("10:01:29.9375").expects_nothing().at("10:01:30").expects(READMIT, "a", Reason.TIMER, strikes=0)
    told.fails("a").expects(EJECT, "a", Reason.PROBATION, until="10:02:00", strikes=0)


def test_an_order_takes_the_place_of_the_policys_ejection() -> None:
    """What the policy put out for 30 s stays out once an operator says so."""
    told = story().fails("a", times=4).expects(EJECT, "a", Reason.RATIO).orders(Verb.EJECT, "a")
    told.expects(EJECT, "a", Reason.OPERATOR).at("10:10:00").expects_nothing()


def test_readmit_clears_strikes() -> None:
    """An operator says that it is well: the next time is a first time again."""
    told = story().fails("a", times=4).expects(EJECT, "a", Reason.RATIO).at("10:00:05").orders(Verb.READMIT, "a")
    told.expects(READMIT, "a", Reason.OPERATOR, strikes=0).at("10:00:20").fails("a", times=4)
    told.expects(EJECT, "a", Reason.RATIO, strikes=0, until="10:00:50")


def test_readmit_ends_a_probation() -> None:
    """Given to an upstream that is in, it ends probation and clears the strikes."""
    told = story().fails("a", times=4).skips().at("10:00:30").expects(READMIT, "a", Reason.TIMER)
    told.orders(Verb.READMIT, "a").fails("a").expects_nothing()
    told.fails("a", times=3).expects(EJECT, "a", Reason.RATIO, strikes=0)


def test_the_operators_hand_by_api() -> None:
    """Read off the proxy's configuration, the ejection ends with a reason of its own and an empty window."""
    told = story().fails("a", times=4).skips().at("10:00:05").orders(Verb.READMIT, "a", by_config=True)
    told.expects(READMIT, "a", Reason.OPERATOR_CONFIG, source=OPERATOR).at("10:00:20").fails("a", times=3).expects_nothing()


def test_eject_refuses_to_empty_a_pool() -> None:
    """The last one that serves stays, unless forced."""
    told = story().orders(Verb.EJECT, "a").expects(EJECT, "a", Reason.OPERATOR).orders(Verb.EJECT, "b", why="w")
    told.expects(WITHHELD, "b", Reason.MIN_SERVING, source=OPERATOR, why="w")
    told.orders(Verb.EJECT, "b", force=True).expects(EJECT, "b", Reason.OPERATOR)


def test_others_that_do_not_serve_leave_a_pool_empty() -> None:
    """Weight 0 and held down by the proxy is as good as not there."""
    told = Story("a", PoolMember("b", weight=0), PoolMember("c", held_down=True)).orders(Verb.EJECT, "a")
    told.expects(WITHHELD, "a", Reason.MIN_SERVING, source=OPERATOR)


def test_a_refused_eject_leaves_the_pin() -> None:
    """What an order did not do, it did not undo either."""
    told = story("a").orders(Verb.PIN_IN, "a").orders(Verb.EJECT, "a").expects(WITHHELD, "a", Reason.MIN_SERVING)
    told.fails("a", times=4).expects(WITHHELD, "a", Reason.PINNED)


def test_an_operators_ejection_counts_in_the_cap() -> None:
    """Half of the pool may be out, whoever put it out."""
    told = story().orders(Verb.EJECT, "a").expects(EJECT, "a", Reason.OPERATOR)
    told.at("10:01:00").fails("b", times=4).expects(WITHHELD, "b", Reason.MAX_EJECTED)


def test_pin_in_for_a_time() -> None:
    """It brings the upstream back and keeps it in; when the time is over the trip is asked again."""
    told = story().fails("a", times=4).expects(EJECT, "a", Reason.RATIO).at("10:00:05")
    told.orders(Verb.PIN_IN, "a", duration=60.0).expects(READMIT, "a", Reason.OPERATOR)
    told.at("10:00:50").fails("a", times=4).expects(WITHHELD, "a", Reason.PINNED)
    told.at("10:01:04.9375").expects_nothing().at("10:01:05").expects(EJECT, "a", Reason.RATIO, at="10:01:05")


def test_pin_out_and_unpin() -> None:
    """Out until unpinned."""
    told = story().orders(Verb.PIN_OUT, "a").expects(EJECT, "a", Reason.OPERATOR, until=None)
    told.at("12:00:00").orders(Verb.UNPIN, "a").expects(READMIT, "a", Reason.OPERATOR)


def test_pin_out_ends_a_pin_in() -> None:
    """The later order stands."""
    told = story().orders(Verb.PIN_IN, "a").orders(Verb.PIN_OUT, "a", duration=10.0).expects(EJECT, "a", Reason.OPERATOR)
    told.at("10:00:10").expects(READMIT, "a", Reason.TIMER).fails("a").expects(EJECT, "a", Reason.PROBATION)


def test_unpin_leaves_alone_what_is_not_pinned() -> None:
    """It neither brings back what the policy put out nor ends a probation."""
    told = story().fails("a", times=4).expects(EJECT, "a", Reason.RATIO).orders(Verb.UNPIN, "a").expects_nothing()
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER).orders(Verb.UNPIN, "a").fails("a")
    told.expects(EJECT, "a", Reason.PROBATION)


def test_pause_stops_ejections_and_nothing_else() -> None:
    """Timers run and readmissions happen; a probation neither ends nor ejects meanwhile."""
    told = story().fails("a", times=4).expects(EJECT, "a", Reason.RATIO).orders(Verb.PAUSE, why="deploy")
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER).answers("a", times=5).expects_nothing()
    told.at("10:09:00").expects_nothing().orders(Verb.RESUME).expects(RECOVERED, "a", Reason.PROBATION, at="10:09:00")


def test_a_probation_that_got_no_traffic_while_paused() -> None:
    """Its time went on; it ends when decisions may be taken again."""
    told = story().fails("a", times=4).skips().orders(Verb.PAUSE).at("10:00:30").skips().at("10:30:00").expects_nothing()
    told.orders(Verb.RESUME).expects(RECOVERED, "a", Reason.UNTESTED, at="10:30:00")


def test_a_bad_outcome_in_a_paused_probation() -> None:
    """It is held, and ejects when decisions may be taken again, whatever was good after it."""
    told = story().fails("a", times=4).skips().orders(Verb.PAUSE).at("10:00:30").skips()
    told.fails("a").expects(WITHHELD, "a", Reason.PAUSED).at("10:00:40").answers("a", times=9).expects_nothing()
    told.orders(Verb.RESUME).expects(EJECT, "a", Reason.PROBATION)


def test_pause_for_a_time() -> None:
    """The pause ends by itself; what was held is asked about then."""
    told = story().orders(Verb.PAUSE, duration=60.0).at("10:00:50").fails("a", times=4).expects(WITHHELD, "a", Reason.PAUSED)
    told.at("10:00:59.9375").expects_nothing().at("10:01:00").expects(EJECT, "a", Reason.RATIO, at="10:01:00")


def test_a_later_pause_takes_the_place_of_an_earlier_one() -> None:
    """The end of a pause that was replaced ends nothing."""
    told = story().orders(Verb.PAUSE, duration=60.0).orders(Verb.PAUSE).at("10:05:00").fails("a", times=4)
    told.expects(WITHHELD, "a", Reason.PAUSED)


def pools() -> Story:
    """Return two pools that share `a`."""
    return Story(pool("a", "b", name="one"), pool("a", "c", name="two"), settings=rules(guard=UNGUARDED))


def test_all_pools_of_the_address() -> None:
    """Without a pool an order holds in all pools of the address, with one in that alone."""
    told = pools().orders(Verb.EJECT, "a").expects(EJECT, "a", Reason.OPERATOR, pool="one")
    told.expects(EJECT, "a", Reason.OPERATOR, pool="two").orders(Verb.READMIT, "a", pool="two")
    told.expects(READMIT, "a", Reason.OPERATOR, pool="two").expects_nothing()
    told.orders(Verb.EJECT, "b", pool="two").expects_nothing()


@pytest.mark.parametrize(("paused", "withheld"), [("one", {"one"}), (None, {"one", "two"})])
def test_pause_of_one_pool_or_all(paused: str | None, withheld: set[str]) -> None:
    """A pause names a pool, or stops all."""
    told = pools().orders(Verb.PAUSE, pool=paused).fails("a", times=4)

    assert withheld == {one.pool for one in told.told if one.reason is Reason.PAUSED}
    told.skips()


def test_a_pause_of_all_holds_for_pools_that_come_later() -> None:
    """A pool that the proxy names later is paused too, and is not once all were resumed."""
    later = pool("x", "y", name="later")
    told = pools().orders(Verb.PAUSE).names(later).fails("x", times=4).expects(WITHHELD, "x", Reason.PAUSED)
    told.names().orders(Verb.RESUME).names(later).fails("x", times=4).expects(EJECT, "x", Reason.RATIO)


def test_resume_of_one_pool_leaves_the_others_paused() -> None:
    """After a pause of all, one may go on alone; that is also what a restart carries."""
    told = pools().orders(Verb.PAUSE, duration=600.0, why="w").orders(Verb.RESUME, pool="two").fails("a", times=4)
    told.expects(WITHHELD, "a", Reason.PAUSED, pool="one").expects(EJECT, "a", Reason.RATIO, pool="two")

    assert [(one.pool, one.why) for one in told.engine.carry_paused()] == [("one", "w")]
    told.at("10:10:00").skips()
    assert told.engine.carry_paused() == ()
