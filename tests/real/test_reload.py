"""SIGHUP on a real Caddy: a wrong configuration is refused, a right one is taken over and nothing is lost by that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailhealth.core.model import Action, Reason
from tests.real.caddy import caddy, logged, reverse_proxy, until
from tests.real.clients import asking
from tests.real.controller import SCALED, running
from tests.real.servers import Upstream, upstreams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real.caddy import Caddy

pytestmark = pytest.mark.real

POLICY = {"selection_policy": {"policy": "round_robin"}}


@pytest.fixture
def nodes() -> Iterator[list[Upstream]]:
    """Three quick servers."""
    with upstreams(3, delay=0.02) as three:
        yield three


@pytest.fixture
def proxy(tmp_path: Path, nodes: list[Upstream]) -> Iterator[Caddy]:
    """A Caddy in front of them."""
    with caddy(tmp_path, logged(reverse_proxy(*(node.address for node in nodes), load_balancing=POLICY))) as one:
        yield one


def config_for(proxy: Caddy, folder: Path, more: str = "", out: str = "20s") -> str:
    """Write the scaled configuration for a Caddy, with further tables."""
    return SCALED.format(admin=proxy.admin, state=folder / "state", log=proxy.access_log, out=out) + more


def test_a_wrong_configuration_is_refused(tmp_path: Path, proxy: Caddy, nodes: list[Upstream]) -> None:
    """All its errors stand in the status, the journal and on standard error; the old rules go on, and so does an ejection."""
    good = config_for(proxy, tmp_path)
    with running(tmp_path, good) as controller:
        controller.wait_for_pools()
        assert controller.command("eject", nodes[0].address).returncode == 0
        until(lambda: nodes[0].address not in proxy.dials(), "the removal")
        controller.reload(good + '[probation]\nrequest = 1\n[pool.x]\nid = ""\n')
        until(lambda: bool(controller.status()["configuration"]["refused"]), "the refusal")

        refused = controller.status()["configuration"]["refused"]
        assert "probation.request: unknown key; did you mean requests?" in refused
        assert refused == controller.records("refused")[0]["why"]
        assert all(line in controller.output() for line in refused.splitlines())
        assert nodes[0].address not in proxy.dials()
        controller.config.write_text(good, encoding="utf-8")
        assert "configuration not taken" in controller.command("status").stdout

        controller.reload(good)
        until(lambda: not controller.status()["configuration"]["refused"], "the right one")


def test_what_can_not_change_under_way_is_refused(tmp_path: Path, proxy: Caddy) -> None:
    """Another proxy, another state directory or no log at all need a restart, and the refusal says so."""
    good = config_for(proxy, tmp_path)
    with running(tmp_path, good) as controller:
        controller.wait_for_pools()
        controller.reload(good.replace(proxy.admin, "http://127.0.0.1:1").replace(f"{tmp_path}/state", f"{tmp_path}/other"))
        until(lambda: bool(controller.status()["configuration"]["refused"]), "the refusal")
        refused = controller.status()["configuration"]["refused"].splitlines()
        assert [line.partition(": ")[2] for line in refused] == [
            "proxy.admin: can't change while it runs: restart tailhealth",
            "state.dir: can't change while it runs: restart tailhealth",
        ]


def test_rules_names_and_logs_change_and_nothing_comes_back(tmp_path: Path, proxy: Caddy, nodes: list[Upstream]) -> None:
    """An upstream that is out stays out while its pool gets a name, rules of its own, a protected member and another log."""
    first, second = nodes[0].address, nodes[1].address
    table = f'[pool.chat]\nupstreams = {[node.address for node in nodes]}\n[pool.chat.guard]\nprotected = ["{second}"]\n'
    with running(tmp_path, config_for(proxy, tmp_path)) as controller:
        controller.wait_for_pools()
        original = proxy.raw_config()
        nodes[0].status = 500
        with asking(proxy.url, count=4):
            controller.wait_for(Action.EJECT, Reason.RATIO, first)
            until(lambda: first not in proxy.dials(), "the removal")
        changes = len(controller.records("apply"))
        more = f'[[log]]\npath = "{tmp_path}/second.log"\n'
        controller.reload(config_for(proxy, tmp_path, more + table))
        until(lambda: controller.status()["view"]["pools"][0]["name"] == "chat", "the name")

        status = controller.status()
        assert [one["standing"] for one in status["view"]["pools"][0]["upstreams"]] == ["out", "serving", "serving"]
        assert [one["path"] for one in status["inputs"]] == [str(proxy.access_log), f"{tmp_path}/second.log"]
        assert status["inputs"][0]["lines"] > 0
        assert first not in proxy.dials()
        nodes[1].status = 500
        with asking(proxy.url, count=4):
            controller.wait_for(Action.WITHHELD, Reason.PROTECTED, second)
        assert controller.command("readmit", first).returncode == 0
        until(lambda: proxy.raw_config() == original, "the original configuration")
        assert len(controller.records("apply")) == changes + 1
        assert controller.records("drift") == []
        assert controller.stop() == 0


def test_observed_and_enforced_again(tmp_path: Path, proxy: Caddy, nodes: list[Upstream]) -> None:
    """A reload to `observe` puts back what is out while the decision goes on; one to `enforce` takes it out again."""
    first = nodes[0].address
    with running(tmp_path, config_for(proxy, tmp_path)) as controller:
        controller.wait_for_pools()
        assert controller.command("eject", first).returncode == 0
        until(lambda: first not in proxy.dials(), "the removal")
        controller.reload('mode = "observe"\n' + config_for(proxy, tmp_path))
        until(lambda: first in proxy.dials(), "its return")
        assert controller.status()["view"]["pools"][0]["upstreams"][0]["standing"] == "out"
        controller.reload(config_for(proxy, tmp_path))
        until(lambda: first not in proxy.dials(), "its removal")


def test_replay_repeats_a_day_with_a_reload(tmp_path: Path, proxy: Caddy, nodes: list[Upstream]) -> None:
    """With the configuration that the run began with, replay takes every decision of it, also those after the reload."""
    began = config_for(proxy, tmp_path)
    with running(tmp_path, began) as controller, asking(proxy.url, count=4):
        controller.wait_for_pools()
        until(lambda: controller.status()["view"]["attempts"] > 20, "attempts")
        reloaded = controller.status()["configuration"]["read_at"]
        controller.reload(began.replace("[window]", "[window]\nratio = false\nconsecutive_refused = 4"))
        until(lambda: controller.status()["configuration"]["read_at"] > reloaded, "the reload")
        nodes[0].status = 500
        nodes[1].refuse()
        controller.wait_for(Action.EJECT, Reason.CONSECUTIVE_REFUSED, nodes[1].address)
        assert controller.stop() == 0

    controller.config.write_text(began, encoding="utf-8")
    decisions = controller.decisions()
    assert decisions
    assert nodes[0].address not in {one.upstream for one in decisions}
    assert decisions == controller.replay(proxy.access_log)
