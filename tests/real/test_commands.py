"""What an operator does on the command line while a controller runs next to a real Caddy, and what it tells him."""

from __future__ import annotations

import http.client
import stat
from typing import TYPE_CHECKING

import orjson
import pytest

from tailhealth.core.model import Action, Reason
from tests.real.caddy import until
from tests.real.clients import asking
from tests.real.controller import running
from tests.real.nodes import Stage, stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real

CLIENT = "127.0.0.77"
"""A client's address that is nobody else's."""


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Stage]:
    """Three servers behind a Caddy."""
    with stage(tmp_path) as one:
        yield one


def ask_from(scene: Stage, client: str, path: str) -> int:
    """Send a request from a loopback address of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", scene.proxy.port, timeout=10, source_address=(client, 0))
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_what_is_written_is_private(scene: Stage) -> None:
    """State, journal, lock and control socket are for their user alone, and hold no query string and no client's address."""
    with running(scene.folder, scene.config()) as controller:
        controller.wait_for_pools()
        scene.nodes[0].status = 500

        def is_out() -> bool:
            ask_from(scene, CLIENT, "/chat?token=secret")
            return controller.has(Action.EJECT, Reason.RATIO, scene.addresses[0])

        until(is_out, "the ejection", 30)
        until(lambda: scene.addresses[0] not in scene.dials(), "the removal")

        told = [
            controller.command(*words).stdout for words in (["status"], ["status", "--json"], ["explain", scene.addresses[0]])
        ]
        # Killed, it leaves everything as it was in the middle of its work.
        controller.kill()
        assert stat.S_IMODE(controller.state.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in controller.state.iterdir()}
        assert {"control.sock", "journal.jsonl", "lock", "state.json"} <= set(modes)
        assert set(modes.values()) == {0o600}
        written = [path.read_bytes() for path in controller.state.iterdir() if path.is_file()]
        assert CLIENT.encode() in scene.proxy.access_log.read_bytes()
        for text in [*written, *(one.encode() for one in told)]:
            assert b"secret" not in text
            assert CLIENT.encode() not in text


def test_one_controller_per_state_directory(scene: Stage) -> None:
    """A second one ends with exit code 2 and one line that names the first; so does `restore`."""
    with running(scene.folder, scene.config()) as controller:
        controller.wait_for_pools()
        for name in ("run", "restore"):
            second = controller.command(name)
            assert second.returncode == 2
            (line,) = second.stderr.splitlines()
            assert line.endswith(f"process {controller.pid} runs on this state directory: stop it first")
        assert controller.status()["view"]["pools"]


def test_observed_pools_are_never_changed(scene: Stage) -> None:
    """With mode = "observe" every decision is taken and marked, and not one change is made."""
    with running(scene.folder, scene.config(first='mode = "observe"\n')) as controller:
        controller.wait_for_pools()
        original = scene.proxy.raw_config()
        scene.nodes[0].status = 500
        with asking(scene.proxy.url, count=4):
            controller.wait_for(Action.EJECT, Reason.RATIO, scene.addresses[0])
        assert controller.command("eject", scene.addresses[1]).returncode == 0
        assert "observed only" in controller.command("status").stdout
        assert "would be out" in controller.command("explain", scene.addresses[0]).stdout
        assert {one.enforced for one in controller.decisions()} == {False}
        assert controller.records("apply") == []
        assert scene.proxy.raw_config() == original


def test_pause_and_resume(scene: Stage) -> None:
    """While paused a trip is withheld and says so; `resume` lets it be decided."""
    first = scene.addresses[0]
    with running(scene.folder, scene.config()) as controller, asking(scene.proxy.url, count=4):
        controller.wait_for_pools()
        paused = controller.command("pause", "--why", "failover test")
        assert (paused.returncode, paused.stdout) == (0, f"pause: done in {controller.status()['view']['pools'][0]['name']}\n")
        scene.nodes[0].status = 500
        controller.wait_for(Action.WITHHELD, Reason.PAUSED, first)
        told = controller.command("explain", first).stdout
        assert "in, although it tripped: decisions are paused" in told
        assert "`tailhealth resume`" in told
        assert scene.dials() == scene.addresses
        assert controller.command("resume").returncode == 0
        until(lambda: first not in scene.dials(), "the removal")
        assert [(one["verb"], one["why"]) for one in controller.records("command")] == [
            ("pause", "failover test"),
            ("resume", ""),
        ]


