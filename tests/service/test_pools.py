"""Places become pools, and the engine hears of the operator's upstreams."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tailhealth.config import Handler, load
from tailhealth.core.model import PoolMember
from tailhealth.proxies.caddy_config import snapshot
from tailhealth.service.pools import NamedPool, ProxyPool, core_pools, grouped, plain_naming
from tailhealth.service.standing import survey
from tests.service.fake_caddy import FakeCaddy, handler

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tailhealth.core.model import Pool
    from tailhealth.service.pools import Naming


def pools(
    *handlers: Any,
    naming: Naming = plain_naming,
    held_down: frozenset[str] = frozenset(),
    stopped: frozenset[str] = frozenset(),
) -> tuple[Pool, ...]:
    """Tell the pools of these handlers."""
    found = survey(snapshot(FakeCaddy(*handlers).config).places, (), lambda _: True).standings
    return core_pools(grouped(found, naming), found, held_down, stopped)


def test_handlers_with_the_same_set_are_one_pool() -> None:
    """Order does not matter; the first place gives it."""
    (one,) = pools(handler("b:1", "a:1", weights=[2, 3]), handler("a:1", "b:1"))
    assert one.name == "a:1+b:1"
    assert one.members == (PoolMember("b:1", weight=2, shared=True), PoolMember("a:1", weight=3, shared=True))


def test_a_handler_without_static_upstreams_is_no_pool() -> None:
    """There is nothing to act on."""
    assert pools({"handler": "reverse_proxy", "dynamic_upstreams": {"source": "srv"}}) == ()


def test_names() -> None:
    """The first handler's id, else the addresses, long ones as the configuration calls them too."""
    assert [one.name for one in pools(handler("a:1"), handler("b:1") | {"@id": "mine"})] == ["a:1", "mine"]
    long = [f"host-{number}.internal:8080" for number in range(4)]
    assert [one.name for one in pools(handler(*long))] == [load(None).pool_name(Handler(tuple(long)))]


def test_tables_tell_places_apart() -> None:
    """A naming may make several pools of the same upstreams, leave places out, and bring patterns."""

    def naming(pool: ProxyPool) -> Sequence[NamedPool]:
        first, second, _ = (place.key for place in pool.places)
        return (NamedPool("chat", frozenset({first}), paths=("/chat/*",)), NamedPool("chat", frozenset({second})))

    found = pools(handler("a:1"), handler("a:1"), handler("a:1"), naming=naming)
    assert [(one.name, one.paths) for one in found] == [("chat", ("/chat/*",)), ("chat~2", ())]


def test_what_can_not_be_acted_on() -> None:
    """Placeholders, problems and stopped pools are told as such."""
    assert [one.actionable for one in pools(handler("a:1", "{x}:1"))[0].members] == [True, False]
    assert [one.actionable for one in pools(handler("a:1", "b:1", weights=[1]))[0].members] == [False, False]
    assert [one.actionable for one in pools(handler("a:1"), stopped=frozenset({"a:1"}))[0].members] == [False]


def test_held_down_sticky_and_twice_listed() -> None:
    """The proxy's own checks and its policy are told; an address that is listed twice is one upstream."""
    policy = {"load_balancing": {"selection_policy": {"policy": "ip_hash"}}}
    (one,) = pools(handler("a:1", "b:1", "a:1") | policy, held_down=frozenset({"b:1"}))
    assert one.sticky
    assert [(member.address, member.held_down, member.shared) for member in one.members] == [
        ("a:1", False, False),
        ("b:1", True, False),
    ]


def test_an_address_behind_a_server_that_logs_nothing() -> None:
    """Its requests in flight prove nothing, in any pool."""
    caddy = FakeCaddy(handler("a:1", "b:1"))
    caddy.config["apps"]["http"]["servers"]["quiet"] = {"routes": [{"handle": [handler("a:1")]}]}
    found = survey(snapshot(caddy.config).places, (), lambda _: True).standings
    both = core_pools(grouped(found, plain_naming), found, frozenset(), frozenset())
    assert [[member.unfollowed for member in one.members] for one in both] == [[True, False], [True]]


def test_a_name_that_two_entries_resolve_to_is_ambiguous() -> None:
    """It can't be told which of them a line is about."""
    (standing,) = survey(snapshot(FakeCaddy(handler("a:1", "b:1", "c:1")).config).places, (), lambda _: True).standings
    first, second, third = standing.original
    named = tuple(msgspec.structs.replace(one, names=("10.0.0.1:1",)) for one in (first, second))
    standing = msgspec.structs.replace(standing, original=(*named, third))
    (one,) = core_pools(grouped([standing], plain_naming), [standing], frozenset(), frozenset())
    assert [member.actionable for member in one.members] == [False, False, True]
