"""The driver, step by step, on a Caddy in memory: when it reads and changes, what it tells, and how it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailhealth.core.model import Command, Pools
from tailhealth.proxies.base import Conflict, Fatal, Forbidden, ProxyError, Refused, Retryable
from tailhealth.service.conditions import Kind
from tailhealth.service.state import FILE
from tests.service.bench import OUT, POOL, SERVING, Bench
from tests.service.fake_caddy import handler

if TYPE_CHECKING:
    from pathlib import Path


def test_the_first_step_tells_the_pools(tmp_path: Path) -> None:
    """The engine hears of the operator's pools at once, and then only when they change."""
    one = Bench(tmp_path)
    step = one.step(100.0)
    (pools,) = step.inputs
    assert isinstance(pools, Pools)
    assert [pool.name for pool in pools.pools] == [POOL]
    assert step.next_at == 160.0
    assert one.step(160.0).inputs == ()
    one.caddy.load_config(handler("a:1", "b:1"))
    (pools,) = one.step(220.0).inputs
    assert isinstance(pools, Pools)
    assert [pool.name for pool in pools.pools] == ["a:1+b:1"]
    one.close()


def test_wishes_that_fall_together_are_one_change(bench: Bench) -> None:
    """Coalesced for 250 ms, then one request; the next one waits for two seconds since."""
    bench.desire("a:1", OUT, 110.0)
    assert bench.step(110.1).next_at == 110.25
    bench.desire("b:1", OUT, 110.2)
    bench.step(110.25)
    assert bench.caddy.listed() == ["c:1"]
    assert bench.caddy.applied == [1]
    bench.desire("a:1", SERVING, 110.5)
    assert bench.step(111.0).next_at == pytest.approx(112.25, abs=0.02)
    bench.step(112.3)
    assert bench.caddy.listed() == ["a:1", "c:1"]


def test_a_wish_that_is_fulfilled_changes_nothing(bench: Bench) -> None:
    """Serving is what all do already; being out twice is being out."""
    bench.desire("a:1", SERVING, 110.0)
    assert bench.step(110.0).next_at == 160.0
    bench.desire("a:1", OUT, 111.0)
    bench.step(112.0)
    bench.desire("a:1", OUT, 115.0)
    bench.step(120.0)
    assert bench.caddy.applied == [1]


def test_pools_of_several_handlers_go_in_one_request(tmp_path: Path) -> None:
    """Changes in several places are one apply."""
    one = Bench(tmp_path, handler("a:1", "b:1", "c:1"), handler("c:1", "b:1", "a:1"), handler("a:1", "d:1"))
    one.step(100.0)
    one.desire("a:1", OUT, 110.0)
    one.desire("d:1", OUT, 110.0, pool="a:1+d:1")
    step = one.step(111.0)
    assert one.caddy.applied == [3]
    assert [one.caddy.listed(index) for index in range(3)] == [["b:1", "c:1"], ["c:1", "b:1"], ["a:1"]]
    assert step.confirmed == {("a:1+d:1", "d:1"): 111.01}, "a:1 still serves in the other pool"
    one.close()


def test_the_intent_is_on_disk_before_the_proxy_is_touched(bench: Bench) -> None:
    """When it can't be written nothing is changed, and that is a state that heals."""
    (bench.folder / f"{FILE}.new").mkdir()
    bench.desire("a:1", OUT, 110.0)
    step = bench.step(111.0)
    assert bench.kinds(step) == [Kind.STATE_UNWRITABLE]
    assert bench.caddy.listed() == ["a:1", "b:1", "c:1"]
    (bench.folder / f"{FILE}.new").rmdir()
    assert bench.kinds(bench.step(step.next_at)) == []
    assert bench.caddy.listed() == ["b:1", "c:1"]


@pytest.mark.parametrize("done", [True, False])
def test_an_unknown_outcome_is_read_back_first(bench: Bench, done: bool) -> None:
    """After a reset the next step comes soon, and changes only what was not done."""
    bench.desire("a:1", OUT, 110.0)
    if done:
        bench.caddy.after = Retryable("Connection reset by peer")
    else:
        bench.caddy.before = Retryable("Connection reset by peer")
    step = bench.step(111.0)
    assert bench.kinds(step) == [Kind.ADMIN_UNREACHABLE]
    assert step.next_at == pytest.approx(111.1)
    step = bench.step(111.1)
    assert step.conditions == ()
    bench.step(114.0)
    assert bench.caddy.listed() == ["b:1", "c:1"]
    assert bench.caddy.applied == [1]
    assert bench.journaled("apply")[0]["answer"].startswith("unknown: ")


