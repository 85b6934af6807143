"""The whole path on a real nginx: a stuck node is found, marked down, and comes back; the file ends as it was."""

from __future__ import annotations

import re
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tailhealth.core.model import Action, Reason
from tests.real.apply_nginx import ask, served
from tests.real.caddy import until
from tests.real.clients import asking
from tests.real.controller import running
from tests.real.run_nginx import Site, confirmed, order, site
from tests.real.servers import DEADLINE, Behaviour

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def test_a_wedged_node_leaves_and_comes_back(tmp_path: Path) -> None:
    """One of four wedges, clients give up first: it alone is ejected, returns limited to one, and no byte stays changed."""
    with site(tmp_path, 4) as stage:
        sick = stage.nodes[1]
        for node in stage.nodes:
            node.delay = 0.1
        with (
            running(tmp_path, stage.config("1500ms")) as controller,
            asking(stage.url, count=8, patience=1.0) as clients,
        ):
            until(lambda: min(len(node.seen) for node in stage.nodes) >= 10, "traffic at every node")
            sick.behaviour = Behaviour.HANG
            until(lambda: stage.out() == [sick.address], "the removal of the wedged node", 30)
            assert re.search(r"# tailhealth-set down: ejected until 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ: [a-z_]+\n", stage.text())

            sick.behaviour = Behaviour.ANSWER
            until(lambda: stage.out() == [], "its return", 30)
            assert "max_conns=1" in stage.parameters()[sick.address]
            assert "# tailhealth-set max_conns=1: on probation, 1 at a time\n" in stage.text()
            controller.wait_for(Action.RECOVERED, Reason.PROBATION, sick.address)
            until(stage.is_original, "the original file", 30)
            (pool,) = controller.status()["view"]["pools"]
            assert pool["stalled_off"] == "the proxy does not tell its requests in flight"
            clients.stop()
            assert controller.stop() == 0

            decisions = controller.decisions()
            assert {sick.address} == {one.upstream for one in decisions if one.action is Action.EJECT}
            assert stage.is_original()
            # Every request that any node saw came from the clients: not one from tailhealth.
            assert {"/api/chat?token=secret"} == {request.path for node in stage.nodes for request in node.seen}
            assert b"secret" not in controller.journal.read_bytes()
            assert decisions == controller.replay(stage.proxy.access_log)


def test_requests_in_flight_finish(tmp_path: Path) -> None:
    """What was on its way when a node was taken out, at that node and at others, is answered."""
    with site(tmp_path, 4) as stage, running(tmp_path, stage.config()) as controller:
        controller.wait_for_pools()
        first, second = stage.nodes[:2]
        first.behaviour = second.behaviour = Behaviour.HANG
        with asking(stage.url, count=4, patience=25) as waiting:
            first.wait(lambda one: one.in_flight > 0)
            second.wait(lambda one: one.in_flight > 0)
            order(controller, "eject", second.address)
            until(lambda: confirmed(controller), "the removal")
            assert stage.out() == [second.address]
            first.behaviour = second.behaviour = Behaviour.ANSWER
            waiting.stop()
        assert {"200"} == set(waiting.seen)


def _is_out(stage: Site, upstream: str) -> bool:
    """Tell whether just this one is out, and nginx runs with that."""
    return stage.out() == [upstream] and not stage.proxy.left_over()


def test_twenty_ejections_leave_no_more_old_workers_than_requests(tmp_path: Path) -> None:
    """One held request, one old worker, however many reloads follow (case 113)."""
    with site(tmp_path) as stage, running(tmp_path, stage.config()) as controller:
        controller.wait_for_pools()
        held, others = stage.nodes[0], stage.nodes[1:]
        held.behaviour = Behaviour.HANG
        answers: list[int] = []
        clients = [threading.Thread(target=lambda: answers.append(ask(stage.proxy, "/long"))) for _ in range(3)]
        for one in clients:
            one.start()
        held.wait(lambda one: one.in_flight == 1)
        adapter = stage.proxy.adapter()
        for count in range(20):
            leaving, back = (node.address for node in (others if count % 2 else reversed(others)))
            if count:
                order(controller, "readmit", back)
            order(controller, "eject", leaving)
            until(partial(_is_out, stage, leaving), "the ejection", 30)
            until(lambda: adapter.leaving() == 1, "all old workers but one to end", 30)
        assert len(controller.records("apply")) >= 20
        held.behaviour = Behaviour.ANSWER
        for one in clients:
            one.join(DEADLINE)
        assert answers == [200] * 3
        until(lambda: adapter.leaving() == 0, "the old worker's end")
        assert controller.stop() == 0
        assert stage.is_original()


