"""Requests in flight that never end (DESIGN section 4, Stalled)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.flights import Flights
from tailhealth.core.model import Action, Attempt, Counts, End, Origin, PoolMember, Reason
from tailhealth.core.rules import BadRules, GuardRules
from tests.core.harness import Story, attempt, clock, pool, rules

EJECT, READMIT, WITHHELD, RECOVERED = Action.EJECT, Action.READMIT, Action.WITHHELD, Action.RECOVERED
UNGUARDED = GuardRules(common_cause=False)
AFTER = 120.0


def story(*nodes: str | PoolMember) -> Story:
    """Return a pool without a common cause guard."""
    return Story(*(nodes or ("a", "b")), settings=rules(guard=UNGUARDED))


@pytest.mark.parametrize(("second", "trips"), [(119.9375, False), (120.0, True)])
def test_stalled_after(second: float, trips: bool) -> None:
    """Four requests that are in flight at two polls `stalled_after` apart have certainly waited that long."""
    told = story().at(0.0).polls(a=4).at(second).polls(a=4)

    assert trips is (told.decided(EJECT) == ["a"])
    assert [{"stalled": 4}] * trips == [one.evidence.kinds for one in told.told]
    told.skips()


def test_fewer_than_min_requests() -> None:
    """Three stalled ones are too few to judge by ratio; with one bad outcome they are enough."""
    story().at(0.0).polls(a=3).at(120.0).polls(a=3).expects_nothing()
    story().at(0.0).fails("a").polls(a=3).at(120.0).polls(a=3).expects(EJECT, "a", Reason.RATIO)


def test_busy_is_not_stalled() -> None:
    """Twelve in flight all the time, and as many ended since: healthy and busy (incident B)."""
    told = story().at(0.0).polls(a=12).at(60.0).answers("a", times=12, header=60.0).at(120.0).polls(a=12)
    told.expects_nothing()


@pytest.mark.parametrize(("ended", "stalled"), [(0, 6), (2, 4), (3, None)])
def test_everything_that_may_have_ended_is_taken_off(ended: int, stalled: int | None) -> None:
    """A lower bound: each attempt of the address may have been one of those that were in flight."""
    told = story().at(0.0).polls(a=6).at(1.0).answers("a", status=429, times=ended).at(120.0).polls(a=6)

    assert [stalled] == [one.evidence.kinds["stalled"] for one in told.told] if stalled else not told.told
    told.skips()


def test_attempts_of_other_routes_and_pools_are_taken_off_too() -> None:
    """E counts whatever ended at the address, also what the pool itself does not judge."""
    one, two = pool("a", "b", name="one", hosts=("one",)), pool("a", "c", name="two", hosts=("two",))
    told = Story(one, two, settings=rules(guard=UNGUARDED)).at(0.0).polls(a=4)
    told.at(1.0).answers("a", status=429, host="two").at(120.0).polls(a=4).expects_nothing()


def test_an_aborted_record_may_have_been_any() -> None:
    """A record that names no upstream weighs against all."""
    story().at(0.0).polls(a=4).at(1.0).aborts().at(120.0).polls(a=4).expects_nothing()
    told = story().at(0.0).polls(a=4).aborts().at(120.0).polls(a=4).expects_nothing()
    assert told.engine.pools["pool"].members["a"].flights.ended == 1


def test_the_present_count_is_a_bound() -> None:
    """No more than are in flight now can be stalled."""
    story().at(0.0).polls(a=9).at(120.0).polls(a=3).expects_nothing().at(125.0).polls(a=4).expects(EJECT, "a", Reason.RATIO)


def test_what_ends_after_the_poll_is_taken_off_at_once() -> None:
    """Between two polls a line that ends a request leaves one stalled fewer; it counts as what it is."""
    told = story().at(0.0).polls(a=3).at(120.0).polls(a=3).at(121.0).answers("a", header=121.0)

    assert _shown(told) == (3, {"slow": 1, "stalled": 2})
    told.answers("a").expects_nothing()


def _shown(told: Story) -> tuple[int, dict[str, int]]:
    found = told.engine.pools["pool"].members["a"].seen(told.now)
    return found.counted, dict(found.kinds)


def test_another_process_begins_anew() -> None:
    """After a restart of the proxy its counts are not compared with those before."""
    told = story().at(0.0).polls(a=9).at(60.0).polls("2", a=9).at(179.9375).polls("2", a=9).expects_nothing()
    told.at(180.0).polls("2", a=9).expects(EJECT, "a", Reason.RATIO)


def test_a_broken_poll_begins_anew() -> None:
    """Samples from before a poll that failed prove nothing."""
    told = story().at(0.0).polls(a=9).at(60.0).misses_a_poll().at(65.0).polls(a=9).at(184.9375).polls(a=9).expects_nothing()
    told.at(185.0).polls(a=9).expects(EJECT, "a", Reason.RATIO)


def test_an_address_that_is_not_listed_has_none_in_flight() -> None:
    """What the proxy does not name waits for nobody."""
    story().at(0.0).polls(a=9).at(60.0).polls().at(120.0).polls(a=9).expects(EJECT, "a", Reason.RATIO)
    story().at(0.0).polls().at(120.0).polls(a=9).expects_nothing()


def test_only_more_than_before_asks() -> None:
    """A trip arises at a sample that shows more stalled ones; the same number again asks nothing."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED, bad=BadRules(stalled_after=10.0)))
    told.at(0.0).answers("a", times=20).polls(a=5).at(10.0).polls(a=5).at(40.0).polls(a=5).at(45.0).polls(a=6).expects_nothing()
    told.at(55.0).polls(a=6).expects(EJECT, "a", Reason.RATIO)


