"""What the reconciler tells, in dry runs too, and what `restore` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tailhealth.core.model import Carried, Ejection, Pools, Reason, Source
from tailhealth.proxies.base import Forbidden, Load, Retryable
from tailhealth.service.change import restore
from tailhealth.service.conditions import Kind
from tailhealth.service.pools import NamedPool
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import State, Wish, Wished
from tests.service.bench import LIMITED, OUT, POOL, SERVING, Bench
from tests.service.fake_caddy import handler

if TYPE_CHECKING:
    from pathlib import Path


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


@pytest.mark.parametrize(("delay", "pause"), [({}, 30.0), ({"stream_close_delay": "5m"}, 2.0)])
def test_websockets_make_changes_rarer(tmp_path: Path, delay: dict[str, Any], pause: float) -> None:
    """Once an upgraded connection was seen, a handler without `stream_close_delay` is changed every thirty seconds at most."""
    bench = Bench(tmp_path, handler("a:1", "b:1", "c:1", **delay), rules=ApplyRules(switched_interval=30.0))
    try:
        bench.step(100.0)
        bench.reconciler.note_switched()
        bench.desire("a:1", OUT, 110.0)
        bench.step(110.25)
        bench.desire("b:1", OUT, 111.0)

        assert bench.step(111.25).next_at == pytest.approx(110.25 + pause, abs=0.01)
    finally:
        bench.close()
