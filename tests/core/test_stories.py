"""Whole stories: the incidents, and what pools do on a bad day (INCIDENTS.md, DESIGN sections 4 to 7)."""

from __future__ import annotations

from random import Random

import pytest

from tailhealth.core.model import Action, End, Reason
from tailhealth.core.rules import GuardRules
from tests.core.harness import Story, attempt, clock, rules, silent

EJECT, READMIT, WITHHELD, RECOVERED = Action.EJECT, Action.READMIT, Action.WITHHELD, Action.RECOVERED
FOUR = ("a", "b", "c", "d")


def test_incident_a_the_wedge() -> None:
    """One of four wedges, clients give up after 150 s, nothing ends 5xx: exactly that node leaves, and comes back well."""
    told = Story(*FOUR)
    for second in range(0, 120, 10):
        told.at(float(second)).answers(*FOUR, header=25.0)
    told.expects_nothing()

    told.at("10:04:00").answers("b", "c", "d", header=40.0).is_left("a", waited=150.0, times=2).expects_nothing()
    told.at("10:04:20").answers("b", "c", "d", header=40.0).is_left("a", waited=150.0, times=2).expects_nothing()
    told.at("10:04:40").answers("b", "c", "d", header=40.0).is_left("a", waited=150.0)
    told.expects(WITHHELD, "a", Reason.COMMON_CAUSE)
    for second, header in ((50, 30.0), (55, 35.0), (58, 45.0)):
        told.at(f"10:04:{second}").answers("b", "c", "d", header=header)
    told.at("10:04:59").is_left("a", waited=150.0, times=3).expects(EJECT, "a", Reason.RATIO, until="10:05:29")
    told.at("10:05:10").is_left("a", waited=150.0, times=5).expects_nothing()

    told.at("10:05:29").expects(READMIT, "a", Reason.TIMER).at("10:06:30").answers("a", times=3, header=31.0)
    told.expects(RECOVERED, "a", Reason.PROBATION)
    assert told.decided(EJECT) == ["a"]


