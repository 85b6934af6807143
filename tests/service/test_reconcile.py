"""The driver, step by step, on a Caddy in memory: when it reads and changes, what it tells, and how it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tailhealth.core.model import Carried, Command, Ejection, Pools, Reason, Source
from tailhealth.proxies.base import Conflict, Fatal, Forbidden, Load, ProxyError, Refused, Retryable
from tailhealth.service.change import restore
from tailhealth.service.conditions import Kind
from tailhealth.service.pools import NamedPool
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import FILE, State, Wish, Wished
from tests.service.bench import LIMITED, OUT, POOL, SERVING, Bench
from tests.service.fake_caddy import handler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench after its first reading at 100."""
    one = Bench(tmp_path)
    one.step(100.0)
    yield one
    one.close()


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


def test_held_down_upstreams_are_told(bench: Bench) -> None:
    """The proxy's own checks count as out for the engine; a poll that failed tells nothing."""
    bench.reconciler.loaded(Load({}, "1", frozenset({"b:1"})))
    (pools,) = bench.step(102.0).inputs
    assert isinstance(pools, Pools)
    assert [member.held_down for member in pools.pools[0].members] == [False, True, False]
    bench.reconciler.loaded(Load(None, "", problem="Connection refused"))
    assert bench.step(104.0).inputs == ()


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    """It reads and tells, and neither the proxy nor the records change."""
    one = Bench(tmp_path, dry_run=True)
    one.step(100.0)
    one.desire("a:1", OUT, 110.0)
    one.step(111.0)
    assert one.caddy.applied == []
    assert one.state.contents.kept == ()
    assert one.reconciler.restore(112.0).upstreams == ()
    one.close()


def test_the_last_upstream_is_told(bench: Bench) -> None:
    """A removal that was not made is a condition with a name."""
    for upstream in ("a:1", "b:1", "c:1"):
        bench.desire(upstream, OUT, 110.0)
    step = bench.step(111.0)
    assert bench.kinds(step) == [Kind.LAST_UPSTREAM]
    assert bench.caddy.listed() == ["c:1"]


def test_lifting_a_limit_waits_for_another_change_or_twenty_seconds(bench: Bench) -> None:
    """Every change is a reload in the proxy."""
    bench.desire("a:1", LIMITED, 110.0)
    bench.step(111.0)
    assert bench.caddy.handlers[0]["upstreams"][0]["max_requests"] == 1
    bench.desire("a:1", SERVING, 115.0)
    assert bench.step(116.0).next_at == 136.0
    bench.step(136.0)
    assert bench.caddy.applied == [1, 1]
    assert "max_requests" not in bench.caddy.handlers[0]["upstreams"][0]


def test_another_naming_is_taken_over(bench: Bench) -> None:
    """When tailhealth's own configuration is read again the pools get their new names."""
    bench.reconciler.renamed(lambda pool: (NamedPool("mine", frozenset(one.key for one in pool.places)),), ApplyRules())
    (pools,) = bench.step(102.0).inputs
    assert isinstance(pools, Pools)
    assert [pool.name for pool in pools.pools] == ["mine"]


def test_restore_keeps_or_forgets_the_ejections(bench: Bench) -> None:
    """The operator's list is back either way; what a later start applies again is in the state file."""
    original = bench.caddy.text()
    ejection = Ejection(110.0, 140.0, 0, Source.POLICY, Reason.RATIO)
    bench.state.update(carried=(Carried(POOL, "a:1", ejection, strikes=3),))
    bench.desire("a:1", OUT, 110.0)
    bench.step(111.0)
    assert bench.reconciler.restore(112.0).upstreams == ("a:1",)
    assert bench.caddy.text() == original
    assert bench.state.contents.wished == (Wished(POOL, "a:1", Wish(OUT, 110.0)),)
    assert bench.state.contents.carried[0].ejection == ejection
    bench.reconciler.restore(113.0, forget=True)
    bench.state.close()
    with State.open(bench.folder) as state:
        assert state.contents.wished == ()
        assert state.contents.carried == (Carried(POOL, "a:1", strikes=3),)


def test_restore_tells_what_it_can_not_do(bench: Bench) -> None:
    """With the admin interface away, or the weights broken by someone else, the records stay and the reason is told."""
    bench.desire("a:1", OUT, 110.0)
    bench.step(111.0)
    bench.caddy.unreadable = Forbidden("403: host not allowed")
    done = restore(bench.caddy, bench.state, bench.journal, 112.0)
    assert (done.done, done.why) == (False, "403: host not allowed")
    bench.caddy.handlers[0]["load_balancing"] = {"selection_policy": {"policy": "weighted_round_robin", "weights": [1]}}
    done = restore(bench.caddy, bench.state, bench.journal, 113.0)
    assert not done.done
    assert "1 weights stand beside 2 upstreams" in done.why
    assert len(bench.state.contents.kept) == 1
    del bench.caddy.handlers[0]["load_balancing"]
    bench.caddy.after = Retryable("reset")
    assert restore(bench.caddy, bench.state, bench.journal, 114.0).done
    assert bench.caddy.listed() == ["a:1", "b:1", "c:1"]


def test_a_wish_is_shown_in_its_pool(bench: Bench) -> None:
    """Status reads places, original lists and what is out from the groups."""
    bench.desire("b:1", OUT, 110.0)
    bench.step(111.0)
    (group,) = bench.reconciler.groups
    assert group.standings[0].out == {"b:1"}
    assert msgspec.to_builtins(bench.step(112.0).conditions) == ()
