"""Two kinds of lines that tell of one request count once (DESIGN section 3, Caddy)."""

from __future__ import annotations

import pytest

from tailhealth.core.join import UNMATCHED, Amended, Join
from tailhealth.core.model import Aborted, Action, Attempt, End, Origin, Reason
from tailhealth.core.rules import BadRules, GuardRules, Yardstick
from tests.core.harness import Story, attempt, clock, rules, silent

UNGUARDED = GuardRules(common_cause=False)


def roundtrip(node: str, ended: float, port: str = "1", **more: object) -> Attempt:
    """Return a round-trip line."""
    return attempt(node, ended, origin=Origin.ROUNDTRIP, client_port=port, **more)  # type: ignore[arg-type]  # keywords of `attempt`


def access(node: str, ended: float, port: str = "1", **more: object) -> Attempt:
    """Return an access line."""
    return attempt(node, ended, client_port=port, **more)  # type: ignore[arg-type]  # keywords of `attempt`


def broken(node: str, ended: float, port: str = "1", end: End = End.TRUNCATED) -> Attempt:
    """Return the line of a broken-off body: it knows neither status nor times."""
    return attempt(
        node, ended, status=None, header=None, header_came=None, end=end, origin=Origin.BROKEN_BODY, client_port=port
    )


def told(join: Join, *events: Attempt | Aborted) -> list[Attempt | Amended]:
    """Return what is handed on."""
    return [one for event in events for one in join.feed(event)]


def test_access_lines_alone_pass() -> None:
    """Without round-trip lines every access line is an attempt."""
    lines = [access("a", 1.0), access("a", 1.0), access("b", 2.0)]

    assert lines == told(Join(), *lines)


def test_a_request_counts_once() -> None:
    """The round-trip line judges; its access line only adds the whole duration."""
    join = Join()
    first, amended = told(join, roundtrip("a", 1.0), access("a", 9.0, took=8.0))

    assert roundtrip("a", 1.0) == first
    assert isinstance(amended, Amended)
    assert (amended.new.duration, amended.new.ended) == (8.0, 1.0)
    assert join.duplicates == 1


def test_the_node_that_a_retry_hid_is_named() -> None:
    """The failed try and the good one are both there; the access line names the last only."""
    join = Join()
    failed = silent("a", 1.0, End.REFUSED, 0.0, origin=Origin.ROUNDTRIP, client_port="1")

    assert [failed, roundtrip("b", 2.0)] == told(join, failed, roundtrip("b", 2.0), access("b", 2.5))[:2]
    assert join.streaming(["a", "b"]) == 0


def test_streaming_is_what_has_a_header_and_no_end() -> None:
    """It counts per upstream, from the round-trip line to the access line."""
    join = Join()
    told(join, roundtrip("a", 1.0, "1"), roundtrip("a", 1.0, "2"), silent("a", 1.0, End.REFUSED, 0.0, origin=Origin.ROUNDTRIP))
    assert join.streaming(["a"]) == 2

    told(join, access("a", 2.0, "1"))
    assert join.streaming(["a", "x"]) == 1
    told(join, Aborted(3.0, 200, "192.0.2.1", "2", ""))
    assert join.streaming(["a"]) == 0


@pytest.mark.parametrize(("number", "handed_on"), [(UNMATCHED - 1, 0), (UNMATCHED, UNMATCHED), (UNMATCHED + 1, UNMATCHED + 1)])
def test_twenty_unmatched_access_lines(number: int, handed_on: int) -> None:
    """DEBUG was switched off: from the twentieth on access lines judge, from the first unmatched."""
    join = Join()
    told(join, roundtrip("a", 1.0), access("a", 1.5))
    lines = [access("a", 2.0 + i, f"x{i}") for i in range(number)]

    assert lines[:handed_on] == told(join, *lines)
    assert join.has_roundtrips(["a"]) is (handed_on == 0)


@pytest.mark.parametrize("between", [[roundtrip("a", 9.0, "2")], [roundtrip("a", 9.0, "2"), access("a", 9.5, "2")]])
def test_a_round_trip_begins_the_count_anew(between: list[Attempt]) -> None:
    """Twenty in a row: as long as round-trip lines come, they judge."""
    join = Join()
    told(join, roundtrip("a", 1.0), access("a", 1.5))
    early = [access("a", 2.0, f"x{i}") for i in range(UNMATCHED - 1)]
    late = [access("a", 10.0, f"y{i}") for i in range(UNMATCHED - 1)]

    assert [
        one for one in told(join, *early, *between, *late) if isinstance(one, Attempt) and one.origin is Origin.ACCESS
    ] == []


def test_an_access_line_with_a_round_trip_begins_the_count_anew() -> None:
    """Its round-trip line may have come long before."""
    join = Join()
    told(join, roundtrip("a", 1.0, "2"))
    early = [access("a", 2.0, f"x{i}") for i in range(UNMATCHED - 1)]
    late = [access("a", 10.0, f"y{i}") for i in range(UNMATCHED - 1)]

    assert [one for one in told(join, *early, access("a", 9.0, "2"), *late) if isinstance(one, Attempt)] == []