def test_an_order_that_was_answered_outlives_a_crash(scene: Stage) -> None:
    """Also one that leads to no decision: whoever paused it, or pinned an upstream in, was told that it is done."""
    first = scene.addresses[0]
    with running(scene.folder, scene.config()) as controller:
        controller.wait_for_pools()
        assert controller.command("pin", "in", first).returncode == 0
        assert controller.command("pause").returncode == 0
        controller.kill()
        controller.start()
        controller.wait_for_pools()
        (pool,) = controller.status()["view"]["pools"]
        assert pool["paused"]
        assert [one["address"] for one in pool["upstreams"] if one["pinned"]] == [first]


def test_pin(scene: Stage) -> None:
    """Pinned in it stays whatever it does; unpinned it goes; pinned out it stays out until it is unpinned."""
    first, second = scene.addresses[:2]
    with running(scene.folder, scene.config(out="600ms")) as controller, asking(scene.proxy.url, count=4):
        controller.wait_for_pools()
        assert controller.command("pin", "in", first).returncode == 0
        scene.nodes[0].status = 500
        controller.wait_for(Action.WITHHELD, Reason.PINNED, first)
        assert "pinned by the operator" in controller.command("explain", first).stdout
        assert controller.command("unpin", first).returncode == 0
        controller.wait_for(Action.EJECT, Reason.RATIO, first)
        scene.nodes[0].status = 200
        controller.wait_for(Action.READMIT, Reason.TIMER, first)

        assert controller.command("pin", "out", second, "--why", "new disk").returncode == 0
        until(lambda: second not in scene.dials(), "the removal")
        assert "until an operator readmits it" in controller.command("explain", second).stdout
        assert controller.command("unpin", second).returncode == 0
        until(lambda: second in scene.dials(), "its return")


def test_orders_that_can_not_be_given(scene: Stage) -> None:
    """An unknown upstream or pool names those there are; the last one serving stays unless it is forced."""
    with running(scene.folder, scene.config()) as controller:
        controller.wait_for_pools()
        unknown = controller.command("eject", "10.9.9.9:1")
        assert unknown.returncode == 1
        assert unknown.stderr.splitlines() == [
            f"tailhealth: 10.9.9.9:1: no such upstream; there are: {', '.join(sorted(scene.addresses))}"
        ]
        assert "no such pool" in controller.command("eject", scene.addresses[0], "--pool", "x").stderr
        for address in scene.addresses[:2]:
            assert controller.command("eject", address).returncode == 0
        last = controller.command("eject", scene.addresses[2])
        assert last.returncode == 1
        assert "use --force to empty the pool" in last.stderr


def test_status_and_explain_for_scripts(scene: Stage) -> None:
    """Both print one JSON object with a version, and both name what is out and why."""
    first = scene.addresses[0]
    note = '[probation]\nnote = "models load for a minute"\n'
    with running(scene.folder, scene.config(note)) as controller:
        controller.wait_for_pools()
        assert controller.command("eject", first, "--for", "5m", "--why", "new driver").returncode == 0
        until(lambda: first not in scene.dials(), "the removal")
        status = orjson.loads(controller.command("status", "--json").stdout)
        assert (status["v"], status["dry_run"], status["configuration"]["refused"]) == (1, False, "")
        assert status["view"]["pools"][0]["upstreams"][0]["standing"] == "out"
        told = orjson.loads(controller.command("explain", first, "--json").stdout)
        (pool,) = told["pools"]
        assert (told["v"], told["running"]) == (1, True)
        assert "new driver" in pool["why"][0]
        assert pool["notes"] == ["probation: models load for a minute"]
        assert "taken out of the list: PATCH /config/" in pool["events"][0]

        controller.kill()
        dead = controller.command("status")
        assert (dead.returncode, len(dead.stderr.splitlines())) == (1, 1)
        assert "no controller runs" in dead.stderr
        told = orjson.loads(controller.command("explain", first, "--json").stdout)
        assert told["running"] is False
        assert "is still out of the proxy's list" in told["pools"][0]["where"]
        assert controller.command("restore").returncode == 0
        assert "which was restored" in controller.command("explain", first).stdout
        unknown = controller.command("explain", "10.9.9.9:1")
        assert unknown.returncode == 1
        assert "no such upstream; there are:" in unknown.stderr


def test_a_dry_run_can_be_asked(scene: Stage) -> None:
    """`status` and `explain` find a dry run where no other runs, and say that it is one."""
    with running(scene.folder, scene.config(), "--dry-run") as controller:
        until(lambda: "dry run" in controller.command("status").stdout, "the status")
        until(lambda: controller.command("explain", scene.addresses[0]).returncode == 0, "the pools")
