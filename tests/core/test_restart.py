"""What a controller carries over a restart (DESIGN sections 6 and 8)."""

from __future__ import annotations

import msgspec

from tailhealth.core.model import Action, Carried, Ejection, Reason, Source, Started, Verb
from tailhealth.core.rules import GuardRules
from tests.core.harness import POOL, Story, attempt, clock, pool, rules

EJECT, READMIT, WITHHELD, RECOVERED = Action.EJECT, Action.READMIT, Action.WITHHELD, Action.RECOVERED
UNGUARDED = GuardRules(common_cause=False)


def story() -> Story:
    """Return a pool of two without a common cause guard."""
    return Story("a", "b", settings=rules(guard=UNGUARDED))


def restarted(told: Story, time: str, *, history: int = 0) -> Story:
    """Stop the controller and start it anew; it reads so many failures of `a` from 10:00:00 again first."""
    told.expects_nothing()
    engine = told.engine
    # Through bytes, as the state file does it.
    carried = msgspec.json.decode(msgspec.json.encode(engine.carry()), type=tuple[Carried, ...])
    later = Story(pool("x", "y", name="other"), settings=rules(guard=UNGUARDED), begins=time,
                  started=Started(clock(time), carried, engine.carry_paused()))  # fmt: skip
    later.sees(*[attempt("a", clock("10:00:00"), status=500)] * history)
    return later.names(pool("a", "b"))


def test_nothing_to_carry() -> None:
    """Where nothing was ever done, the log tells all."""
    assert story().fails("a").answers("b").engine.carry() == ()


def test_an_ejection_goes_on() -> None:
    """It ends at its time, on probation, with the strike it had."""
    told = restarted(story().fails("a", times=4).expects(EJECT, "a", Reason.RATIO), "10:00:20", history=9).expects_nothing()
    told.at("10:00:29.9375").expects_nothing().at("10:00:30").expects(READMIT, "a", Reason.TIMER, strikes=1)
    told.fails("a").expects(EJECT, "a", Reason.PROBATION, strikes=1)


def test_an_ejection_that_ended_meanwhile() -> None:
    """It is over at once, dated by its time."""
    told = restarted(story().fails("a", times=4).expects(EJECT, "a", Reason.RATIO), "10:20:00")
    told.expects(READMIT, "a", Reason.TIMER, at="10:00:30")


def test_a_probation_goes_on() -> None:
    """Its good and bad outcomes are remembered, and when it was last heard of."""
    told = story().fails("a", times=4).skips().at("10:00:30").skips().answers("a", times=2)
    later = restarted(told, "10:01:00", history=9)
    later.answers("a").expects(RECOVERED, "a", Reason.PROBATION, strikes=1)

    restarted(told, "10:05:29.9375").expects_nothing().at("10:05:30").expects(RECOVERED, "a", Reason.UNTESTED, at="10:05:30")


def test_strikes_and_their_proof() -> None:
    """A strike is carried, and the time in rotation that proves it away."""
    told = story().fails("a", times=4).skips().at("10:00:30").skips().answers("a", times=3).skips()
    restarted(told, "10:05:00").at("10:05:29").fails("a", times=9).expects(EJECT, "a", Reason.RATIO, strikes=1)
    restarted(told, "10:05:00").at("10:05:30").fails("a", times=9).expects(EJECT, "a", Reason.RATIO, strikes=0)


def test_an_operators_readmission_is_remembered() -> None:
    """History from before it is no evidence after a restart either."""
    told = story().fails("a", times=4).skips().at("10:00:10").orders(Verb.READMIT, "a").expects(READMIT, "a", Reason.OPERATOR)
    restarted(told, "10:00:20", history=9).fails("a", times=3).expects_nothing()


def test_history_fills_the_window() -> None:
    """Without an action, what the log told before the run counts with the first bad outcome of it."""
    restarted(story().fails("a", times=3), "10:00:20", history=3).fails("a").expects(EJECT, "a", Reason.RATIO)


def test_pins_and_pauses() -> None:
    """Both go on, with their times."""
    told = story().orders(Verb.PIN_IN, "a", duration=60.0).orders(Verb.PAUSE, duration=30.0)
    later = restarted(told, "10:00:10").fails("a", times=4).expects(WITHHELD, "a", Reason.PAUSED)
    later.at("10:00:30").expects(WITHHELD, "a", Reason.PINNED).at("10:01:00").expects(EJECT, "a", Reason.RATIO)


def test_a_pause_that_ended_meanwhile() -> None:
    """It stops nothing any more."""
    told = story().orders(Verb.PAUSE, duration=30.0)
    restarted(told, "10:00:30").fails("a", times=4).expects(EJECT, "a", Reason.RATIO)


def test_settle_goes_on() -> None:
    """The pool's last ejection is remembered."""
    told = Story("a", "b", "c", "d", settings=rules(guard=UNGUARDED)).fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    later = (
        restarted(told, "10:00:05").names(pool("a", "b", "c", "d")).fails("b", times=4).expects(WITHHELD, "b", Reason.SETTLE)
    )
    later.at("10:00:10").expects(EJECT, "b", Reason.RATIO)


def test_what_the_proxy_does_not_name_yet_is_carried_on() -> None:
    """An admin interface that is down at a start loses nothing."""
    out = Carried(POOL, "a", Ejection(clock(0.0), clock(900.0), 2, Source.POLICY, Reason.RATIO), strikes=3)
    told = Story(pool("x", "y", name="other"), settings=rules(guard=UNGUARDED), started=Started(clock(1.0), (out,)))
    assert (out,) == told.engine.carry()

    told.names(pool("a", "b")).at(900.0).expects(READMIT, "a", Reason.TIMER, strikes=3)
    assert len(told.engine.carry()) == 1
