"""An input that can't be trusted: the running controller stops ejecting, says so, brings back who is out, and heals.

A real Caddy is the proxy; the log that the controller follows is written by the test, so that it can be broken in every way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tailhealth.core.model import Action, Reason
from tests.logs.caddy_lines import ABSENT, line
from tests.real.caddy import Caddy, caddy, reverse_proxy, until
from tests.real.controller import SCALED, Controller, running

pytestmark = pytest.mark.real

NODES = [f"127.0.0.1:{port}" for port in (19001, 19002, 19003, 19004)]
"""Nobody listens there, and nobody asks them anything."""
A, B = NODES[:2]
DEADLINE = 20.0


class Traffic:
    """A proxy, its log, and the controller that follows it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.log = folder / "traffic.log"
        self.proxy: Caddy = stack.enter_context(caddy(folder, [reverse_proxy(*NODES)]))
        self.log.touch()
        config = SCALED.format(admin=self.proxy.admin, state=folder / "state", log=self.log, out="3s")
        self.controller: Controller = stack.enter_context(running(folder, config))
        self.controller.wait_for_pools()
        self._number = 0

    def write(self, data: bytes) -> None:
        """Write to the log."""
        with self.log.open("ab") as file:
            file.write(data)

    def answers(self, count: int, *nodes: str, **fields: Any) -> None:
        """Write lines of so many requests at each node."""
        for _ in range(count):
            for node in nodes or NODES:
                self._number += 1
                self.write(line(self._number, **{"ts": time.time(), "upstream": node, **fields}))

    @property
    def blind(self) -> dict[str, str]:
        """Why the pool's input can't be trusted; empty: it can."""
        reasons: dict[str, str] = self.controller.status()["view"]["pools"][0]["blind"]
        return reasons

    def becomes_blind(self, why: str) -> None:
        """Wait until it is."""
        until(lambda: any(why in reason for reason in self.blind.values()), f"blindness: {why}", DEADLINE)

    def fails_until(self, node: str, done: Callable[[], bool]) -> None:
        """Let a node fail, and the others answer, until something is so."""

        def step() -> bool:
            self.answers(2)
            self.answers(4, node, status=500)
            return done()

        until(step, "a decision", DEADLINE, every=0.05)

    @property
    def listed(self) -> list[str]:
        """The upstreams that the proxy lists."""
        return self.proxy.dials()

    def heals(self) -> None:
        """Good lines come until the input is trusted again."""

        def step() -> bool:
            self.answers(5)
            return not self.blind

        until(step, "trust", DEADLINE, every=0.05)


@pytest.fixture(name="stack")
def closing() -> Any:
    """Ends what a test starts."""
    with ExitStack() as stack:
        yield stack


def garbage(traffic: Traffic) -> None:
    """The log is overwritten by something else."""
    traffic.write(b"\x00\xff this is no log\n" * 400)


def a_folder(traffic: Traffic) -> None:
    """Something stands in the place of the log that can't be read."""
    traffic.log.rename(traffic.log.with_name("moved.log"))
    traffic.log.mkdir()


def mended(traffic: Traffic) -> None:
    """What can't be read goes away."""
    if traffic.log.is_dir():
        traffic.log.rmdir()


@pytest.mark.parametrize(("breaks", "why"), [(garbage, "could not be read"), (a_folder, "not a regular file")])
def test_a_log_that_breaks(tmp_path: Path, stack: ExitStack, breaks: Callable[[Traffic], None], why: str) -> None:
    """Who is out comes back while nothing is ejected; after the log is mended and twenty good lines came, all is as before."""
    traffic = Traffic(tmp_path, stack)
    controller = traffic.controller
    traffic.fails_until(A, lambda: controller.has(Action.EJECT, Reason.RATIO, A))

    breaks(traffic)
    traffic.becomes_blind(why)
    controller.wait_for(Action.READMIT, Reason.TIMER, A)
    until(lambda: traffic.listed == NODES, "the whole list", DEADLINE)

    mended(traffic)
    traffic.heals()
    traffic.fails_until(B, lambda: controller.has(Action.EJECT, Reason.RATIO, B))
    until(lambda: B not in traffic.listed, "the removal", DEADLINE)
    assert controller.stop() == 0

    told = controller.records("blind")
    assert [bool(one["reason"]) for one in told] == [True, False]
    assert why in told[0]["reason"]
    meanwhile = [one for one in controller.decisions() if told[0]["at"] <= one.at < told[1]["at"]]
    assert [(one.upstream, one.action) for one in meanwhile if one.action is not Action.RECOVERED] == [(A, Action.READMIT)]


def test_records_that_name_no_upstream(tmp_path: Path, stack: ExitStack) -> None:
    """A log without the upstream field is no ground for anything; an operator's order still ends by itself."""
    traffic = Traffic(tmp_path, stack)
    controller = traffic.controller
    traffic.answers(10, upstream=ABSENT, upstream_latency_ms=ABSENT)
    traffic.becomes_blind("names an upstream")

    assert controller.command("eject", A, "--for", "500ms").returncode == 0
    until(lambda: A not in traffic.listed, "the removal", DEADLINE)
    controller.wait_for(Action.READMIT, Reason.TIMER, A)
    until(lambda: traffic.listed == NODES, "the whole list", DEADLINE)

    # The first lines that name upstreams say that one is sick: too few to be trusted with it.
    traffic.answers(2, *NODES[2:])
    traffic.answers(10, B, status=500)
    controller.wait_for(Action.WITHHELD, Reason.BLIND, B)
    assert not controller.has(Action.EJECT, Reason.RATIO)

    traffic.heals()
    traffic.fails_until(B, lambda: controller.has(Action.EJECT, Reason.RATIO, B))
    assert controller.stop() == 0

    assert [bool(one["reason"]) for one in controller.records("blind")] == [True, False]
    assert controller.decisions() == controller.replay(traffic.log)[: len(controller.decisions())]
