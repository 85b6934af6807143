"""Every case of `tests/cases` that has expected values for a log is read as it says."""

from __future__ import annotations

import gzip
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from tailhealth.core.judge import judge
from tailhealth.core.model import Kind
from tailhealth.core.rules import BadRules, Route, Yardstick
from tailhealth.logs.rules import FieldRule, LogRules
from tests.case_reading import assert_attempt, case_bytes, case_number, expectations, expected, latency, read

if TYPE_CHECKING:
    from tests.case_reading import Read

RULES: dict[int, BadRules] = {
    119: BadRules(routes=(Route(Yardstick(ignore=True), paths=("/healthz",)),)),
    120: BadRules(default=Yardstick(grpc_status=frozenset({2, 4, 8, 13, 14, 15}))),
    121: BadRules(default=Yardstick(busy=frozenset(), busy_with_retry_after=frozenset())),
}
"""The settings that a case's verdicts assume, where they are not the defaults."""

MAPPED: dict[int, LogRules] = {
    31: LogRules(
        fields={"response_time": FieldRule("httpRequest.latency"), "status": FieldRule("httpRequest.status", None)},
    ),
}
"""How the operator maps the fields of a case that needs it."""

COUNTS = {
    "records": "records",
    "unattributed": "unattributed",
    "pool_events": "pool_events",
    "aborted": "aborted",
    "ignored": "other",
}

NOT_LOGS = {41, 63, 98, 101}
"""Cases with tests of their own: of archives, of single lines, of the follower's state, of folders."""

CASES = [number for number in map(case_number, expectations()) if number not in NOT_LOGS]


@pytest.fixture(params=CASES, name="case")
def each_case(request: pytest.FixtureRequest) -> int:
    """One case after the other."""
    number: int = request.param
    return number


@pytest.fixture(name="wanted")
def wanted_of(case: int) -> dict[str, Any]:
    """What the case expects."""
    return expected(case)


@pytest.fixture(name="done")
def read_of(case: int) -> Read:
    """The case's input, read once for all that is asked of it."""
    return read_once(case)


@cache
def read_once(case: int) -> Read:
    """Read the input of a case."""
    try:
        data = case_bytes(case)
    except LookupError:
        data = case_bytes(case, ".log")
    return read(data, MAPPED.get(case))


def test_counts(case: int, wanted: dict[str, Any], done: Read) -> None:
    """Records, other lines and unusable lines are counted as the case says."""
    tally = done.tally
    excluded = sum(judge(attempt, RULES.get(case, BadRules())).kind is Kind.ROUTE for attempt in done.attempts)

    assert {name: wanted[name] for name in COUNTS if name in wanted} == {
        name: getattr(tally, counter) for name, counter in COUNTS.items() if name in wanted
    }
    assert wanted["bad"] == tally.skipped.total(), tally.examples
    assert wanted.get("duplicates", 0) == tally.duplicates
    assert wanted.get("excluded", 0) == excluded
    assert all(attempt.upstream not in {"", "-", "None", "null"} for attempt in done.attempts)


@pytest.mark.parametrize("case", [number for number in CASES if "attempts" in expected(number)])
def test_attempts(case: int, wanted: dict[str, Any], done: Read) -> None:
    """Each attempt stands in its line with its upstream, status, latency and verdict, and there are no others."""
    records = [one["rec"] for one in wanted["attempts"]]
    lines = [attempt.offset for attempt in done.in_file_order()]
    assert [records.index(number) for number in records] == [lines.index(offset) for offset in lines]
    for one, attempt in zip(wanted["attempts"], done.in_file_order(), strict=True):
        assert_attempt(attempt, one, RULES.get(case, BadRules()))


def test_summary(case: int, wanted: dict[str, Any], done: Read) -> None:
    """The verdicts of each upstream add up to what the case says."""
    verdicts = done.verdicts(RULES.get(case, BadRules()))
    for upstream, counts in wanted.get("summary", {}).items():
        assert {name: counts[name] for name in ("ok", "fail", "neutral") if name in counts} == {
            name: verdicts[upstream][name] for name in ("ok", "fail", "neutral") if name in counts
        }
        if "latency_s" in counts:
            assert {counts["latency_s"]} == {latency(one) for one in done.attempts if one.upstream == upstream}


def test_times_and_order(wanted: dict[str, Any], done: Read) -> None:
    """Times are those of the case, and so is the order in which attempts are judged."""
    ended = [attempt.ended for attempt in done.in_file_order()]
    for at, time in zip(wanted.get("ts") or [], ended, strict="ts" in wanted and wanted["ts"] is not None):
        assert abs(at - time) < 1e-3
    if "ts_floor" in wanted:
        assert wanted["ts_floor"] == [int(time) for time in ended]
    if "order" in wanted:
        assert wanted["order"] == [attempt.path for attempt in done.attempts]


def test_duration_units() -> None:
    """Case 63: seconds, milliseconds, nanoseconds and Go's text are told apart, each in a file of its own."""
    lines = case_bytes(63).splitlines(keepends=True)
    reads = [read(line) for line in lines]

    assert [done.attempts[0].duration for done in reads] == pytest.approx(expected(63)["durations_s"], rel=1e-12)
    assert [("unit_assumed" in done.tally.hints) for done in reads] == [False, True, True, False]


def test_gzip_live_log() -> None:
    """Case 41: the complete members of a live compressed log are read."""
    packed = case_bytes(41, ".log.gz")
    data = b""
    for member in packed.split(b"\x1f\x8b\x08")[1:-1]:
        data += gzip.decompress(b"\x1f\x8b\x08" + member)

    assert read(data).tally.records == expected(41)["records"]
