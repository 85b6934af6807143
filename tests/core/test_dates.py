"""Evidence is dated by its start; late lines; a clock that was set (DESIGN section 2)."""

from __future__ import annotations

import pytest

from tailhealth.core.model import Action, Attempt, End, Reason, Started, Verb
from tailhealth.core.rules import GuardRules
from tests.core.harness import Story, attempt, clock, rules, silent

EJECT, READMIT, WITHHELD, RECOVERED = Action.EJECT, Action.READMIT, Action.WITHHELD, Action.RECOVERED
UNGUARDED = GuardRules(common_cause=False)


def story(lateness: float = 0.0) -> Story:
    """Return a pool of two without a common cause guard."""
    return Story("a", "b", settings=rules(guard=UNGUARDED), lateness=lateness)


def began(start: str, end: str, status: int = 500) -> Attempt:
    """Return an attempt at `a` that began and ended at these times."""
    return attempt("a", clock(end), status=status, header=clock(end) - clock(start))


def totals(told: Story) -> tuple[int, int, dict[str, int]]:
    """Return what the policy spared, its price, and what was ignored at `a`."""
    found = told.engine.pools["pool"].members["a"].totals
    return found.avoided_bad, found.lost_good, dict(found.ignored)


def test_stuck_requests_do_not_eject_again() -> None:
    """Ejecting a node makes its stuck requests fail later; those began before it (incident B)."""
    told = story().at("10:00:00").fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:20").sees(*[began("09:59:50", "10:00:20")] * 9)
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER)
    told.at("10:00:40").sees(*[began("09:59:50", "10:00:40")] * 9, *[began("10:00:29.5", "10:00:40")] * 9).expects_nothing()

    assert totals(told) == (9, 0, {"before_action": 18, "while_out": 9})


@pytest.mark.parametrize(("start", "counts"), [("10:00:29.9375", False), ("10:00:30", True)])
def test_what_begins_with_the_readmission_counts(start: str, counts: bool) -> None:
    """An attempt that began at exactly that moment is evidence of the time after it."""
    told = story().fails("a", times=4).skips().at("10:00:30").skips()
    told.at("10:00:40").sees(began(start, "10:00:40"))

    assert counts is (told.decided(EJECT) == ["a", "a"])
    told.skips()


@pytest.mark.parametrize(("start", "spared"), [("09:59:59.9375", 0), ("10:00:00", 1)])
def test_what_the_policy_would_have_spared(start: str, spared: int) -> None:
    """Attempts that began while it was out: bad ones were avoided, good ones lost; earlier ones are neither."""
    told = story().fails("a", times=4).skips().at("10:00:10").sees(began(start, "10:00:10"), began(start, "10:00:10", 200))

    assert (spared, spared) == totals(told)[:2]


def test_what_began_while_out_and_ended_after_it() -> None:
    """It was spared or lost too; a second time out does not make it forgotten."""
    told = story().fails("a", times=4).skips().at("10:00:35").skips().sees(began("10:00:10", "10:00:35"))
    assert totals(told) == (1, 0, {"while_out": 1})
    told.fails("a").expects(EJECT, "a", Reason.PROBATION, at="10:00:35")

    told.at("10:00:36").sees(began("10:00:10", "10:00:36", 200), began("10:00:31", "10:00:36"))
    assert totals(told) == (1, 1, {"while_out": 2, "before_action": 1})


def test_lateness_puts_lines_in_order() -> None:
    """Lines wait until the engine's time is `lateness` further, then count in the order of their ends."""
    told = story(lateness=1.0).at("10:00:10").sees(began("10:00:09", "10:00:10")).at("10:00:10.9375").expects_nothing()
    told.sees(*[began("10:00:09", "10:00:09.9375")] * 3).expects_nothing().at("10:00:11")
    told.expects(EJECT, "a", Reason.RATIO, at="10:00:10")

    assert told.engine.late_lines == 0