def test_a_conflict_is_read_and_planned_again(bench: Bench) -> None:
    """The other writer's change is kept."""
    bench.desire("a:1", OUT, 110.0)
    bench.caddy.before = Conflict("412")
    step = bench.step(111.0)
    assert bench.kinds(step) == [Kind.CONFLICT]
    bench.caddy.handlers[0]["flush_interval"] = -1
    assert bench.step(step.next_at).conditions == ()
    assert bench.caddy.listed() == ["b:1", "c:1"]
    assert bench.caddy.handlers[0]["flush_interval"] == -1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Forbidden("403: host not allowed: caddy:2019"), Kind.FORBIDDEN),
        (Fatal("404"), Kind.NO_PROXY),
        (Retryable("Connection refused"), Kind.ADMIN_UNREACHABLE),
    ],
)
def test_what_can_not_be_read_is_a_named_state_that_heals(bench: Bench, error: ProxyError, kind: Kind) -> None:
    """It has the proxy's words and its beginning, is journaled once, and ends by itself; what is desired is not lost."""
    bench.desire("a:1", OUT, 110.0)
    bench.caddy.unreadable = error
    step = bench.step(111.0)
    bench.caddy.unreadable = error
    step = bench.step(step.next_at)
    assert [(one.kind, one.why, one.since) for one in step.conditions] == [(kind, str(error), 111.0)]
    assert [one["kind"] for one in bench.journaled("trouble")] == [kind.value]
    assert bench.step(step.next_at).conditions == ()
    assert bench.caddy.listed() == ["b:1", "c:1"]


def test_a_refused_change_is_not_made_again(bench: Bench) -> None:
    """Until it is another change, the configuration is another, or ten minutes have passed."""
    bench.desire("a:1", OUT, 110.0)
    bench.caddy.before = Refused("500: loading new config")
    bench.step(111.0)
    step = bench.step(114.0)
    assert [(one.kind, one.pool) for one in step.conditions] == [(Kind.REFUSED, POOL)]
    bench.reconciler.look()
    bench.step(700.0)
    assert bench.caddy.applied == []
    bench.desire("b:1", OUT, 701.0)
    bench.step(702.0)
    assert bench.caddy.listed() == ["c:1"]


def test_a_refused_change_is_made_again_after_ten_minutes(bench: Bench) -> None:
    """What the proxy did not like may have been a file beside its configuration."""
    bench.desire("a:1", OUT, 110.0)
    bench.caddy.before = Refused("500: loading new config")
    bench.step(111.0)
    bench.step(710.9)
    assert bench.caddy.applied == []
    step = bench.step(771.0)
    assert bench.caddy.applied == [1]
    assert step.conditions == ()


def test_one_pool_that_is_refused_does_not_hold_up_another(tmp_path: Path) -> None:
    """After a refusal pools are changed one by one."""
    one = Bench(tmp_path, handler("a:1", "b:1", "c:1"), handler("a:1", "d:1"))
    one.step(100.0)
    one.desire("a:1", OUT, 110.0)
    one.desire("d:1", OUT, 110.0, pool="a:1+d:1")
    one.caddy.before = Refused("both")
    one.step(111.0)
    one.caddy.before = Refused("the first")
    one.step(114.0)
    step = one.step(117.0)
    step = one.step(120.0)
    assert [(one.pool, one.why) for one in step.conditions] == [(POOL, "the first")]
    assert [one.caddy.listed(index) for index in range(2)] == [["a:1", "b:1", "c:1"], ["a:1"]]
    one.close()


def test_looks_notice_drift_at_once(bench: Bench) -> None:
    """A reload that wipes our mark is answered as soon as it is suspected."""
    bench.desire("a:1", OUT, 110.0)
    step = bench.step(111.0)
    assert step.confirmed == {(POOL, "a:1"): 111.01}
    bench.caddy.load_config(handler("a:1", "b:1", "c:1"))
    bench.reconciler.look()
    step = bench.step(113.5)
    assert bench.caddy.listed() == ["b:1", "c:1"]
    assert step.confirmed == {(POOL, "a:1"): 113.51}
    assert [one["what"] for one in bench.journaled("drift")] == ["loaded"]


def test_the_operators_hand_is_told_before_the_pools_that_follow_from_it(bench: Bench) -> None:
    """The order is about the pool that the engine knows, whatever the new list is called."""
    bench.desire("a:1", OUT, 110.0)
    bench.step(111.0)
    bench.caddy.handlers[0]["upstreams"].append({"dial": "x:1"})
    command, pools = bench.step(171.1).inputs
    assert isinstance(command, Command)
    assert (command.pool, command.upstream, command.by_config) == (POOL, "a:1", True)
    assert isinstance(pools, Pools)
    assert [pool.name for pool in pools.pools] == [f"{POOL}+x:1"]