def test_incident_a_by_requests_in_flight() -> None:
    """Clients that wait for ever write no line at all: the proxy's counter tells, while busy nodes stay."""
    told = Story(*FOUR).at(0.0).polls(a=0, b=2, c=2, d=2)
    for second in range(5, 200, 5):
        told.at(float(second))
        if second % 40 == 0:
            told.answers("b", "c", "d", times=2, header=39.0)
        told.polls(a=min(8, second // 5), b=2, c=2, d=2)
        if told.decided(EJECT):
            break
        told.skips()

    assert clock(145.0) == told.now
    assert (told.pending[-1].upstream, told.pending[-1].reason) == ("a", Reason.RATIO)
    assert {"a"} == {one.upstream for one in told.told}
    assert {"stalled"} == set(told.pending[-1].evidence.kinds)
    told.skips()


def test_incident_b_a_batch_job_keeps_everyone_busy() -> None:
    """Twelve in flight on each of two servers, answers of 60-118 s for an hour: healthy and busy."""
    dice = Random(1)
    told = Story("a", "b").at(0.0)
    for second in range(5, 3600, 5):
        told.at(float(second)).answers("a", "b", header=dice.uniform(60.0, 118.0)).polls(a=12, b=12)
    told.expects_nothing()


def test_incident_b_a_restart_of_the_only_server() -> None:
    """Twelve requests fail with 500, then 90 s of refused connections: nothing is ejected, each reason is told once."""
    told = Story("a").at(0.0).answers("a", times=12, header=60.0).at(60.0).fails("a", times=12, took=30.0)
    told.expects(WITHHELD, "a", Reason.MAX_EJECTED)
    for second in range(61, 150):
        told.at(float(second)).refuses("a", times=2)
    told.at(200.0).answers("a", times=6).at(260.0).answers("a", times=8).expects(RECOVERED, "a", Reason.CLEARED)
    told.expects_nothing()


@pytest.mark.parametrize("protected", [(), ("a",)])
def test_incident_c_the_reserved_region(protected: tuple[str, ...]) -> None:
    """A quarter of its calls end 504 for an hour while most succeed, and the others answer 429: nobody is removed."""
    dice = Random(2)
    told = Story(*FOUR, settings=rules(guard=GuardRules(protected=protected)))
    for second in range(3600):
        told.at(float(second)).answers("a", status=504 if dice.random() < 0.25 else 200, header=3.0)
        told.answers("b", "c", "d", status=429 if dice.random() < 0.5 else 200, header=2.0).skips()

    assert told.decided(EJECT) == []


def test_two_nodes_restarted_one_after_the_other() -> None:
    """The one that is back must not stay out while the other refuses."""
    told = Story("a", "b").at("10:00:00").answers("a", "b", times=10)
    told.at("10:00:10").answers("b").refuses("a").at("10:00:11").answers("b").refuses("a")
    told.expects(EJECT, "a", Reason.CONSECUTIVE_REFUSED, until="10:00:41")
    told.at("10:00:15").answers("b", times=4)
    told.at("10:00:20").refuses("b").at("10:00:20.5").refuses("b").expects(WITHHELD, "b", Reason.MAX_EJECTED)
    told.expects(READMIT, "a", Reason.RELIEF, at="10:00:20.5").expects(WITHHELD, "b", Reason.COMMON_CAUSE)
    told.at("10:00:21").answers("a").at("10:00:22").refuses("b").expects(EJECT, "b", Reason.CONSECUTIVE_REFUSED)
    told.at("10:00:23").answers("a", times=2).expects(RECOVERED, "a", Reason.PROBATION)
    told.at("10:00:52").expects(READMIT, "b", Reason.TIMER).answers("b", times=3).expects(RECOVERED, "b", Reason.PROBATION)


@pytest.mark.parametrize("nodes", [("a", "b"), ("a", "b", "c"), FOUR])
def test_a_whole_pool_that_fails_altogether(nodes: tuple[str, ...]) -> None:
    """A broken dependency hits every node alike, and ejecting helps nobody; each upstream is told of once."""
    told = Story(*nodes).at(0.0).answers(*nodes, times=5)
    for second in range(1, 120):
        told.at(float(second)).fails(*nodes, times=2).skips()

    assert told.decided(EJECT) == []
    assert sorted(told.decided(WITHHELD)) == list(nodes)


def test_both_refuse_at_once() -> None:
    """Half of the peers refuse too: none is taken out."""
    told = Story("a", "b").at(0.0).answers("a", "b", times=5)
    for second in range(1, 20):
        told.at(float(second)).refuses("a", "b").skips()

    assert told.decided(EJECT) == []


def test_one_poison_request() -> None:
    """A request that every node fails on is retried all over the pool: it is the request, not the nodes."""
    told = Story(*FOUR).at(0.0).answers(*FOUR, times=3)
    for second in range(1, 30):
        told.at(float(second)).answers(*FOUR).fails(*FOUR, times=2, client="192.0.2.66").skips()

    assert told.decided(EJECT) == []


@pytest.mark.parametrize("waits", [20.0, 30.0])
def test_a_node_that_answers_nobody_while_clients_give_up_early(waits: float) -> None:
    """Each of its requests is ignored, since half a minute proves nothing; that nobody gets an answer does (case 20)."""
    told = Story("a", "b").at(0.0)
    for i in range(1, 13):
        told.at(i * 5.0).answers("b", header=0.02).is_left("a", waited=waits).skips()

    assert [one.reason for one in told.told if one.action is EJECT] == [Reason.CONSECUTIVE_UNANSWERED]
    assert {"a"} == {one.upstream for one in told.told}


def test_a_pool_that_answers_nobody() -> None:
    """If clients give up everywhere, no node is worse than the others."""
    told = Story("a", "b").at(0.0)
    for i in range(1, 30):
        told.at(i * 5.0).is_left("a", "b", waited=20.0).skips()

    assert told.decided(EJECT) == []


def test_two_of_four_wedge_at_once() -> None:
    """The second is compared without the first, which is hopeless or out already."""
    told = Story(*FOUR).at(0.0).answers(*FOUR, times=8)
    for i in range(1, 40):
        told.at(i * 10.0).answers("c", "d", header=5.0).is_left("a", "b", waited=150.0).skips()

    assert sorted(set(told.decided(EJECT))) == ["a", "b"]
    assert told.engine.pools["pool"].members["c"].ejection is None


def test_a_proxy_that_gives_up() -> None:
    """Timed out attempts are bad whatever the client does."""
    told = Story("a", "b").at(0.0).answers("b", times=12).at(1.0)
    told.sees(*[silent("a", clock(1.0), End.TIMED_OUT, 30.0)] * 7).expects(WITHHELD, "a", Reason.COMMON_CAUSE)
    told.at(2.0).answers("b", times=8).at(3.0).sees(*[attempt("a", clock(3.0), status=504)] * 5)
    told.expects(EJECT, "a", Reason.RATIO)
