"""Inputs are put in order before they are judged (DESIGN section 2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import Action, Reason, Verb
from tailhealth.core.order import Buffer, one_by_one
from tailhealth.core.rules import GuardRules
from tests.core.harness import Story, attempt, clock, rules

UNGUARDED = GuardRules(common_cause=False)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 50)), unique=True, min_size=1), st.data())
def test_events_come_by_end_file_and_offset(keys: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """Whatever the order and the portions of arrival, the order of release is that of (ended, file, offset)."""
    events = [attempt("a", float(ended), file=file, offset=offset) for ended, file, offset in keys]
    buffer: Buffer[None] = Buffer()
    cut = data.draw(st.integers(1, len(events)))
    for portion in (events[:cut], events[cut:]):
        if portion:
            buffer.add_events(portion)
    released = one_by_one(buffer.events_until(2.0) + buffer.events_until(9.0))

    assert sorted(keys) == [(int(one.ended), one.file, one.offset) for one in released]
    assert buffer.is_empty()


def test_controls_come_by_time_then_by_arrival() -> None:
    """Of two inputs of one moment, the one that came first acts first."""
    buffer: Buffer[str] = Buffer()
    for at, name in ((2.0, "late"), (1.0, "first"), (1.0, "second")):
        buffer.add_control(at, name)

    assert list(buffer.controls_until(1.0)) == [(1.0, "first"), (1.0, "second")]
    assert not buffer.is_empty()


def test_a_timer_acts_before_a_line_of_its_moment() -> None:
    """A timer due at T acts as if it were an input at T: the line that ends then begins after the readmission."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED)).fails("a", times=4).expects(Action.EJECT, "a", Reason.RATIO)
    told.sees(attempt("a", clock(30.0), status=500)).expects(Action.READMIT, "a", Reason.TIMER, at="10:00:30")
    told.expects(Action.EJECT, "a", Reason.PROBATION, at="10:00:30")


def test_a_command_acts_after_the_lines_of_its_moment() -> None:
    """Lines of one moment come first, then other inputs of it."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED), lateness=1.0).at("10:00:10").orders(Verb.PAUSE)
    told.fails("a", times=4).at("10:00:11").expects(Action.EJECT, "a", Reason.RATIO, at="10:00:10")


def test_commands_wait_for_earlier_lines() -> None:
    """What is said at T finds all lines judged that ended before it, though they come within `lateness` after it."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED), lateness=1.0).at("10:00:10").orders(Verb.PAUSE).at("10:00:10.5")
    told.sees(*[attempt("a", clock(9.75), status=500)] * 4).at("10:00:11.5")
    told.expects(Action.EJECT, "a", Reason.RATIO, at="10:00:09.75")


def test_time_never_goes_back() -> None:
    """An input that is dated before what is judged already acts now."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED)).at("10:00:10")
    told.now -= 5.0
    told.orders(Verb.EJECT, "a", duration=60.0).expects(Action.EJECT, "a", Reason.OPERATOR, at="10:00:10", until="10:01:10")


def test_the_input_ends() -> None:
    """At the end all that waits is judged, up to the engine's time and not further."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED), lateness=1.0).at("10:00:10").fails("a", times=4).expects_nothing()
    told.finishes().expects(Action.EJECT, "a", Reason.RATIO, until="10:00:40").finishes().expects_nothing()
