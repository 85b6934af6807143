"""What the real engine decides in the cases that say what must be decided.

The cases assume a window of 60 s and ten samples; DESIGN's own defaults decide here (8 outcomes or 30 s) unless a test says
otherwise, and come to what each case asks for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tailhealth.core.engine import Engine
from tailhealth.core.model import Action, Command, Decision, Idle, Pool, PoolMember, Pools, Reason, Verb
from tailhealth.core.rules import EjectRules, PoolRules, Settings
from tailhealth.core.view import PoolView, View, view
from tailhealth.logs.detect import open_reader
from tailhealth.logs.reading import Event, Tally
from tailhealth.logs.rules import LogRules
from tests.case_reading import FOLDER, case_bytes
from tests.test_cases import RULES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BASE = 1_796_000_000.0
A, B, C = "10.9.0.1:8080", "10.9.0.2:8080", "10.9.0.3:8080"


@dataclass
class Judged:
    """A case that went through the engine."""

    decisions: list[Decision]
    tally: Tally
    view: View

    @property
    def pool(self) -> PoolView:
        """Its only pool."""
        (pool,) = self.view.pools
        return pool

    def told(self, *actions: Action) -> list[tuple[str, Action, Reason, float]]:
        """Return upstream, action, reason and seconds since the base time of decisions of these kinds, or of all."""
        return [
            (one.upstream, one.action, one.reason, one.at - BASE) for one in self.decisions if one.action in (actions or Action)
        ]


def configured(case: int) -> list[str]:
    """Return the pool of a case's configuration."""
    [path] = FOLDER.glob(f"{case}-*.conf.json")
    config = json.loads(path.read_bytes())
    return [one.get("dial") or one["server"] for one in config.get("upstreams") or config["pool"]]


def judged(
    case: int,
    *nodes: str | PoolMember,
    now: float | None = None,
    order: Callable[[list[Event]], list[Event]] = list,
    commands: Sequence[Command] = (),
) -> Judged:
    """Let the engine judge a case, live at `now` or in history."""
    default = PoolRules(bad=RULES.get(case, PoolRules().bad), eject=EjectRules(jitter=0.0))
    engine = Engine(Settings(default=default))
    members = tuple(PoolMember(node) if isinstance(node, str) else node for node in nodes)
    decisions = engine.feed([Pools(0.0, (Pool("pool", members),)), *([Idle(now)] if now is not None else [])])
    tally = Tally()
    reader = open_reader(LogRules(), 0, "case.log", tally)
    events = reader.feed(case_bytes(case), 0, now) + reader.finish()
    for command in commands:
        decisions += engine.feed([*(event for event in events if event.ended <= command.at), command])
        events = [event for event in events if event.ended > command.at]
    decisions += engine.read(order(events))
    decisions += engine.finish()
    return Judged(decisions, tally, view(engine, BASE))


def test_only_499_and_a_node_that_hangs() -> None:
    """Case 20: clients give up after 30 s, which is ignored one by one; that nobody is answered ejects the node, no other."""
    assert judged(20, A, B).told(Action.EJECT) == [(B, Action.EJECT, Reason.CONSECUTIVE_UNANSWERED, 42.0)]


def test_a_name_with_one_bad_address() -> None:
    """Case 33: half of a name's addresses fail: the name is judged as a whole, and stays."""
    one = judged(33, PoolMember("app.internal:8080", names=("10.9.0.21:8080", "10.9.0.22:8080")))

    assert one.decisions == []
    assert (one.pool.upstreams[0].good_total, one.pool.upstreams[0].bad_total) == (6, {"refused": 6})


def test_an_address_of_no_pool() -> None:
    """Case 34: failures of an address that no pool has are counted as unmanaged and never acted on."""
    one = judged(34, *configured(34))

    assert one.decisions == []
    assert (one.view.unmanaged_attempts, one.view.unmanaged) == (15, ("10.9.7.7:80",))


@pytest.mark.parametrize(
    "order", [list, lambda events: sorted(events, key=lambda event: event.ended), lambda events: events[::-1]]
)
def test_workers_out_of_order(order: Callable[[list[Event]], list[Event]]) -> None:
    """Case 37: lines out of order are judged like those of the sorted file."""
    one, sorted_one = judged(37, A, B, order=order), judged(37, A, B, order=lambda events: sorted(events, key=_ended))

    assert (one.decisions, one.pool) == (sorted_one.decisions, sorted_one.pool)
    assert one.pool.upstreams[0].good_total == 12


def _ended(event: Event) -> float:
    return event.ended


