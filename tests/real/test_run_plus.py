"""The running controller beside the double of the NGINX Plus API: the log is written by the test, the API is the double's."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import orjson
import pytest

from tailhealth.core.model import Action, Reason
from tests.proxies.plus_double import Plus, plus_api
from tests.real.caddy import until
from tests.real.controller import SCALED, Controller, running
from tests.real.run_nginx import condition, confirmed, order

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real

NODES = [f"10.9.0.{number}:8080" for number in (1, 2, 3, 4)]
SICK = NODES[1]


class Stage(NamedTuple):
    """A double, and a controller beside it."""

    plus: Plus
    controller: Controller
    log: Path

    def answers(self, statuses: dict[str, int]) -> None:
        """Write the lines of one request to each of these nodes."""
        now = time.time()
        with self.log.open("ab") as file:
            for node, status in statuses.items():
                line = {
                    "msec": f"{now:.3f}",
                    "remote_addr": "192.0.2.7",
                    "request_method": "POST",
                    "request_uri": "/api/chat",
                    "status": str(status),
                    "request_time": "0.020",
                    "upstream_addr": node,
                    "upstream_status": str(status),
                    "upstream_header_time": "0.010",
                    "upstream_response_time": "0.020",
                }
                file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))

    def server(self, address: str = SICK) -> dict[str, object]:
        """Return a server as the API has it now."""
        with self.plus.lock:
            return dict(next(one for one in self.plus.upstreams["chat"] if one["server"] == address))

    def is_out(self, key: str = "down") -> bool:
        """Tell whether the sick one is out, and no other is."""
        return [one for one in NODES if self.server(one).get(key)] == [SICK]

    def is_confirmed(self) -> bool:
        """Tell whether it is out, and the controller has written down that it read that back."""
        return self.is_out() and confirmed(self.controller)

    def settings(self) -> list[str]:
        """Return what the API has, ids apart."""
        return [json.dumps({**self.server(one), "id": 0}, sort_keys=True) for one in NODES]


@contextmanager
def staged(folder: Path, out: str = "20s", more: str = "") -> Iterator[Stage]:
    """Run both for the length of a `with` block."""
    plus = Plus({"chat": [{"server": node, "max_conns": 9 if node == SICK else 0} for node in NODES]})
    log = folder / "access.log"
    log.touch()
    with plus_api(plus) as admin:
        scaled = SCALED.replace("[proxy]", f'[proxy]\nkind = "nginx-plus"\n{more}')
        config = scaled.format(admin=admin, state=folder / "state", log=log, out=out)
        with running(folder, config) as controller:
            controller.wait_for_pools()
            yield Stage(plus, controller, log)


def fails(stage: Stage) -> None:
    """Let one node answer 500 and the others well until it is out."""

    def round_of_requests() -> bool:
        stage.answers({node: 500 if node == SICK else 200 for node in NODES})
        return stage.controller.has(Action.EJECT, Reason.RATIO, SICK)

    until(round_of_requests, "the decision", 30)


@pytest.mark.parametrize(("more", "key"), [("", "down"), ("drain = true", "drain")])
def test_a_failing_node_leaves_and_comes_back(tmp_path: Path, more: str, key: str) -> None:
    """It alone is ejected, in the way that is set, returns limited to one, and ends with the operator's settings."""
    with staged(tmp_path, "2s", more) as stage:
        before = stage.settings()
        fails(stage)
        until(lambda: stage.is_out(key), "the removal")
        until(lambda: not stage.server().get(key), "its return", 30)
        assert stage.server()["max_conns"] == 1

        def recovered() -> bool:
            stage.answers(dict.fromkeys(NODES, 200))
            return stage.controller.has(Action.RECOVERED, Reason.PROBATION, SICK)

        until(recovered, "the end of its probation", 30)
        until(lambda: stage.settings() == before, "the operator's settings", 30)
        assert stage.controller.stop() == 0
        assert stage.settings() == before
        decisions = stage.controller.decisions()
        assert {SICK} == {one.upstream for one in decisions if one.action is Action.EJECT}
        assert decisions == stage.controller.replay(stage.log)


def test_a_reload_that_loses_changes(tmp_path: Path) -> None:
    """The operator loads his configuration: the ejection goes on and is applied again, to the server's new id."""
    with staged(tmp_path) as stage:
        fails(stage)
        until(stage.is_confirmed, "the removal")
        before = stage.server()["id"]
        stage.plus.reload()
        assert not stage.is_out()
        until(stage.is_out, "the ejection to be applied again")
        assert stage.server()["id"] != before
        assert [one["what"] for one in stage.controller.records("drift")] == ["loaded"]
        assert not stage.controller.has(Action.READMIT, Reason.OPERATOR_CONFIG)
        assert stage.controller.stop() == 0
        assert not any(stage.server(node)["down"] for node in NODES)


def test_the_operators_hand(tmp_path: Path) -> None:
    """Who brings the server back by the API ends the ejection; who takes it out then is not undone, not even at the end."""
    with staged(tmp_path) as stage:
        fails(stage)
        until(stage.is_confirmed, "the removal")
        server = stage.plus.upstreams["chat"][1]
        server["down"] = False
        stage.controller.wait_for(Action.READMIT, Reason.OPERATOR_CONFIG, SICK)
        assert [one["what"] for one in stage.controller.records("drift")] == ["hand"]
        server["down"] = True

        def held_down() -> bool:
            (pool,) = stage.controller.status()["view"]["pools"]
            return [one["standing"] for one in pool["upstreams"]] == ["serving", "held_down", "serving", "serving"]

        until(held_down, "what the operator did to be seen")
        order(stage.controller, "eject", NODES[0])
        until(lambda: stage.server(NODES[0])["down"] is True, "another removal")
        assert stage.controller.stop() == 0
        assert [bool(stage.server(node)["down"]) for node in NODES] == [False, True, False, False]


def test_a_killed_controller_knows_what_was_its_own(tmp_path: Path) -> None:
    """A next start finds the server down, holds that for its own, and `restore` brings it back."""
    with staged(tmp_path) as stage:
        before = stage.settings()
        fails(stage)
        until(stage.is_out, "the removal")
        stage.controller.kill()
        stage.controller.start()
        stage.controller.wait_for_pools()
        (pool,) = stage.controller.status()["view"]["pools"]
        assert [one["standing"] for one in pool["upstreams"]] == ["serving", "out", "serving", "serving"]
        assert stage.is_out()
        stage.controller.kill()
        assert stage.controller.command("restore").returncode == 0
        assert stage.settings() == before


def test_stuck_requests_are_counted(tmp_path: Path) -> None:
    """A node that answers nobody writes no line: its `active` tells of it."""
    with staged(tmp_path) as stage:
        stage.plus.active[SICK] = 5

        def others_answer() -> bool:
            stage.answers({node: 200 for node in NODES if node != SICK})
            return stage.controller.has(Action.EJECT, Reason.RATIO, SICK)

        until(others_answer, "the decision", 30)
        eject = next(one for one in stage.controller.decisions() if one.action is Action.EJECT)
        assert eject.evidence.kinds == {"stalled": 5}
        until(stage.is_out, "the removal")


def test_a_read_only_api(tmp_path: Path) -> None:
    """Decisions go on, the condition names the remedy, and all is done when the API may be written to."""
    with staged(tmp_path) as stage:
        stage.plus.write = False
        order(stage.controller, "eject", SICK)
        assert "`api write=on;`" in condition(stage.controller, "forbidden")
        stage.plus.write = True
        until(stage.is_out, "the removal", 30)
        until(lambda: not stage.controller.status()["conditions"], "the end of the condition")
