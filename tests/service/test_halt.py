"""Pools that are not acted on: after a change that broke the proxy, and while a generator is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailhealth.core.model import Pools
from tailhealth.proxies.base import Retryable, UpstreamState
from tailhealth.service.conditions import Kind
from tailhealth.service.journal import Journal
from tailhealth.service.reconcile import Reconciler, Step
from tailhealth.service.state import State, Wish
from tests.service.fake_caddy import FakeCaddy, handler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OUT, SERVING = UpstreamState.OUT, UpstreamState.SERVING
POOL = "a:1+b:1+c:1"


@pytest.fixture
def caddy() -> FakeCaddy:
    """A Caddy with two pools."""
    return FakeCaddy(handler("a:1", "b:1", "c:1"), handler("d:1", "e:1"))


@pytest.fixture
def reconciler(tmp_path: Path, caddy: FakeCaddy) -> Iterator[Reconciler]:
    """A reconciler that has read it, and taken a:1 out at 111."""
    with State.open(tmp_path) as state, Journal(tmp_path / "journal.jsonl") as journal:
        one = Reconciler(caddy, state, journal)
        one.step(100.0)
        one.desire(POOL, "a:1", Wish(OUT, 110.0))
        one.step(111.0)
        yield one


def kinds(step: Step) -> list[tuple[Kind, str | None]]:
    """What is the matter, and where."""
    return [(one.kind, one.pool) for one in step.conditions]


def actionable(step: Step) -> dict[str, bool]:
    """Which pools the engine was told it may act on."""
    (pools,) = [one for one in step.inputs if isinstance(one, Pools)]
    return {pool.name: all(member.actionable for member in pool.members) for pool in pools.pools}


def broken(reconciler: Reconciler) -> Step:
    """Let three requests fail right after the latest change."""
    for at in (111.5, 112.0, 113.0):
        reconciler.note_aborted(at)
    return reconciler.step(113.0)


def test_a_change_that_broke_the_proxy_is_taken_back_at_once(caddy: FakeCaddy, reconciler: Reconciler) -> None:
    """Without waiting for the pause between changes; the engine and the operator hear of it, the other pool goes on."""
    step = broken(reconciler)
    assert caddy.listed() == ["a:1", "b:1", "c:1"]
    assert kinds(step) == [(Kind.STOPPED, POOL)]
    assert actionable(step) == {POOL: False, "d:1+e:1": True}
    reconciler.desire("d:1+e:1", "d:1", Wish(OUT, 120.0))
    assert kinds(reconciler.step(121.0)) == [(Kind.STOPPED, POOL)]
    assert [caddy.listed(0), caddy.listed(1)] == [["a:1", "b:1", "c:1"], ["e:1"]]


def test_only_the_latest_change_is_taken_back(caddy: FakeCaddy, reconciler: Reconciler) -> None:
    """What was out before it stays out."""
    reconciler.desire(POOL, "b:1", Wish(OUT, 200.0))
    reconciler.step(201.0)
    reconciler.note_aborted(202.0, 3)
    step = reconciler.step(203.0)
    assert caddy.listed() == ["b:1", "c:1"]
    assert kinds(step) == [(Kind.STOPPED, POOL)]


def test_two_failures_are_no_reason(caddy: FakeCaddy, reconciler: Reconciler) -> None:
    """One less than three."""
    reconciler.note_aborted(112.0, 2)
    assert kinds(reconciler.step(180.0)) == []
    assert caddy.listed() == ["b:1", "c:1"]


def test_resuming_acts_again(caddy: FakeCaddy, reconciler: Reconciler) -> None:
    """The operator looked into it."""
    broken(reconciler)
    reconciler.resume(POOL)
    step = reconciler.step(120.0)
    assert kinds(step) == []
    assert actionable(step)[POOL]
    assert caddy.listed() == ["b:1", "c:1"]


def test_a_list_that_the_operator_changed_is_acted_on_again(caddy: FakeCaddy, reconciler: Reconciler) -> None:
    """What broke with the old configuration may be well with the new one."""
    broken(reconciler)
    caddy.handlers[0]["upstreams"].append({"dial": "x:1"})
    assert kinds(reconciler.step(180.0)) == []


def test_the_way_back_is_tried_again_when_it_fails(caddy: FakeCaddy, reconciler: Reconciler) -> None:
    """It is owed until it is done."""
    caddy.before = Retryable("Connection refused")
    step = broken(reconciler)
    assert (Kind.ADMIN_UNREACHABLE, None) in kinds(step)
    assert caddy.listed() == ["b:1", "c:1"]
    step = reconciler.step(step.next_at)
    assert kinds(step) == [(Kind.STOPPED, POOL)]
    assert caddy.listed() == ["a:1", "b:1", "c:1"]


def test_a_generator_stops_only_its_pool(caddy: FakeCaddy, reconciler: Reconciler) -> None:
    """Four rewrites in ten minutes."""
    for number in range(4):
        caddy.load_config(handler("a:1", "b:1", "c:1"), handler("d:1", "e:1"))
        reconciler.look()
        step = reconciler.step(120.0 + 10 * number)
    assert kinds(step) == [(Kind.GENERATOR, POOL)]
    assert actionable(step) == {POOL: False, "d:1+e:1": True}
    assert caddy.listed() == ["a:1", "b:1", "c:1"]
    assert kinds(reconciler.step(720.0)) == []
    assert caddy.listed() == ["b:1", "c:1"]