def test_a_buffered_log_that_comes_late() -> None:
    """Case 38: an outage of twenty minutes ago that arrives now ejects nobody; in history it does."""
    assert judged(38, A, B, now=BASE).decisions == []
    assert judged(38, A, B).told(Action.EJECT) == [(B, Action.EJECT, Reason.CONSECUTIVE_REFUSED, -1193.0)]


def test_what_began_before_an_ejection() -> None:
    """Case 39: time-outs of requests that began before the ejection of BASE + 1 neither prolong it nor end the probation."""
    eject = Command(BASE + 1, Verb.EJECT, B, duration=30.0)
    one = judged(39, A, B, commands=[eject])

    assert one.told() == [
        (B, Action.EJECT, Reason.OPERATOR, 1.0),
        (B, Action.READMIT, Reason.TIMER, 31.0),
    ]
    assert one.pool.upstreams[1].ignored_total == {"before_action": 2}


@pytest.mark.parametrize(
    ("case", "nodes", "hint"),
    [
        (43, (A, B), "no_upstream_field"),
        (44, configured(44), "host_without_port"),
        (46, (A, B), "literal_placeholder"),
        (61, (A, B, C), "level_filter"),
        (69, (A, B), "hashed_upstream"),
    ],
)
def test_a_setup_that_tells_too_little(case: int, nodes: Sequence[str], hint: str) -> None:
    """Case 43, case 44, case 46, case 61, case 69: nobody is ejected on such a log, and what is wrong with it is said."""
    one = judged(case, *nodes)

    assert one.told(Action.EJECT) == []
    assert hint in one.tally.hints


def test_the_authentication_server_in_the_log() -> None:
    """Case 55: what `forward_auth` asked is no upstream of the pool, and a 503 without an upstream is nobody's."""
    one = judged(55, *configured(55))

    assert one.decisions == []
    assert one.view.unmanaged == ("10.9.5.5:9091",)
    assert [upstream.bad_total for upstream in one.pool.upstreams] == [{}, {}]


def test_the_whole_pool_fails() -> None:
    """Case 105: a pool of three that fails altogether loses none, each is told of once, and the cause is a common one."""
    one = judged(105, *configured(105))

    assert one.told(Action.EJECT) == []
    assert [(upstream, reason) for upstream, _, reason, _ in one.told(Action.WITHHELD)] == [
        (node, Reason.COMMON_CAUSE) for node in (A, B, C)
    ]


def test_a_node_that_flaps() -> None:
    """Case 110: a node that fails and recovers every few seconds is moved a few times in two minutes, not twenty."""
    one = judged(110, A, B)

    assert 1 <= len(one.told(Action.EJECT, Action.READMIT)) <= 4


def test_no_lines_of_a_node_that_is_out() -> None:
    """Case 116: it comes back by timer and on probation, not because there are no errors of it any more."""
    one = judged(116, A, B)

    assert one.told(Action.EJECT, Action.READMIT) == [
        (B, Action.EJECT, Reason.CONSECUTIVE_REFUSED, 7.0),
        (B, Action.READMIT, Reason.TIMER, 37.0),
    ]
    assert one.pool.upstreams[1].standing == "probation"


def test_too_few_samples() -> None:
    """Case 117: three failures in an hour are no ratio."""
    assert judged(117, A, B).decisions == []


def test_probes_that_dilute() -> None:
    """Case 119: without the probes ten of ten requests fail, and the node goes; the probes count on no side."""
    one = judged(119, A, B)

    assert [upstream for upstream, *_ in one.told(Action.EJECT)] == [B]
    assert all(decision.evidence.counted == decision.evidence.bad for decision in one.decisions)


def test_grpc_failures() -> None:
    """Case 120: a gRPC status that says broken is bad although HTTP says 200, one that is the client's matter is not."""
    first = judged(120, A, B).pool.upstreams[0]

    assert (first.good_total, first.bad_total) == (2, {"grpc": 2})


def test_which_statuses_are_failures() -> None:
    """Case 121: 500, 503, 504 and 599 are bad, what the client caused is good, a client that left is ignored."""
    first = judged(121, A, B).pool.upstreams[0]

    assert (first.good_total, first.bad_total) == (6, {"status": 4})
    assert sum(first.ignored_total.values()) == 1


def test_an_upstream_per_request() -> None:
    """Case 122: five hundred addresses that no pool has share one row, with a bounded sample, and nothing is done."""
    one = judged(122, A, B)

    assert one.decisions == []
    assert (one.view.unmanaged_attempts, len(one.pool.upstreams)) == (500, 2)
    assert len(one.view.unmanaged) == 20