def test_an_access_line_ends_the_try_at_its_upstream() -> None:
    """Of two tries of one request that are both still answered, the one that it names ends."""
    join = Join()
    told(join, roundtrip("a", 1.0), roundtrip("b", 2.0), access("a", 3.0))

    assert (join.streaming(["a"]), join.streaming(["b"])) == (0, 1)


def test_upstreams_are_counted_apart() -> None:
    """Unmatched lines of one upstream say nothing about another."""
    join = Join()
    told(join, roundtrip("a", 1.0), roundtrip("b", 1.0, "2"))
    told(join, *(access("a", 2.0, f"x{i}") for i in range(UNMATCHED)))

    assert not join.has_roundtrips(["a"])
    assert join.has_roundtrips(["b"])


def test_a_broken_body_replaces_the_good_outcome() -> None:
    """It has the same upstream, client, port and URI; without a round-trip line it stands alone."""
    join = Join()
    (alone,) = told(join, broken("a", 1.0))
    assert isinstance(alone, Attempt)

    _, amended = told(join, roundtrip("a", 2.0, "5"), broken("a", 3.0, "5"))
    assert isinstance(amended, Amended)
    assert (amended.new.end, amended.new.header_came, amended.new.ended) == (End.TRUNCATED, True, 3.0)
    assert isinstance(told(join, broken("a", 4.0, "6"))[0], Attempt)


def test_memory_is_bounded() -> None:
    """Requests whose end never comes do not fill memory."""
    join = Join()
    for i in range(12_000):
        told(join, roundtrip("a", 1.0, str(i)))

    assert join.streaming(["a"]) == 10_000


def test_a_truncated_body_counts_once_and_bad() -> None:
    """In the engine the good outcome leaves the window and the totals, the bad one comes in."""
    story = Story("a", "b", settings=rules(guard=UNGUARDED)).at(1.0)
    for i in range(4):
        story.sees(roundtrip("a", clock(1.0), str(i)))
    story.expects_nothing().at(5.0)
    for i in range(4):
        story.sees(broken("a", clock(5.0), str(i)), Aborted(clock(5.0), 200, "192.0.2.1", str(i), ""))

    found = story.engine.pools["pool"].members["a"].totals
    assert (found.good, dict(found.bad)) == (1, {"truncated": 3})
    story.expects(Action.EJECT, "a", Reason.RATIO)


def test_an_access_line_can_make_it_bad() -> None:
    """The whole duration and the gRPC status stand in the access line only."""
    yardstick = Yardstick(total_slower_than=60.0, grpc_status=frozenset({14}))
    story = Story("a", "b", settings=rules(guard=UNGUARDED, bad=BadRules(default=yardstick))).at(1.0)
    for i in range(4):
        story.sees(roundtrip("a", clock(1.0), str(i)))
    story.at(70.0).sees(access("a", clock(70.0), "0", took=60.0), access("a", clock(70.0), "1", took=59.0, grpc_status=14))

    found = story.engine.pools["pool"].members["a"].seen(story.now)
    assert (found.counted, dict(found.kinds)) == (4, {"total_slow": 1, "grpc": 1})


def test_an_access_line_can_take_a_bad_outcome_back() -> None:
    """It tells of the upload, or of Retry-After, that the round-trip line did not show."""
    story = Story("a", "b", settings=rules(guard=UNGUARDED)).at(300.0)
    story.sees(roundtrip("a", clock(300.0), "1", header=130.0), roundtrip("a", clock(300.0), "2", status=503))
    story.sees(silent("a", clock(300.0), End.ABANDONED, 90.0, origin=Origin.ROUNDTRIP, client_port="3"))
    assert story.engine.pools["pool"].members["a"].seen(story.now).bad == 3

    story.at(301.0).sees(access("a", clock(301.0), "1", header=130.0, body_bytes=1 << 20))
    story.sees(access("a", clock(301.0), "2", status=503, retry_after=True))
    story.sees(silent("a", clock(301.0), End.ABANDONED, 95.0, client_port="3", body_bytes=1 << 21))

    found = story.engine.pools["pool"].members["a"]
    assert found.seen(story.now)[:2] == (1, 0)
    assert (found.totals.good, sum(found.totals.bad.values())) == (1, 0)


def test_a_probation_does_not_keep_a_good_outcome_that_was_taken_back() -> None:
    """A header is good until the body breaks off: then the probation has a bad outcome and ejects."""
    story = Story("a", "b", settings=rules(guard=UNGUARDED)).fails("a", times=4).skips()
    story.at(30.0).skips().sees(roundtrip("a", clock(30.0), "1"), roundtrip("a", clock(30.0), "2")).at(31.0)
    story.sees(broken("a", clock(31.0), "1")).expects(Action.EJECT, "a", Reason.PROBATION)
