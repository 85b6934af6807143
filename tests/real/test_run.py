"""The whole path on a real Caddy: a stuck node is found, taken out, and comes back; nothing else changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tailhealth.core.model import Action, Reason
from tests.real.caddy import caddy, logged, reverse_proxy, until
from tests.real.clients import asking
from tests.real.controller import SCALED, running
from tests.real.servers import Behaviour, Upstream, upstreams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real.caddy import Caddy

pytestmark = pytest.mark.real

POLICY = {"selection_policy": {"policy": "round_robin"}}


@pytest.fixture
def nodes() -> Iterator[list[Upstream]]:
    """Four inference servers that answer after 0.1 s."""
    with upstreams(4, delay=0.1) as four:
        yield four


def config_for(proxy: Caddy, folder: Path, out: str = "1500ms") -> str:
    """Write the scaled configuration for a Caddy."""
    return SCALED.format(admin=proxy.admin, state=folder / "state", log=proxy.access_log, out=out)


def listed(proxy: Caddy) -> list[dict[str, object]]:
    """Return what the proxy lists now."""
    route = proxy.get("/config/apps/http/servers/s/routes/0").json()
    upstreams: list[dict[str, object]] = route["handle"][-1]["upstreams"]
    return upstreams


def test_a_wedged_node_leaves_and_comes_back(tmp_path: Path, nodes: list[Upstream]) -> None:
    """One of four wedges, clients give up first: it alone is ejected, returns limited to one, and no byte stays changed."""
    addresses = [node.address for node in nodes]
    sick = nodes[1]
    with (
        caddy(tmp_path, logged(reverse_proxy(*addresses, load_balancing=POLICY))) as proxy,
        running(tmp_path, config_for(proxy, tmp_path)) as controller,
        asking(f"{proxy.url}/api/chat?token=secret", count=8, patience=1.0) as clients,
    ):
        original = proxy.raw_config()
        until(lambda: min(len(node.seen) for node in nodes) >= 10, "traffic at every node")
        sick.behaviour = Behaviour.HANG
        until(lambda: sick.address not in proxy.dials(), "the removal of the wedged node", 30)
        assert [address for address in addresses if address != sick.address] == proxy.dials()

        sick.behaviour = Behaviour.ANSWER
        until(lambda: sick.address in proxy.dials(), "its return", 30)
        returned = next(one for one in listed(proxy) if one["dial"] == sick.address)
        assert addresses == proxy.dials()
        assert returned.get("max_requests", 1) == 1

        controller.wait_for(Action.RECOVERED, Reason.PROBATION, sick.address)
        until(lambda: proxy.raw_config() == original, "the original configuration", 30)
        clients.stop()
        sent = clients.seen.total()
        assert controller.stop() == 0

        decisions = controller.decisions()
        assert {sick.address} == {one.upstream for one in decisions if one.action is Action.EJECT}
        assert proxy.raw_config() == original
        # Every request that any node saw came from the clients: not one from tailhealth.
        seen = [request for node in nodes for request in node.seen]
        assert {"/api/chat?token=secret"} == {request.path for request in seen}
        # Caddy may cut a request off that arrives in the moment of a reload: its client saw that, and no node may have.
        assert sent - clients.seen["cut off"] <= len(seen) <= sent
        assert b"secret" not in controller.journal.read_bytes()
        assert decisions == controller.replay(proxy.access_log)


def test_requests_in_flight_finish(tmp_path: Path, nodes: list[Upstream]) -> None:
    """What was on its way when a node was taken out, at that node and at others, is answered."""
    addresses = [node.address for node in nodes]
    with (
        caddy(tmp_path, logged(reverse_proxy(*addresses, load_balancing=POLICY))) as proxy,
        running(tmp_path, config_for(proxy, tmp_path)) as controller,
    ):
        nodes[0].behaviour = nodes[1].behaviour = Behaviour.HANG
        with asking(proxy.url, count=4, patience=25) as waiting:
            until(lambda: nodes[0].in_flight > 0 and nodes[1].in_flight > 0, "requests that wait")
            ordered = controller.command("eject", nodes[1].address, "--why", "new driver")
            assert ordered.returncode == 0, ordered.stderr
            until(lambda: nodes[1].address not in proxy.dials(), "the removal")
            for node in nodes:
                node.behaviour = Behaviour.ANSWER
            waiting.stop()
        assert {"200"} == set(waiting.seen)


def test_weights_keep_their_upstreams(tmp_path: Path, nodes: list[Upstream]) -> None:
    """Weights 10, 1, 1 go by position: each upstream keeps its own through eject and readmit, and its place."""
    three = [node.address for node in nodes[:3]]
    balancing = {"selection_policy": {"policy": "weighted_round_robin", "weights": [10, 1, 1]}}
    with (
        caddy(tmp_path, logged(reverse_proxy(*three, load_balancing=balancing))) as proxy,
        running(tmp_path, config_for(proxy, tmp_path)) as controller,
    ):
        original = proxy.raw_config()

        def weights() -> dict[object, int]:
            handler = proxy.get("/config/apps/http/servers/s/routes/0").json()["handle"][-1]
            pairs = zip(handler["upstreams"], handler["load_balancing"]["selection_policy"]["weights"], strict=True)
            return {upstream["dial"]: weight for upstream, weight in pairs}

        until(lambda: bool(controller.status()["view"]["pools"]), "the pools")
        assert controller.command("eject", three[0]).returncode == 0
        until(lambda: weights() == {three[1]: 1, three[2]: 1}, "the heavy one to be out")
        assert controller.command("readmit", three[0]).returncode == 0
        until(lambda: weights() == {three[0]: 10, three[1]: 1, three[2]: 1}, "its return with its weight")
        until(lambda: proxy.raw_config() == original, "the original configuration")


def test_a_killed_controller_loses_nothing(tmp_path: Path, nodes: list[Upstream]) -> None:
    """SIGKILL right after a removal: `restore` puts the upstream back at once, a next start takes it out again in its time."""
    addresses = [node.address for node in nodes]
    with (
        caddy(tmp_path, logged(reverse_proxy(*addresses, load_balancing=POLICY))) as proxy,
        running(tmp_path, config_for(proxy, tmp_path)) as controller,
    ):
        original = proxy.raw_config()
        until(lambda: bool(controller.status()["view"]["pools"]), "the pools")
        assert controller.command("eject", addresses[0], "--for", "8s").returncode == 0
        until(lambda: addresses[0] not in proxy.dials(), "the removal")
        controller.kill()
        assert addresses[0] not in proxy.dials()

        restored = controller.command("restore")
        assert restored.returncode == 0, restored.stderr
        assert addresses[0] in restored.stdout
        assert proxy.raw_config() == original

        controller.start()
        until(lambda: addresses[0] not in proxy.dials(), "the ejection to be applied again")
        controller.wait_for(Action.READMIT, Reason.TIMER, addresses[0])
        until(lambda: addresses[0] in proxy.dials(), "its return")
        assert controller.stop() == 0
        assert proxy.raw_config() == original


def test_a_start_after_its_time_brings_it_back(tmp_path: Path, nodes: list[Upstream]) -> None:
    """Killed while a node was out, started after its time is over: the node comes back by the timer, dated by its end."""
    addresses = [node.address for node in nodes]
    with (
        caddy(tmp_path, logged(reverse_proxy(*addresses, load_balancing=POLICY))) as proxy,
        running(tmp_path, config_for(proxy, tmp_path)) as controller,
    ):
        until(lambda: bool(controller.status()["view"]["pools"]), "the pools")
        assert controller.command("eject", addresses[0], "--for", "1s").returncode == 0
        until(lambda: addresses[0] not in proxy.dials(), "the removal")
        controller.kill()
        ejected = next(one for one in controller.decisions() if one.action is Action.EJECT)
        assert ejected.until is not None
        until(lambda: proxy_time(proxy) > (ejected.until or 0.0), "the end of its time")

        controller.start()
        until(lambda: addresses[0] in proxy.dials(), "its return")
        controller.wait_for(Action.READMIT, Reason.TIMER, addresses[0])
        back = next(one for one in controller.decisions() if one.action is Action.READMIT)
        assert ejected.until == back.at


def proxy_time(proxy: Caddy) -> float:
    """Return the wall clock, by way of a request to the admin interface that paces whoever waits for it."""
    assert proxy.get("/config/").ok
    return time.time()


def test_what_the_operator_deletes_stays_deleted(tmp_path: Path, nodes: list[Upstream]) -> None:
    """An upstream that the operator takes out of his configuration while it is out never comes back."""
    addresses = [node.address for node in nodes]
    with (
        caddy(tmp_path, logged(reverse_proxy(*addresses, load_balancing=POLICY))) as proxy,
        running(tmp_path, config_for(proxy, tmp_path)) as controller,
    ):
        until(lambda: bool(controller.status()["view"]["pools"]), "the pools")
        assert controller.command("eject", addresses[0], "--for", "3s").returncode == 0
        until(lambda: addresses[0] not in proxy.dials(), "the removal")
        proxy.config["apps"]["http"]["servers"]["s"]["routes"][0]["handle"][-1]["upstreams"].pop(0)
        proxy.load()
        shorter = proxy.raw_config()
        until(lambda: len(controller.status()["view"]["pools"][0]["upstreams"]) == 3, "the shorter pool to be seen")
        assert controller.command("eject", addresses[1], "--for", "1s").returncode == 0
        until(lambda: addresses[1] not in proxy.dials(), "another removal")
        until(lambda: addresses[1] in proxy.dials(), "its return")
        assert controller.stop() == 0
        assert proxy.raw_config() == shorter


def test_a_dry_run_decides_and_changes_nothing(tmp_path: Path, nodes: list[Upstream]) -> None:
    """With --dry-run the decision is journaled in a folder of its own and the proxy's configuration is never touched."""
    addresses = [node.address for node in nodes]
    with (
        caddy(tmp_path, logged(reverse_proxy(*addresses, load_balancing=POLICY))) as proxy,
        running(tmp_path, config_for(proxy, tmp_path), "--dry-run") as controller,
        asking(proxy.url, count=8, patience=1.0),
    ):
        original = proxy.raw_config()
        nodes[1].status = 500
        journal = controller.state / "dry-run" / "journal.jsonl"
        until(lambda: b'"action":"eject"' in journal.read_bytes(), "the decision", 30)
        assert proxy.raw_config() == original
        assert not controller.journal.exists()


def test_it_starts_before_its_log_and_its_proxy(tmp_path: Path, nodes: list[Upstream]) -> None:
    """A log that is missing and an admin interface that is down are named states, and heal when they appear."""
    addresses = [node.address for node in nodes]
    with caddy(tmp_path, logged(reverse_proxy(*addresses, load_balancing=POLICY))) as proxy:
        proxy.stop()
        proxy.access_log.unlink(missing_ok=True)
        with running(tmp_path, config_for(proxy, tmp_path)) as controller:
            until(lambda: bool(controller.status()["conditions"]), "the condition")
            status = controller.status()
            assert [one["kind"] for one in status["conditions"]] == ["admin_unreachable"]
            assert [one["state"] for one in status["inputs"]] == ["waiting"]
            proxy.start()
            with asking(proxy.url, count=4, patience=1.0):
                until(lambda: not controller.status()["conditions"], "the end of the condition", 30)
                until(lambda: controller.status()["inputs"][0]["state"] == "following", "the log")
                until(lambda: controller.status()["view"]["attempts"] > 0, "attempts")