def test_a_killed_controller_loses_nothing(tmp_path: Path) -> None:
    """SIGKILL after a removal: `restore` puts the server back at once, a next start takes it out again in its time."""
    with site(tmp_path) as stage, running(tmp_path, stage.config()) as controller:
        victim = stage.nodes[0]
        controller.wait_for_pools()
        order(controller, "eject", victim.address, 12.0)
        until(lambda: stage.out() == [victim.address], "the removal")
        until(lambda: confirmed(controller), "its end")
        controller.kill()
        assert served(stage.nodes, stage.proxy, 6)[0] == 0

        restored = controller.command("restore")
        assert (restored.returncode, restored.stdout) == (0, f"put back: {victim.address}\n"), restored.stderr
        assert stage.is_original()
        assert served(stage.nodes, stage.proxy, 6)[0] == 2

        controller.start()
        until(lambda: stage.out() == [victim.address], "the ejection to be applied again")
        controller.wait_for(Action.READMIT, Reason.TIMER, victim.address)
        until(lambda: stage.out() == [], "its return")
        assert controller.stop() == 0
        assert stage.is_original()
        assert served(stage.nodes, stage.proxy, 6)[0] == 2


def test_a_state_file_that_is_lost(tmp_path: Path) -> None:
    """What the file says is ours is lifted by a controller that knows nothing of it, limits too; the operator's stay."""
    with site(tmp_path) as stage:
        one, two, _ = stage.addresses
        text = stage.original.decode().replace(f"{two} max_fails=0", f"{two} max_conns=7 max_fails=0")
        marked = text.replace(
            f"    server {one} max_fails=0;", f"    # tailhealth-set down: ?\n    server {one} max_fails=0 down;"
        ).replace(f"    server {two}", f"    # tailhealth-set max_conns=1: ?\n    server {two}")
        marked = marked.replace("max_conns=7 max_fails=0;", "max_conns=7 max_fails=0 max_conns=1;")
        stage.proxy.file.write_text(marked, encoding="ascii")
        with running(tmp_path, stage.config()):
            until(lambda: stage.text() == text, "the operator's file", 30)


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    """With --dry-run the decision is journaled, and nothing is written or reloaded, not even what was cut off before."""
    with site(tmp_path, 4) as stage:
        copy = tmp_path / ".chat.conf.tailhealth-before"
        copy.write_bytes(stage.original)
        one = stage.addresses[0]
        half = stage.text().replace(
            f"    server {one} max_fails=0;", f"    # tailhealth-set down: ?\n    server {one} max_fails=0 down;"
        )
        stage.proxy.file.write_text(half, encoding="ascii")
        calls = tmp_path / "calls"
        recorder = ["sh", "-c", f'echo "$@" >> {calls}; exec "$@"', "sh"]
        with (
            running(tmp_path, stage.config(command=recorder), "--dry-run") as controller,
            asking(stage.url, count=8, patience=1.0),
        ):
            stage.nodes[1].status = 500
            journal = controller.state / "dry-run" / "journal.jsonl"
            until(lambda: b'"action":"eject"' in journal.read_bytes(), "the decision", 30)
            assert stage.text() == half
            assert copy.read_bytes() == stage.original
            assert not controller.journal.exists()
            assert {line.rpartition(" -")[2] for line in calls.read_text().splitlines()} == {"t"}
