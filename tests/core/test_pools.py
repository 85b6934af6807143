"""Pools as the proxy names them: changes, shared addresses, strangers, blindness."""

from __future__ import annotations

import pytest

from tailhealth.core.engine import Engine
from tailhealth.core.model import Action, Idle, Origin, Pool, PoolMember, Reason
from tailhealth.core.registry import DISCOVERED, LOG_POOL
from tailhealth.core.rules import GuardRules, PoolRules, Settings, WindowRules
from tailhealth.core.strangers import ADDRESSES
from tests.core.harness import POOL, Story, attempt, clock, pool, rules

EJECT, READMIT, WITHHELD, RECOVERED = Action.EJECT, Action.READMIT, Action.WITHHELD, Action.RECOVERED
UNGUARDED = GuardRules(common_cause=False)


def story(*nodes: str | PoolMember | Pool, pools: dict[str, PoolRules] | None = None) -> Story:
    """Return a pool, or pools, without a common cause guard."""
    return Story(*nodes, settings=rules(guard=UNGUARDED), pools=pools)


def test_an_added_upstream_counts_from_now_on() -> None:
    """It is judged like the others, and the cap is that of the larger pool."""
    told = story("a", "b").fails("c", times=3).expects_nothing().names(pool("a", "b", "c", "d")).fails("c")
    told.expects(EJECT, "c", Reason.RATIO)
    told.at("10:00:11").fails("a", times=4).expects(EJECT, "a", Reason.RATIO)


def test_a_removed_upstream_is_forgotten() -> None:
    """It never comes back by itself; named again, it begins anew."""
    told = story("a", "b").fails("a", times=4).expects(EJECT, "a", Reason.RATIO).names(pool("b", "c"))
    told.at("10:05:00").expects_nothing().names(pool("a", "b")).fails("a", times=4).expects(EJECT, "a", Reason.RATIO, strikes=0)


def test_the_others_keep_their_state() -> None:
    """A change of the list neither empties windows nor ends times out."""
    told = story("a", "b").fails("b", times=3).at("10:00:01").fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told.at("10:00:20").names(pool("x", "a", "b", "y")).fails("b").expects(EJECT, "b", Reason.RATIO)
    told.at("10:00:31").expects(READMIT, "a", Reason.TIMER, at="10:00:31")


def test_the_pool_is_forgotten_with_its_name() -> None:
    """A pool that is no longer named, nor any of its upstreams, leaves nothing, its settle time among it."""
    told = story("a", "b").fails("a", times=4).skips().names(pool("c", "d", name="other")).names(pool("a", "b"))
    told.fails("b", times=4).expects(EJECT, "b", Reason.RATIO)


def test_held_down_changes_with_the_list() -> None:
    """What the proxy's own checks hold down counts as out from the moment it is known."""
    told = story("a", "b", "c").names(pool("a", "b", PoolMember("c", held_down=True))).fails("a", times=4)
    told.expects(WITHHELD, "a", Reason.MAX_EJECTED).at("10:00:01").names(pool("a", "b", "c")).fails("a")
    told.expects(EJECT, "a", Reason.RATIO)


def test_each_pool_has_its_own_settings() -> None:
    """A pool with a table of its own is judged by it."""
    mild = rules(guard=UNGUARDED, window=WindowRules(min_requests=6, last=8))
    told = Story(
        pool("a", "b", name="strict"), pool("a", "b", name="mild"), settings=rules(guard=UNGUARDED), pools={"mild": mild}
    )
    told.fails("a", times=4).expects(EJECT, "a", Reason.RATIO, pool="strict").fails("a").expects_nothing()
    told.fails("a").expects(EJECT, "a", Reason.RATIO, pool="mild")


def test_leaving_one_pool_does_not_take_it_out_of_another() -> None:
    """An address in two pools has a window in each, fed by what matches the pool."""
    shop, api = pool("a", "b", name="shop", hosts=("shop.*",)), pool("a", "c", name="api", paths=("/api/*",))
    told = story(shop, api).fails("a", times=4, host="SHOP.example.com", uri="/x?y=/api/")
    told.expects(EJECT, "a", Reason.RATIO, pool="shop").expects_nothing()
    told.fails("a", times=4, host="other", uri="/").expects_nothing()
    told.fails("a", times=4, host="other", uri="/api/1?q").expects(EJECT, "a", Reason.RATIO, pool="api")


def test_pools_without_host_and_path_take_all_attempts() -> None:
    """One line feeds every pool that has the address."""
    told = story(pool("a", "b", name="one"), pool("a", "c", name="two")).fails("a", times=4)
    told.expects(EJECT, "a", Reason.RATIO, pool="one").expects(EJECT, "a", Reason.RATIO, pool="two")


def test_a_name_is_judged_on_all_its_addresses() -> None:
    """An upstream that the log shows as several addresses is one."""
    told = story(PoolMember("llm:80", names=("10.0.0.1:80", "10.0.0.2:80")), "b")
    told.fails("10.0.0.1:80", "10.0.0.2:80").fails("llm:80", times=2).expects(EJECT, "llm:80", Reason.RATIO)


def test_streaming_counts_by_all_names() -> None:
    """Round-trip lines may show an address where the counter shows the name."""
    told = story(PoolMember("llm", names=("x", "y")), "b")
    told.sees(*(attempt("x", told.now, origin=Origin.ROUNDTRIP, client_port=str(i)) for i in range(8)))
    told.at(5.0).polls(llm=8).at(125.0).polls(llm=8).expects_nothing()