def test_a_late_line_is_counted_and_used() -> None:
    """A line later than `lateness` counts as of now, and may trip as long as it is fresh."""
    told = story(lateness=1.0).at("10:00:10").sees(*[began("10:00:09", "10:00:10")] * 3).at("10:00:20").expects_nothing()
    told.sees(began("10:00:09", "10:00:10.5")).expects(EJECT, "a", Reason.RATIO, at="10:00:19")

    assert told.engine.late_lines == 1


@pytest.mark.parametrize(("end", "trips"), [("09:59:49.9375", False), ("09:59:50", True)])
def test_old_lines_never_trip_now(end: str, trips: bool) -> None:
    """Buffered lines from before the span count for the past (case 38); at its edge they still trip."""
    told = story().at("10:00:20").sees(*[began("09:59:00", end)] * 40)

    assert trips is (told.decided(EJECT) == ["a"])
    told.skips()
    assert told.engine.late_lines == 40


def test_old_lines_count_for_the_past() -> None:
    """With the next fresh bad outcome they do matter, if they are within the window."""
    told = story().at("10:00:20").sees(*[began("09:59:00", "09:59:10")] * 3).expects_nothing().fails("a")
    told.expects(EJECT, "a", Reason.RATIO)


def test_history_trips_nothing() -> None:
    """What ended before the run began fills the window and decides nothing."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED), started=Started(clock("10:00:00")))
    told.sees(*[began("09:59:00", "09:59:59")] * 3).expects_nothing()
    told.sees(*[silent("a", clock("09:59:59.5"), End.REFUSED, 0.0)] * 3).expects_nothing()
    assert told.engine.late_lines == 0
    told.fails("a").expects(EJECT, "a", Reason.RATIO, at="10:00:00")


def test_a_step_back_shifts_timers_and_empties_windows() -> None:
    """The clock jumps back an hour: what is out stays out for as long as it had left, old outcomes count no more."""
    told = story().at("10:00:00").fails("b", times=3).fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:10").steps(-3600.0).expects_nothing()
    told.at("09:00:19").fails("b").expects_nothing().at("09:00:29.9375").expects_nothing()
    told.at("09:00:30").expects(READMIT, "a", Reason.TIMER, at="09:00:30")
    told.at("09:00:40").fails("a").expects(EJECT, "a", Reason.PROBATION)


def test_lines_before_a_step_are_decided_before_it() -> None:
    """Nothing that was read by the old clock is lost, also in one feed with the step."""
    told = story(lateness=1.0).at("10:00:10").sees(*[began("10:00:09", "10:00:10")] * 4).steps(-3600.0)
    told.expects(EJECT, "a", Reason.RATIO, at="10:00:10", until="10:00:40")
    told.at("09:00:41").expects(READMIT, "a", Reason.TIMER, at="09:00:40")


def test_after_a_step_back_lines_are_no_history() -> None:
    """A run that began at 10:00 judges the lines of 09:00 after the clock was set back."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED), started=Started(clock("10:00:00")))
    told.at("10:00:10").steps(-3600.0).at("09:00:20").fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    assert told.engine.late_lines == 0


def test_a_step_moves_pauses_pins_and_settle() -> None:
    """Everything that runs keeps its rest."""
    told = story().orders(Verb.PAUSE, duration=60.0).orders(Verb.PIN_IN, "b", duration=90.0).at("10:00:30").steps(-3600.0)
    told.at("09:00:50").fails("a", times=4).expects(WITHHELD, "a", Reason.PAUSED)
    told.at("09:01:00").expects(EJECT, "a", Reason.RATIO, at="09:01:00").steps(-3600.0)
    told.at("08:01:05").orders(Verb.READMIT, "a").expects(READMIT, "a", Reason.OPERATOR).fails("b", times=4)
    told.expects(WITHHELD, "b", Reason.PINNED).at("08:01:10").expects_nothing()
    told.at("08:01:30").expects(EJECT, "b", Reason.RATIO, at="08:01:30")
