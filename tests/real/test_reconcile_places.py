"""Several handlers, other ways to the admin interface, and what Caddy refuses: reconciling on a real Caddy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailhealth.proxies.base import UpstreamState
from tailhealth.service.conditions import Kind
from tailhealth.service.state import Wish
from tests.real.caddy import caddy, reverse_proxy
from tests.real.running import ROUTES, A, B, C, D, Running

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def test_what_caddy_refuses_is_not_tried_again_and_does_not_hold_up_others(tmp_path: Path) -> None:
    """One handler's change is refused; another pool's change is made without it."""
    policy = {"selection_policy": {"policy": "weighted_round_robin", "weights": [1, 1, 1]}}
    routes = [
        {"match": [{"path": ["/1"]}], "handle": [reverse_proxy(A, B, C, **{"@id": "one"})]},
        {"match": [{"path": ["/2"]}], "handle": [reverse_proxy(A, B, D, load_balancing=policy, **{"@id": "two"})]},
    ]
    with caddy(tmp_path, [{"handler": "subroute", "routes": routes}]) as proxy:
        running = Running(tmp_path, proxy)
        try:
            running.step()
            one, two = running.reconciler.groups
            running.reconciler.desire(one.name, A, Wish(UpstreamState.OUT, running.now))
            running.reconciler.desire(two.name, D, Wish(UpstreamState.LIMITED, running.now, max_in_flight=1 << 63))
            for _ in range(4):
                step = running.step()
            assert [(one.kind, one.pool) for one in step.conditions] == [(Kind.REFUSED, "two")]
            assert "loading new config" in step.conditions[0].why
            assert [one["dial"] for one in proxy.get("/id/one/upstreams").json()] == [B, C]
            patches = proxy.own_log.read_bytes().count(b'"method":"PATCH"')
            running.step()
            assert proxy.own_log.read_bytes().count(b'"method":"PATCH"') == patches
        finally:
            running.close()


def test_the_same_address_in_two_handlers_is_one_request(tmp_path: Path) -> None:
    """Handlers with the same upstreams are one pool in two places; both change at once, and no limit is set on either."""
    routes = [
        {"match": [{"path": [path]}], "handle": [reverse_proxy(*dials)]} for path, dials in (("/1", (A, B)), ("/2", (B, A)))
    ]
    with caddy(tmp_path, [{"handler": "subroute", "routes": routes}]) as proxy:
        running = Running(tmp_path, proxy)
        try:
            running.step()
            original = proxy.raw_config()
            running.out(A)
            step = running.step()
            assert list(step.confirmed) == [(f"{A}+{B}", A)]
            lists = [[one["dial"] for one in route["handle"][0]["upstreams"]] for route in proxy.get(ROUTES).json()]
            assert lists == [[B], [B]]
            running.desire(A, UpstreamState.LIMITED)
            running.step()
            assert proxy.raw_config() == original
            assert proxy.own_log.read_bytes().count(b'"method":"PATCH"') == 2
        finally:
            running.close()


def test_fifty_pools_are_one_request(tmp_path: Path) -> None:
    """500 upstreams in 50 handlers: one decision in each of them is one change, one reload."""
    handlers = [reverse_proxy(*(f"10.0.{index}.{number}:80" for number in range(1, 11))) for index in range(50)]
    routes = [{"match": [{"path": [f"/{index}/*"]}], "handle": [handler]} for index, handler in enumerate(handlers)]
    with caddy(tmp_path, [{"handler": "subroute", "routes": routes}]) as proxy:
        running = Running(tmp_path, proxy)
        try:
            running.step()
            original = proxy.raw_config()
            for state in (UpstreamState.OUT, UpstreamState.SERVING):
                for index, group in enumerate(running.reconciler.groups):
                    running.reconciler.desire(group.name, f"10.0.{index}.3:80", Wish(state, running.now))
                assert running.step().conditions == ()
            assert proxy.raw_config() == original
            assert proxy.own_log.read_bytes().count(b'"method":"PATCH"') == 2
        finally:
            running.close()


def test_an_admin_interface_on_a_unix_socket(tmp_path: Path) -> None:
    """Out and back over a socket; a Caddy that is away is told in the system's words."""
    with caddy(tmp_path, [reverse_proxy(A, B, C)], unix=True) as proxy:
        running = Running(tmp_path, proxy)
        try:
            running.step()
            original = proxy.raw_config()
            running.out(A)
            running.step()
            assert running.listed() == [B, C]
            running.desire(A, UpstreamState.SERVING)
            running.step()
            assert proxy.raw_config() == original
            proxy.stop()
            (condition,) = running.step().conditions
            assert condition.kind is Kind.ADMIN_UNREACHABLE
            assert "admin.sock: No such file" in condition.why
        finally:
            running.close()


def test_an_admin_interface_that_turns_us_away(tmp_path: Path) -> None:
    """403 is a state with Caddy's own reason and the remedy, looked at again at the pace of the drift poll (case 106)."""
    with caddy(tmp_path, [reverse_proxy(A, B)]) as proxy:
        running = Running(tmp_path, proxy, headers=(("Host", "caddy:2019"),))
        try:
            step = running.step()
            assert [one.kind for one in step.conditions] == [Kind.FORBIDDEN]
            assert "host not allowed: caddy:2019" in step.conditions[0].why
            assert step.next_at == running.now + 60
        finally:
            running.close()
