"""The NGINX Plus adapter over the double: its errors, its ids, and what is whose."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tailhealth.proxies.admin import Access
from tailhealth.proxies.base import Conflict, Fatal, Forbidden, Load, Refused
from tailhealth.proxies.nginx_plus import NginxPlus
from tests.proxies.contract import A, B, C, change, standing
from tests.proxies.plus_bench import chat, out, place, running
from tests.proxies.plus_double import Plus, plus_api
from tests.proxies.scripted import answer, scripted


def test_every_block_is_a_place() -> None:
    """They are told by name; all that the API lists are read."""
    plus = Plus({f"block-{index}": [{"server": f"10.0.0.{index}:80", "backup": index == 3}] for index in range(12)})
    with running(plus) as proxy:
        places = proxy.read().places
    assert {one.key: one.entries[0].address for one in places} == {f"block-{n}": f"10.0.0.{n}:80" for n in range(12)}
    assert [one.entries[0].backup for one in places if one.key == "block-3"] == [True]
    assert all(one.handler_id == one.key and not one.removes for one in places)


def test_down_and_drain() -> None:
    """The setting chooses what the server is told; coming back undoes whichever it was."""
    for how in ("down", "drain"):
        plus = chat()
        with running(plus, how=how) as proxy:
            out(proxy, B)
            assert plus.upstreams["chat"][1][how] is True
            assert standing(place(proxy))[B] == "out"
            out(proxy)
            assert (plus.upstreams["chat"][1]["down"], plus.upstreams["chat"][1].get("drain")) == (False, None)


def test_those_that_come_back_come_first() -> None:
    """So the block never has fewer servers than it must."""
    plus = chat()
    with running(plus) as proxy:
        out(proxy, A)
        plus.calls.clear()
        out(proxy, B)
    assert [one.rpartition("/")[2] for one in plus.calls if one.startswith("PATCH")] == ["0", "1"]


def test_ids_are_looked_up_each_time() -> None:
    """After a load the same id is another server: the plan of before is good, and hits the right one (case 115)."""
    plus = chat()
    with running(plus) as proxy:
        planned = change(place(proxy), place(proxy), frozenset({B}))
        plus.reload()
        assert [one["id"] for one in plus.upstreams["chat"]] == [3, 4, 5]
        proxy.apply([planned])
    assert [one["down"] for one in plus.upstreams["chat"]] == [False, True, False]


def test_a_load_in_the_very_moment_hits_nobody_else() -> None:
    """If an id became another server between the look-up and the change, that server is left as it was."""
    plus = Plus({"chat": [{"server": A, "max_conns": 3}, {"server": B}]})

    def load() -> None:
        plus.ids = 0
        plus.configured = {"chat": [{"server": B}, {"server": A, "max_conns": 3}]}
        plus.reload()

    with running(plus) as proxy:
        plus.before_patch.append(load)
        with pytest.raises(Conflict, match=r"id 1 of 'chat' was 127\.0\.0\.1:2 and is 127\.0\.0\.1:1"):
            out(proxy, B)
        assert [(one["down"], one["max_conns"]) for one in plus.upstreams["chat"]] == [(False, 0), (False, 3)]
        assert B not in {one.address for one in place(proxy).entries if one.out}


@pytest.mark.parametrize(("state", "held"), [("up", False), ("unavail", True), ("unhealthy", True), ("checking", True)])
def test_its_own_checks(state: str, held: bool) -> None:
    """A server that NGINX Plus itself passes over counts as out."""
    plus = chat()
    plus.states[B] = state
    with running(plus) as proxy:
        assert [one.held_down for one in place(proxy).entries] == [False, held, False]
        assert proxy.load().held_down == (frozenset({B}) if held else frozenset())


def test_held_down_by_address_only_where_it_is_so_in_every_block() -> None:
    """The same server may be fit in another block."""
    plus = Plus({"a": [{"server": A, "down": True}], "b": [{"server": A}]})
    with running(plus) as proxy:
        assert proxy.load().held_down == frozenset()
        assert [one.entries[0].held_down for one in proxy.read().places] == [True, False]


def test_requests_in_flight_add_up_over_blocks() -> None:
    """Each block counts for itself; the process is told by master, load and time."""
    plus = Plus({"a": [{"server": A}, {"server": B}], "b": [{"server": A}]})
    plus.active[A] = 2
    with running(plus) as proxy:
        assert proxy.load() == Load({A: 4, B: 0}, "32210-1-2026-11-30T00:53:20.000Z")


def test_names_and_what_was_found_under_them() -> None:
    """The log shows addresses; a name that is looked up again and again stands for its children, which are acted on."""
    parent, child = (
        {"server": "node.test:80", "id": 7, "host": "node.test"},
        {"server": "10.0.0.7:80", "parent": 7, "host": "node.test"},
    )
    plus = Plus({"chat": [{"server": "once.test:80"}, parent, child]})
    plus.addresses["once.test:80"] = "10.0.0.1:80"
    with running(plus) as proxy:
        assert [(one.address, one.names) for one in place(proxy).entries] == [
            ("once.test:80", ("10.0.0.1:80",)),
            ("10.0.0.7:80", ()),
        ]
        out(proxy, "10.0.0.7:80")
        assert [one["down"] for one in plus.upstreams["chat"]] == [False, False, True]


def test_a_static_block_can_not_be_acted_on() -> None:
    """It is read, with the reason in the API's words, and the others go on."""
    plus = Plus({"a": [{"server": A}], "b": [{"server": B}]})
    plus.static.add("a")
    with running(plus) as proxy:
        static, other = proxy.read().places
    assert (static.entries[0].address, other.problem) == (A, "")
    assert 'upstream "a" is static (UpstreamStatic)' in static.problem


