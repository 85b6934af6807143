"""Blindness, with the numbers of DESIGN section 3 on both sides of each."""

from __future__ import annotations

from typing import Any

import pytest

from tailhealth.core.model import Blind
from tailhealth.service.blind import Blindness, Look


class Watched:
    """A log that grows as a test says."""

    def __init__(self) -> None:
        self.blindness = Blindness("log")
        self.now = 1000.0
        self.totals = {"lines": 0, "skipped": 0, "records": 0, "attributed": 0}
        self.others = 0

    def grows(self, good: int = 0, *, skipped: int = 0, nameless: int = 0, after: float = 1.0, **fields: Any) -> Blind | None:
        """Add lines: good ones are records with an upstream, nameless ones records without; then look."""
        self.now += after
        lines = good + skipped + nameless
        for name, count in (("lines", lines), ("skipped", skipped), ("records", good + nameless), ("attributed", good)):
            self.totals[name] += count
        values: dict[str, Any] = {"late_by": 0.1, "unreadable": "", "hints": frozenset(), **self.totals, **fields}
        return self.blindness.look(Look(self.now, heard=self.totals["lines"] + self.others, **values))

    @property
    def reason(self) -> str | None:
        """Why it is blind."""
        return self.blindness.reason


def test_silence_alone_is_never_blind() -> None:
    """A log to which nobody writes for a day can be trusted."""
    log = Watched()
    for _ in range(100):
        assert log.grows(after=864.0) is None


@pytest.mark.parametrize(
    ("good", "skipped", "blind"), [(9, 10, False), (9, 11, True), (10, 10, False), (100, 100, False), (99, 101, True)]
)
def test_unreadable_lines(good: int, skipped: int, blind: bool) -> None:
    """More than half of at least twenty lines."""
    log = Watched()
    change = log.grows(good, skipped=skipped)
    assert (change is not None) is blind
    assert log.reason == (f"{skipped} of the last {good + skipped} lines could not be read" if blind else None)


def test_only_the_last_two_hundred_lines_count() -> None:
    """A long good past does not hide that nothing can be read now, and a bad one does not hide that all can."""
    log = Watched()
    for _ in range(50):
        log.grows(20)
    assert [log.grows(skipped=10) is not None for _ in range(11)] == [False] * 10 + [True]


def test_it_ends_after_twenty_good_lines() -> None:
    """When the cause is over, nineteen good lines are not enough; bad ones between them don't count against them."""
    log = Watched()
    assert log.grows(unreadable="permission denied") == Blind(1001.0, "log", "permission denied")
    assert log.grows(19) is None
    assert log.grows(skipped=1) is None
    assert log.grows(1) == Blind(1004.0, "log", None)
    assert log.reason is None


def test_good_lines_before_the_end_of_the_cause_do_not_count() -> None:
    """They were read while it could not be trusted."""
    log = Watched()
    log.grows(unreadable="gone")
    log.grows(30, unreadable="gone")
    assert log.grows(19) is None
    assert log.grows(1) is not None


def test_a_change_is_told_once() -> None:
    """While it lasts, and while it is well, there is nothing to tell."""
    log = Watched()
    assert log.grows(unreadable="gone") is not None
    assert log.grows(unreadable="gone still") is None
    assert log.reason == "gone"


@pytest.mark.parametrize(("records", "blind"), [(19, False), (20, True)])
def test_records_without_an_upstream(records: int, blind: bool) -> None:
    """Twenty access records in a minute and none names one."""
    log = Watched()
    log.grows()
    change = log.grows(nameless=records)
    assert (change is not None) is blind
    assert log.reason == ("none of the last 20 access records names an upstream" if blind else None)


def test_one_named_record_is_enough() -> None:
    """Requests that the proxy answers itself are normal where others go to upstreams."""
    log = Watched()
    log.grows()
    log.grows(1)
    assert log.grows(nameless=500) is None


@pytest.mark.parametrize(("after", "blind"), [(60.0, True), (60.1, False)])
def test_nameless_records_of_a_minute(after: float, blind: bool) -> None:
    """What came more than a minute ago does not add up."""
    log = Watched()
    log.grows()
    log.grows(nameless=10, after=0.0)
    assert (log.grows(nameless=10, after=after) is not None) is blind


