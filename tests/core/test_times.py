"""How long an upstream is out, strikes, and probation (DESIGN section 6)."""

from __future__ import annotations

import pytest

from tailhealth.core.model import Action, Reason, Source, Verb
from tailhealth.core.rules import EjectRules, GuardRules, ProbationRules
from tests.core.harness import Story, rules

EJECT, READMIT, WITHHELD, RECOVERED = Action.EJECT, Action.READMIT, Action.WITHHELD, Action.RECOVERED
UNGUARDED = GuardRules(common_cause=False)


def ejected(**more: object) -> Story:
    """Return a pool of two of which `a` left at 10:00:00 for the first time."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED, **more))  # type: ignore[arg-type]  # keywords of `rules`
    return told.fails("a", times=4).expects(EJECT, "a", Reason.RATIO, strikes=0)


def test_the_first_time_is_for() -> None:
    """Out for exactly `for`: `until` and the readmission's time are the same."""
    told = ejected()
    assert (told.told[0].until or 0.0) - told.told[0].at == 30.0
    told.at("10:00:29.9375").expects_nothing().at("10:00:31")
    told.expects(READMIT, "a", Reason.TIMER, at="10:00:30", source=Source.POLICY, strikes=1)


def test_each_strike_doubles_it() -> None:
    """A probation that fails at once ejects for twice as long, up to `max`."""
    told = ejected()
    times = []
    for _ in range(7):
        out = told.told[-1]
        times.append((out.until or 0.0) - out.at)
        told.after(times[-1]).skips().fails("a").expects(EJECT, "a", Reason.PROBATION, strikes=len(times))

    assert times == [30.0, 60.0, 120.0, 240.0, 480.0, 600.0, 600.0]


def test_jitter_moves_until() -> None:
    """The default jitter adds up to a tenth."""
    told = ejected(eject=EjectRules())

    assert 30.0 < (told.told[0].until or 0.0) - told.told[0].at < 33.0
    told.at("10:00:34").expects(READMIT, "a", Reason.TIMER, at=told.told[0].until)


def readmitted(**more: object) -> Story:
    """Return a pool of two of which `a` is on probation since 10:00:30, with one strike."""
    return ejected(**more).at("10:00:30").expects(READMIT, "a", Reason.TIMER)


def test_three_good_outcomes_end_probation() -> None:
    """After two it is still on; the third ends it."""
    told = readmitted().at("10:00:31").answers("a", times=2).expects_nothing()
    told.answers("a").expects(RECOVERED, "a", Reason.PROBATION, at="10:00:31", strikes=1)
    told.fails("a").expects_nothing()


def test_one_bad_outcome_ejects_again() -> None:
    """On probation a single bad outcome is enough, with one strike more."""
    told = readmitted().at("10:00:31").answers("a", times=2).fails("a")
    told.expects(EJECT, "a", Reason.PROBATION, strikes=1, until="10:01:31")


def test_ignored_outcomes_do_not_end_probation() -> None:
    """Busy answers and impatient clients prove nothing either way."""
    told = readmitted().at("10:00:31").answers("a", times=9, status=429).is_left("a", waited=0.5).expects_nothing()
    told.answers("a", times=3).expects(RECOVERED, "a", Reason.PROBATION)


def test_bad_two_needs_two() -> None:
    """With `bad = 2` the first bad outcome is borne."""
    told = readmitted(probation=ProbationRules(bad=2)).at("10:00:31").fails("a").expects_nothing()
    told.fails("a").expects(EJECT, "a", Reason.PROBATION)


def test_untested_after_ten_times_for() -> None:
    """Without a counted outcome it ends after 10 x `for`, and the strikes are kept."""
    told = readmitted().at("10:05:29.9375").expects_nothing()
    told.at("10:05:31").expects(RECOVERED, "a", Reason.UNTESTED, at="10:05:30", strikes=1)
    told.fails("a").expects_nothing()