def test_a_read_only_api() -> None:
    """It is read; a change is forbidden, with the remedy."""
    plus = chat()
    plus.write = False
    with running(plus) as proxy, pytest.raises(Forbidden, match=r"405: method disabled \(MethodDisabled\).*`api write=on;`"):
        out(proxy, B)


def test_authorization() -> None:
    """The header of the configuration is sent; without it the API turns us away, in nginx's own words."""
    plus = chat()
    plus.authorization = "Basic dGFpbDpoZWFsdGg="
    with plus_api(plus) as admin:
        assert NginxPlus(Access(admin, headers=(("Authorization", plus.authorization),))).read().places
        with pytest.raises(Forbidden, match=r"401: <html>.*401 Authorization Required.*`headers`"):
            NginxPlus(Access(admin)).read()
        assert "401" in NginxPlus(Access(admin)).load().problem


@pytest.mark.parametrize("versions", [[1, 7], [10]])
def test_versions_that_are_not_known(versions: list[int]) -> None:
    """The adapter says which it needs; it asks again at the next call."""
    plus = chat()
    plus.versions = versions
    with running(plus) as proxy:
        with pytest.raises(Fatal, match="8 or 9 is needed"):
            proxy.read()
        plus.versions = [8, 9]
        assert proxy.read().places
        assert any("/api/9/" in one for one in plus.calls)


@pytest.mark.parametrize("gone", [{"chat": [{"server": A}]}, {}, {"chat": [{"server": A}, {"server": C}, {"server": B}]}])
def test_a_block_that_changed_or_went(gone: dict[str, list[dict[str, Any]]]) -> None:
    """What the operator removed, moved or renamed meanwhile is a conflict."""
    plus = chat()
    with running(plus) as proxy:
        planned = change(place(proxy), place(proxy), frozenset({B}))
        plus.configured = gone
        plus.reload()
        with pytest.raises(Conflict):
            proxy.apply([planned])
    assert not any(one["down"] for servers in plus.upstreams.values() for one in servers)


def test_a_value_that_the_api_refuses() -> None:
    """Its text and its code are the error."""
    plus = chat()
    with running(plus) as proxy:
        now = place(proxy)
        wrong = tuple(msgspec.structs.replace(one, limit=-1) for one in now.entries)
        with pytest.raises(Refused, match=r'400: invalid "max_conns" value \(UpstreamBadMaxConns\)'):
            proxy.apply([msgspec.structs.replace(change(now, now), wanted=wrong)])


@pytest.mark.parametrize("body", [b"<html>404 Not Found</html>", b'{"a": 1}', b'["x"]', b"\xff"])
def test_what_is_not_the_api(body: bytes) -> None:
    """Whatever else answers there is named as such."""
    for status in (200, 404):
        with scripted(answer(status, body)) as (admin, _), pytest.raises(Fatal, match="NGINX Plus API"):
            NginxPlus(Access(admin)).read()


def test_success_that_is_none() -> None:
    """An answer of success that does not show the change is not believed."""
    servers = b'[{"id":0,"server":"127.0.0.1:1"},{"id":1,"server":"127.0.0.1:2"}]'
    process, unchanged = b'{"generation":1}', b'{"id":0,"server":"127.0.0.1:1","down":false}'
    scripts = [b"[9]", process, b'{"chat":{"peers":[]}}', servers, process, servers, unchanged]
    with scripted(*(answer(200, one) for one in scripts)) as (admin, _):
        proxy = NginxPlus(Access(admin))
        now = place(proxy)
        with pytest.raises(Refused, match="answered success"):
            proxy.apply([change(now, now, frozenset({A}))])
