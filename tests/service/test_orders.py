"""Operator's orders from the request to the answer, with the engine that carries them out."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from tailhealth.core.engine import Engine
from tailhealth.core.model import Command, Decision, Idle, Pool, PoolMember, Pools, Verb
from tailhealth.core.rules import Settings
from tailhealth.service.control import Reply, Request
from tailhealth.service.orders import OrderDesk, OrderError, command_of


class Office:
    """An engine with two pools, and the desk before it."""

    def __init__(self, lateness: float = 1.0) -> None:
        self.engine = Engine(Settings(lateness=lateness))
        self.desk = OrderDesk(self.engine)
        shared, other = PoolMember("a:1"), PoolMember("b:1")
        pools = (Pool("one", (shared, other)), Pool("two", (shared, PoolMember("[::1]:1"))))
        self.engine.feed([Pools(100.0, pools), Idle(102.0)])

    def order(self, command: str, upstream: str = "a:1", at: float = 110.0, **fields: Any) -> Future[Reply]:
        """Hand in a request."""
        given = command_of(Request(command, upstream=upstream, **fields), self.engine, at)
        reply: Future[Reply] = Future()
        self.desk.take(given, reply)
        self.settle(self.engine.feed([given]))
        return reply

    def settle(self, decisions: list[Decision]) -> None:
        """Let the desk see what was decided."""
        self.desk.settle(decisions)

    def passes(self, until: float) -> None:
        """Let time pass."""
        self.settle(self.engine.feed([Idle(until)]))


def test_an_answer_waits_for_its_turn() -> None:
    """An order takes its place among the lines, so it is answered once the engine has passed it, with what came of it."""
    office = Office()
    reply = office.order("eject", duration=30.0, why="new driver")
    assert not reply.done()
    office.passes(110.9)
    assert not reply.done()
    office.passes(111.0)
    answer = reply.result(0)
    assert answer.ok
    assert (answer.data["command"], answer.data["pools"]) == ("eject", ["one", "two"])
    assert [(one["pool"], one["until"], one["why"]) for one in answer.data["decisions"]] == [
        ("one", 140.0, "new driver"), ("two", 140.0, "new driver"),
    ]  # fmt: skip


def test_only_one_pool() -> None:
    """With a pool named, the others are left alone, and the answer names what it was about."""
    office = Office(lateness=0.0)
    answer = office.order("eject", pool="two").result(0)
    assert answer.data["pools"] == ["two"]
    assert [one["pool"] for one in answer.data["decisions"]] == ["two"]


def test_orders_of_one_moment_are_told_apart() -> None:
    """Each is answered with its own decisions."""
    office = Office(lateness=0.0)
    first, second = office.order("eject", "a:1"), office.order("eject", "b:1", force=True)
    assert {one["upstream"] for one in first.result(0).data["decisions"]} == {"a:1"}
    assert {one["upstream"] for one in second.result(0).data["decisions"]} == {"b:1"}


def test_pause_is_about_pools() -> None:
    """It needs no upstream, and what it brings is no decision."""
    office = Office(lateness=0.0)
    answer = office.order("pause", "")
    assert answer.result(0).data == {"command": "pause", "pools": ["one", "two"], "decisions": []}
    assert office.order("resume", "", pool="two").result(0).data["pools"] == ["two"]


def test_the_last_one_serving() -> None:
    """A pool is not emptied without `force`; the answer says in which."""
    office = Office(lateness=0.0)
    assert office.order("eject", "b:1").result(0).ok
    refused = office.order("eject", "a:1", pool="one", at=111.0).result(0)
    assert (refused.ok, refused.error) == (False, "a:1 is the last one serving in one: use --force to empty the pool")
    assert office.order("eject", "a:1", pool="one", at=112.0, force=True).result(0).ok


def test_an_address_in_any_spelling() -> None:
    """What the operator writes is made canonical."""
    office = Office(lateness=0.0)
    answer = office.order("eject", "[0:0:0:0:0:0:0:1]:1")
    assert [one["upstream"] for one in answer.result(0).data["decisions"]] == ["[::1]:1"]


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (Request("explode", upstream="a:1"), "explode: no such command"),
        (Request("eject", upstream="a:1", pool="three"), "three: no such pool; there are: one, two"),
        (Request("pause", pool="three"), "three: no such pool; there are: one, two"),
        (Request("eject", upstream="c:1"), "c:1: no such upstream; there are: [::1]:1, a:1, b:1"),
        (Request("eject", upstream="b:1", pool="two"), "b:1: no such upstream; there are: [::1]:1, a:1"),
        (Request("eject"), ": "),
    ],
)
def test_what_can_not_be_ordered(request_: Request, problem: str) -> None:
    """Each refusal says why, and what there is."""
    with pytest.raises(OrderError) as caught:
        command_of(request_, Office().engine, 110.0)
    assert str(caught.value).startswith(problem)


def test_before_the_proxy_was_read() -> None:
    """Nothing is known yet, and that is said."""
    engine = Engine(Settings())
    with pytest.raises(OrderError, match="no such upstream; there are: none yet"):
        command_of(Request("eject", upstream="a:1"), engine, 1.0)
    with pytest.raises(OrderError, match="no such pool; there are: none yet"):
        command_of(Request("eject", upstream="a:1", pool="p"), engine, 1.0)


def test_an_order_is_never_of_the_past() -> None:
    """A clock behind the log's own time does not date it before what was judged."""
    office = Office()
    given = command_of(Request("pin_in", upstream="a:1", duration=5.0), office.engine, 50.0)
    assert given == Command(102.0, Verb.PIN_IN, "a:1", None, duration=5.0)


def test_nobody_waits_for_ever() -> None:
    """When the controller stops, whoever still waits is told."""
    office = Office()
    reply = office.order("eject")
    office.desk.give_up()
    assert reply.result(0) == Reply(ok=False, error="the controller is stopping")
    office.passes(200.0)