def test_untested_counts_from_the_last_counted_outcome() -> None:
    """A counted outcome begins the time anew, an ignored one does not."""
    told = readmitted().at("10:02:30").answers("a").at("10:05:00").answers("a", status=429)
    told.at("10:07:29.9375").expects_nothing().at("10:07:30").expects(RECOVERED, "a", Reason.UNTESTED, at="10:07:30")


def test_without_probation_it_serves_at_once() -> None:
    """`probation = false`: the window alone judges."""
    told = readmitted(probation=None).fails("a", times=3).expects_nothing().fails("a").expects(EJECT, "a", Reason.RATIO)
    told.expects_nothing()


def test_a_clean_sheet() -> None:
    """The window is emptied on readmission: what was bad before counts no more."""
    told = readmitted().answers("a", times=3).expects(RECOVERED, "a", Reason.PROBATION)
    told.fails("a", times=4).expects_nothing()


def recovered() -> Story:
    """Return a pool of two of which `a` left probation at 10:00:30, with one strike and three good outcomes."""
    return readmitted().answers("a", times=3).expects(RECOVERED, "a", Reason.PROBATION)


@pytest.mark.parametrize(("second", "until"), [("10:05:29.9375", 60.0), ("10:05:30", 30.0)])
def test_a_strike_is_forgotten_after_ten_times_for(second: str, until: float) -> None:
    """One strike per completed 10 x `for` in rotation with enough good outcomes."""
    told = recovered().at(second).fails("a", times=30)

    assert until == (told.told[-1].until or 0.0) - told.told[-1].at
    told.expects(EJECT, "a", Reason.RATIO)


@pytest.mark.parametrize(("good", "until"), [(2, 60.0), (3, 30.0)])
def test_time_alone_proves_nothing(good: int, until: float) -> None:
    """A strike needs `probation.requests` good outcomes in the period."""
    told = readmitted(probation=None).at("10:01:00").answers("a", times=good)
    told.at("10:20:00").fails("a", times=9).skips()

    assert until == (told.told[-1].until or 0.0) - told.told[-1].at


def test_only_one_strike_per_period() -> None:
    """Three quiet periods after a proven one forget one strike, two proven periods two."""
    told = readmitted().fails("a").expects(EJECT, "a", Reason.PROBATION, until="10:01:30", strikes=1)
    told.at("10:01:30").expects(READMIT, "a", Reason.TIMER, strikes=2)
    told.answers("a", times=20).expects(RECOVERED, "a", Reason.PROBATION)
    told.at("10:25:00").answers("a", times=3).at("10:25:01").fails("a", times=30)
    told.expects(EJECT, "a", Reason.RATIO, strikes=1)

    told = readmitted().fails("a").skips().at("10:01:30").skips().answers("a", times=20).skips()
    told.at("10:06:30").answers("a", times=3).at("10:11:30").fails("a", times=30)
    told.expects(EJECT, "a", Reason.RATIO, strikes=0)


def test_probation_asks_every_guard_but_settle() -> None:
    """A probation ejects within `settle` of another ejection, yet no cap is passed over."""
    settings = rules(guard=UNGUARDED)
    told = Story("a", "b", "c", "d", settings=settings).fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER).fails("b", times=4).expects(EJECT, "b", Reason.RATIO)
    told.at("10:00:31").fails("a").expects(EJECT, "a", Reason.PROBATION)

    told = readmitted().orders(Verb.EJECT, "b").expects(EJECT, "b", Reason.OPERATOR)
    told.fails("a").expects(WITHHELD, "a", Reason.MAX_EJECTED)


def test_probation_is_held_while_half_of_the_peers_do_badly() -> None:
    """In place of the test, the latest outcome of the peers speaks."""
    told = Story("a", "b", "c").answers("b", "c", times=8).fails("a", times=8).expects(WITHHELD, "a", Reason.COMMON_CAUSE)
    told.at("10:00:01").fails("a", times=8).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:31").expects(READMIT, "a", Reason.TIMER).fails("b").fails("a")
    told.expects(WITHHELD, "a", Reason.COMMON_CAUSE).at("10:00:33").answers("b").fails("a")
    told.expects(EJECT, "a", Reason.PROBATION)