def test_what_was_in_flight_at_a_readmission_is_no_evidence() -> None:
    """Stuck requests from before stay stuck after it, and must not eject again; new ones do."""
    told = story().at(0.0).polls(a=4).at(120.0).polls(a=4).expects(EJECT, "a", Reason.RATIO, until="10:02:30")
    told.at(145.0).polls(a=4).at(150.0).expects(READMIT, "a", Reason.TIMER)
    for second in (155.0, 270.0, 275.0):
        told.at(second).polls(a=4)
    told.expects_nothing().at(280.0).polls(a=5).at(399.9375).polls(a=5).expects_nothing()
    told.at(400.0).polls(a=5).expects(EJECT, "a", Reason.PROBATION)


@pytest.mark.parametrize("broken_at", [149.0, 160.0])
def test_a_broken_poll_makes_no_evidence_of_it(broken_at: float) -> None:
    """Neither a poll that fails right before the readmission nor one after it brings the old ones back."""
    told = story().at(0.0).polls(a=4).at(120.0).polls(a=4).expects(EJECT, "a", Reason.RATIO)
    for second in (149.0, 151.0, 160.0, 165.0, 290.0, 400.0):
        told.at(second)
        if second == broken_at:
            told.misses_a_poll()
        else:
            told.polls(a=4)
        if second == 151.0:
            told.expects(READMIT, "a", Reason.TIMER, at="10:02:30")
    told.expects(RECOVERED, "a", Reason.UNTESTED) if told.pending else told.expects_nothing()


def test_not_judged_where_another_log_is_not_followed() -> None:
    """An address that also stands in a handler whose log is not followed can't be judged by its counter."""
    story(PoolMember("a", unfollowed=True), "b").at(0.0).polls(a=9).at(120.0).polls(a=9).expects_nothing()


@pytest.mark.parametrize("body", [
    attempt("b", clock(1.0), status=101, header=0.5, took=0.5),
    attempt("b", clock(1.0), header=1.0, took=120.0),
    attempt("b", clock(1.0), header=1.0, took=500.0, end=End.CUT),
])  # fmt: skip
def test_off_in_a_pool_with_long_bodies(body: Attempt) -> None:
    """Without round-trip lines an open body looks like a request without a header; for 24 h nothing is judged."""
    told = story().at(1.0).sees(body).at(2.0).polls(a=9).at(130.0).polls(a=9).expects_nothing()
    told.at(1.0 + 86_400.0).polls(a=9).expects_nothing()
    told.at(1.5 + 86_400.0).polls(a=9).expects(EJECT, "a", Reason.RATIO)


@pytest.mark.parametrize("body", [
    attempt("b", clock(1.0), header=1.0, took=119.0),
    attempt("b", clock(1.0), header=130.0, took=131.0),
    attempt("b", clock(1.0), status=500, header=1.0, took=131.0),
])  # fmt: skip
def test_only_good_and_long_ones_are_a_sign(body: Attempt) -> None:
    """A wedged node that answers late, or badly, does not hide the other requests that are stuck (incident A)."""
    told = story().at(1.0).sees(body).at(2.0).polls(a=9).at(122.0).polls(a=9)
    told.expects(EJECT, "a", Reason.RATIO)


