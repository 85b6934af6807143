"""The Caddy adapter on a real Caddy: what it changes, what it leaves alone, and what Caddy says."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
import requests

from tailhealth.proxies.admin import Access
from tailhealth.proxies.base import Change, Conflict, Forbidden, Refused, Retryable
from tailhealth.proxies.caddy import Caddy as Adapter
from tests.real.caddy import Caddy, caddy, reverse_proxy, until
from tests.real.servers import Behaviour, free_port, upstreams

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def adapter(proxy: Caddy, **access: Any) -> Adapter:
    """Make an adapter for this Caddy."""
    return Adapter(Access(proxy.admin, **access))


def weighted(*dials: str) -> dict[str, Any]:
    """Build a handler with weights 10, 1, 1 in a fallback, and siblings that need care."""
    policy = {"policy": "cookie", "fallback": {"policy": "weighted_round_robin", "weights": [10, 1, 1]}}
    headers = {"request": {"set": {"X-A": ["x<y&z\u2028é {http.request.host}"]}}}
    return reverse_proxy(*dials, load_balancing={"selection_policy": policy}, headers=headers)


@pytest.mark.parametrize("unix", [False, True])
def test_out_and_back_leaves_the_configuration_byte_for_byte(tmp_path: Path, unix: bool) -> None:
    """Weights and places stay with their upstreams, the mark and the limit come and go, the rest is not touched."""
    with caddy(tmp_path, [weighted("127.0.0.1:1", "tcp/127.0.0.1:2", "127.0.0.1:3")], unix=unix) as proxy:
        original = proxy.raw_config()
        one = adapter(proxy)
        (before,) = one.read().places
        assert (
            "PATCH /config/apps/http/servers/s/routes/0/handle/0 200"
            in one.apply([Change(before, before.entries[1:], "tailhealth-x-1")]).answer
        )
        (between,) = one.read().places
        assert [(entry.address, entry.weights) for entry in between.entries] == [("127.0.0.1:2", (1,)), ("127.0.0.1:3", (1,))]
        assert between.marks == ("tailhealth-x-1",)
        one.apply([Change(between, before.entries)])
        assert proxy.raw_config() == original


def test_a_stale_plan_is_a_conflict_and_changes_nothing(tmp_path: Path) -> None:
    """Whoever changes the handler between reading and changing is not overwritten (case 104)."""
    with caddy(tmp_path, [reverse_proxy("127.0.0.1:1", "127.0.0.1:2")]) as proxy:
        (place,) = adapter(proxy).read().places
        proxy.call("POST", "/config/apps/http/servers/s/routes/0/handle/0/upstreams", {"dial": "127.0.0.1:3"})
        changed = proxy.raw_config()
        with pytest.raises(Conflict):
            adapter(proxy).apply([Change(place, place.entries[1:])])
        assert proxy.raw_config() == changed


def test_two_out_at_once_are_the_two_that_were_meant(tmp_path: Path) -> None:
    """Lists are made by address, never by a remembered index: what moved meanwhile is neither cut nor put back (case 103)."""
    with caddy(tmp_path, [reverse_proxy("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")]) as proxy:
        one = adapter(proxy)
        (place,) = one.read().places
        one.apply([Change(place, place.entries[1:2], "tailhealth-x-1")])
        (left,) = one.read().places
        assert [entry.address for entry in left.entries] == ["127.0.0.1:2"]
        proxy.call(
            "PUT", "/config/apps/http/servers/s/routes/0/handle/0/upstreams/0", {"dial": "127.0.0.1:9"}
        ).raise_for_status()
        with pytest.raises(Conflict):
            one.apply([Change(left, place.entries)])
        (now,) = one.read().places
        assert [entry.address for entry in now.entries] == ["127.0.0.1:9", "127.0.0.1:2"]


def test_several_handlers_are_one_request_and_one_reload(tmp_path: Path) -> None:
    """500 upstreams in 50 handlers change by one PATCH."""
    handlers = [reverse_proxy(*(f"10.0.{index}.{n}:80" for n in range(1, 11))) for index in range(50)]
    routes = [{"match": [{"path": [f"/{index}/*"]}], "handle": [handler]} for index, handler in enumerate(handlers)]
    with caddy(tmp_path, [{"handler": "subroute", "routes": routes}]) as proxy:
        original = proxy.raw_config()
        one = adapter(proxy)
        places = one.read().places
        assert len(places) == 50
        one.apply([Change(place, place.entries[1:], f"tailhealth-x-{index}") for index, place in enumerate(places)])
        one.apply([Change(now, then.entries) for now, then in zip(one.read().places, places, strict=True)])
        assert proxy.raw_config() == original
        assert proxy.own_log.read_bytes().count(b'"method":"PATCH"') == 2


def test_caddy_refuses_and_says_why(tmp_path: Path) -> None:
    """A list whose weights are all zero is refused in Caddy's words, and the old one stays."""
    policy = {"selection_policy": {"policy": "weighted_round_robin", "weights": [0, 1]}}
    with caddy(tmp_path, [reverse_proxy("127.0.0.1:1", "127.0.0.1:2", load_balancing=policy)]) as proxy:
        original = proxy.raw_config()
        (place,) = adapter(proxy).read().places
        with pytest.raises(Refused, match="requires at least one upstream with a positive weight"):
            adapter(proxy).apply([Change(place, place.entries[:1])])
        assert proxy.raw_config() == original


def test_a_host_that_is_not_allowed_is_forbidden(tmp_path: Path) -> None:
    """Caddy's reason and the remedy are in the error (case 106)."""
    with (
        caddy(tmp_path, [reverse_proxy("127.0.0.1:1")]) as proxy,
        pytest.raises(Forbidden, match=r"host not allowed: caddy:2019.*`origins`"),
    ):
        adapter(proxy, headers=(("Host", "caddy:2019"),)).read()


def test_counts_in_flight_held_down_and_process(tmp_path: Path) -> None:
    """Requests that hang are counted, a failing active check shows, and a restart is another process."""
    checks = {"active": {"path": "/up", "interval": "50ms", "timeout": "1s"}}
    with upstreams(2) as (one, two), caddy(tmp_path, [reverse_proxy(one.address, two.address, health_checks=checks)]) as proxy:
        two.refuse()
        until(lambda: adapter(proxy).load().held_down == {two.address}, "the gauge", deadline=25)
        one.behaviour = Behaviour.HANG
        client = threading.Thread(target=requests.get, args=(proxy.url,), kwargs={"timeout": 30})
        client.start()
        until(lambda: (adapter(proxy).load().counts or {}).get(one.address) == 1, "the request in flight")
        process = adapter(proxy).load().process
        assert process
        one.behaviour = Behaviour.ANSWER
        client.join()
        until(lambda: (adapter(proxy).load().counts or {}).get(one.address) == 0, "no request in flight")
        proxy.restart()
        assert adapter(proxy).load().process not in {"", process}
    assert adapter(proxy).load().counts is None


def test_nobody_listens(tmp_path: Path) -> None:
    """An admin interface that is down is retryable."""
    proxy = Caddy(tmp_path, [])
    proxy.admin = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(Retryable, match="Connection refused"):
        adapter(proxy).read()