def test_strangers_share_one_row() -> None:
    """Addresses that no pool has are counted together in bounded memory and never acted on (case 122)."""
    told = story("a", "b")
    for i in range(500):
        told.fails(f"host{i}.example:80", times=3)
    told.expects_nothing()

    strangers = told.engine.strangers
    assert (strangers.attempts, len(strangers.names()), strangers.unremembered) == (1500, ADDRESSES, (500 - ADDRESSES) * 3)
    assert [name for one in told.engine.pools.values() for name in one.members] == ["a", "b"]


def test_named_later_they_are_no_strangers() -> None:
    """What was seen of an address before the proxy named it fills its window; it is unmanaged no more."""
    told = story("a", "b").fails("c", times=3).fails("d").names(pool("a", "b", "c", "e"))

    assert told.engine.strangers.names() == ["d"]
    assert told.engine.strangers.attempts == 1
    told.fails("c").expects(EJECT, "c", Reason.RATIO)


def test_a_pool_takes_from_the_past_only_what_matches_it() -> None:
    """Host and path hold for what was remembered too, and a sign of long bodies is one."""
    told = story(pool("x", "y", name="other")).fails("a", times=5, host="one").answers("a", host="two", status=101)
    told.names(pool("a", "b", name="one", hosts=("one",)), pool("a", "b", name="two", hosts=("two",)))

    found = told.engine.pools
    assert (found["one"].members["a"].seen(told.now).counted, found["two"].members["a"].seen(told.now).counted) == (5, 1)
    assert found["one"].streamed_at < told.now == found["two"].streamed_at


def test_without_pools_the_log_is_one() -> None:
    """Where nothing tells the pools, the upstreams of the log form the pool `log`."""
    engine = Engine(Settings(lateness=0.0, default=rules(guard=UNGUARDED)), discover=True)
    decisions = engine.feed([attempt("b", clock(0.0)), *[attempt("a", clock(1.0), status=500)] * 4])

    assert [(one.pool, one.upstream, one.action) for one in decisions] == [(LOG_POOL, "a", EJECT)]
    assert list(engine.pools[LOG_POOL].members) == ["b", "a"]


def test_a_discovered_pool_is_bounded() -> None:
    """A request can make up an upstream (a placeholder in the dial); memory stays flat all the same."""
    engine = Engine(Settings(lateness=0.0), discover=True)
    engine.feed([attempt(f"host{i}:80", clock(float(i))) for i in range(500)])

    assert len(engine.pools[LOG_POOL].members) == DISCOVERED
    assert engine.strangers.attempts == 500 - DISCOVERED


def test_blind_stops_ejections_and_nothing_else() -> None:
    """Timers run and readmissions happen; a probation neither ends nor ejects meanwhile."""
    told = story("a", "b").fails("a", times=4).expects(EJECT, "a", Reason.RATIO).goes_blind()
    told.at("10:00:30").expects(READMIT, "a", Reason.TIMER).fails("a").expects(WITHHELD, "a", Reason.BLIND)
    told.at("10:08:00").expects_nothing().sees_again().expects(EJECT, "a", Reason.PROBATION, at="10:08:00")


def test_a_probation_ends_when_blindness_does() -> None:
    """Good outcomes that came meanwhile end it then."""
    told = story("a", "b").fails("a", times=4).skips().goes_blind().at("10:00:30").skips().answers("a", times=3)
    told.expects_nothing().sees_again().expects(RECOVERED, "a", Reason.PROBATION)


def test_every_source_must_be_trusted() -> None:
    """Two sources are blind: one that sees again is not enough."""
    told = story("a", "b").goes_blind("x").goes_blind("y").goes_blind("y", reason="late").sees_again("x").fails("a", times=4)
    told.expects(WITHHELD, "a", Reason.BLIND).sees_again("y").expects(EJECT, "a", Reason.RATIO).sees_again("y")


@pytest.mark.parametrize(("of", "expected"), [("one", {"two"}), (None, set()), ("two", {"one"})])
def test_blindness_of_one_pool(of: str | None, expected: set[str]) -> None:
    """A source can be blind for one pool alone."""
    told = story(pool("a", "b", name="one"), pool("a", "c", name="two")).goes_blind(pool=of)
    told.fails("a", times=4)

    assert expected == {one.pool for one in told.told if one.action is EJECT}
    told.skips()


def test_blindness_holds_for_pools_that_come_later() -> None:
    """A pool that is named while a source is blind is blind; one source can be blind for several pools."""
    one, two = pool("a", "b", name="one"), pool("c", "d", name="two")
    told = story(pool("x")).goes_blind(pool="one").goes_blind(pool="two").sees_again(pool="two")
    told.names(one, two).fails("c", times=4).expects(EJECT, "c", Reason.RATIO)
    told.fails("a", times=4).expects(WITHHELD, "a", Reason.BLIND)
    told.names().sees_again().names(one).fails("a", times=4).expects(EJECT, "a", Reason.RATIO)


def test_idle_moves_time_and_nothing_else() -> None:
    """A tick decides only what a timer was set for."""
    engine = Engine(Settings(lateness=1.0, default=PoolRules()))

    assert engine.feed([Idle(5.0), Idle(4.0)]) == []
    assert (engine.now, engine.frontier) == (5.0, 4.0)
    assert POOL not in engine.pools