def roundtrip(node: str, second: float, port: str) -> Attempt:
    """Return a round-trip line: the header came."""
    return attempt(node, clock(second), origin=Origin.ROUNDTRIP, client_port=port, header=1.0)


def test_streaming_requests_are_subtracted() -> None:
    """With round-trip lines, a request whose header came and whose access line did not is streaming, not stuck."""
    told = story().at(1.0).sees(*(roundtrip("a", 1.0, str(port)) for port in range(8)))
    told.at(5.0).polls(a=8).at(125.0).polls(a=8).expects_nothing().at(130.0).polls(a=16).at(250.0).polls(a=16)
    told.expects(EJECT, "a", Reason.RATIO)
    assert told.told[0].evidence.kinds["stalled"] == 8


def test_with_roundtrip_lines_long_bodies_do_not_matter() -> None:
    """Waiting and streaming can be told apart, so the rule stays on."""
    told = story().at(1.0).sees(attempt("a", clock(1.0), status=101)).at(2.0)
    told.sees(roundtrip("a", 2.0, "1")).at(5.0).polls(a=9).at(125.0).polls(a=9)
    told.expects(EJECT, "a", Reason.RATIO)


def test_an_access_line_that_the_join_holds_back_has_ended_all_the_same() -> None:
    """DEBUG was switched off: access lines without a match are not judged yet, but they did end requests."""
    told = story().at(1.0).sees(roundtrip("a", 1.0, "1"), attempt("a", clock(1.0), client_port="1"))
    told.at(5.0).polls(a=8).at(60.0).answers("a", times=6).at(125.0).polls(a=8).expects_nothing()


def test_stalled_on_both_sides_of_the_comparison() -> None:
    """If all nodes hang, it is the whole pool."""
    told = Story("a", "b").at(0.0).polls(a=8, b=8).at(120.0).polls(a=8, b=8)
    told.expects(WITHHELD, "a", Reason.COMMON_CAUSE).expects(WITHHELD, "b", Reason.COMMON_CAUSE).expects_nothing()


def test_a_trip_that_only_stalled_ones_made_is_cleared_when_they_are_gone() -> None:
    """The next sample that shows fewer asks again, though no line comes."""
    told = Story("a").at(0.0).polls(a=8).at(120.0).polls(a=8).expects(WITHHELD, "a", Reason.MAX_EJECTED)
    told.at(125.0).polls(a=0).expects(RECOVERED, "a", Reason.CLEARED)


def test_off() -> None:
    """With `stalled_after` off nothing in flight is judged."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED, bad=BadRules(stalled_after=None)))
    told.at(0.0).polls(a=9).at(9000.0).polls(a=9).expects_nothing()


@given(st.lists(st.tuples(st.sampled_from(["begin", "end", "poll"]), st.integers(1, 8)), max_size=60))
def test_never_an_invention(steps: list[tuple[str, int]]) -> None:
    """Whatever begins and ends, no more are called stalled than have truly waited that long."""
    flights, running, now = Flights(), list[float](), 0.0
    for what, number in steps:
        now += number
        if what == "begin":
            running.append(now)
        elif what == "end" and running:
            running.pop(number % len(running))
            flights.ended += 1
        elif what == "poll":
            flights.sample(now, len(running), "1", 0, 10.0)

            assert flights.stalled(10.0) <= sum(begun <= now - 10.0 for begun in running)


def test_peers_are_compared_over_the_time_that_stalled_ones_waited() -> None:
    """A node that was idle before shows nothing but stalled ones, dated now; its peers answered all the while."""
    told = Story("a", "b").at(0.0).polls(a=4).at(1.0).answers("b", times=40).at(119.0).polls(a=4)
    told.at(120.0).polls(a=4).expects(EJECT, "a", Reason.RATIO)
    assert told.told[0].evidence.peers == Counts(40, 0)

    told = Story("a", "b").at(0.0).answers("b", times=40).at(1.0).polls(a=4).at(121.0).polls(a=4)
    told.expects(WITHHELD, "a", Reason.COMMON_CAUSE)