def test_a_named_record_long_ago_does_not_count() -> None:
    """The field was there, and since the operator's last change it is not."""
    log = Watched()
    log.grows(500)
    assert log.grows(nameless=10, after=120.0) is None
    assert log.grows(nameless=20) is not None


@pytest.mark.parametrize(("late_by", "blind"), [(60.0, False), (60.1, True)])
def test_behind(late_by: float, blind: bool) -> None:
    """The newest line is over a minute old at three looks in a row at which the log had grown."""
    log = Watched()
    changes = [log.grows(1, late_by=late_by) is not None for _ in range(3)]
    assert changes == [False, False, blind]


def test_behind_only_counts_looks_with_new_lines() -> None:
    """Between two bursts of a buffered log nothing grows; one look in time breaks the row."""
    log = Watched()
    assert [log.grows(lines, late_by=90.0) for lines in (1, 0, 0, 1, 0)] == [None] * 5
    assert log.grows(1, late_by=90.0) is not None
    again = Watched()
    assert [again.grows(1, late_by=late) for late in (90.0, 90.0, 1.0, 90.0, 90.0, None)] == [None] * 6


@pytest.mark.parametrize(("seconds", "blind"), [(299.9, False), (300.0, True)])
def test_requests_end_and_no_line_comes(seconds: float, blind: bool) -> None:
    """The proxy works and this log does not tell of it, for five minutes."""
    log = Watched()
    for at, count in ((1000.0, 5), (1001.0, 4), (1001.0 + seconds, 3)):
        log.blindness.note_in_flight(at, {"a": count})
    assert (log.grows(after=400.0) is not None) is blind


def test_requests_that_only_begin_owe_no_line() -> None:
    """One hung request after the other is what `stalled` is there for: that must not be called blind."""
    log = Watched()
    for number in range(100):
        log.blindness.note_in_flight(1000.0 + number * 10, {"a": number, "b": 1})
        assert log.grows(after=10.0) is None


def test_a_line_of_any_log_is_enough() -> None:
    """The requests may be those of another site: its log tells of them, and this one may be silent."""
    log = Watched()
    log.grows()
    log.blindness.note_in_flight(1000.0, {"a": 2})
    log.blindness.note_in_flight(1001.0, {"a": 1})
    log.others = 1
    assert log.grows(after=1.0) is None
    log.blindness.note_in_flight(1400.0, {"a": 0})
    assert log.grows(after=400.0) is None


def test_a_failed_poll_compares_nothing() -> None:
    """Counts before and after a time in which the proxy could not be asked are not compared."""
    log = Watched()
    for at, counts in ((1.0, {"a": 5}), (2.0, {"a": 4}), (400.0, None), (401.0, {"a": 0})):
        log.blindness.note_in_flight(at, counts)
    assert log.grows(after=500.0) is None


@pytest.mark.parametrize("code", ["level_filter", "sampling"])
def test_a_thinned_log(code: str) -> None:
    """A log without an honest ratio, as its reader finds; other hints are no reason."""
    log = Watched()
    assert log.grows(50, hints=frozenset({"no_header_time"})) is None
    assert log.grows(50, hints=frozenset({code})) == Blind(1002.0, "log", f"the log is thinned ({code})")


@pytest.mark.parametrize("lines", [1, 100])
def test_a_look_costs_the_same_however_many_there_were(lines: int) -> None:
    """A busy log is looked at fifty times a second: what is kept of an hour of that is no more than of a minute."""
    log = Watched()
    for number in range(10_000):
        log.grows(lines * int(number % 4 == 0), after=0.02)
    assert len(log.blindness._recent) <= 201
    assert len(log.blindness._minute) <= 61


def test_a_minute_is_one_by_the_clock_that_was_set_back() -> None:
    """What was seen at a later hour than now is not of the last minute."""
    log = Watched()
    log.grows()
    log.grows(nameless=10)
    assert log.grows(nameless=10, after=-3600.0) is None
    assert log.grows(nameless=19) is None
    assert log.grows(nameless=1) is not None
