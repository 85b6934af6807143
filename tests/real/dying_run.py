"""A whole `tailhealth run` that dies by SIGKILL at a given step of a change, and what is left of it.

Run as a module it is that controller: `python -m tests.real.dying_run CONFIG INTENT STEP` dies at its INTENT-th intent.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from tailhealth import cli
from tailhealth.service import running as production
from tailhealth.service.state import State
from tests.real.caddy import until
from tests.real.controller import SCALED, Controller, DyingRun
from tests.real.crash import Action, die
from tests.real.faults import FaultyAdmin

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

    from tests.real.caddy import Caddy


class Step(StrEnum):
    """Where the controller dies."""

    BEFORE_INTENT = "before the intent is written"
    AFTER_INTENT = "after the intent is written"
    BEFORE_ARRIVAL = "after sending, the request gets lost"
    AFTER_CHANGE = "after sending, the change is made"
    BEFORE_READ_BACK = "after the answer, before the read back"
    AFTER_READ_BACK = "after the read back"


IN_PROCESS = (Step.BEFORE_INTENT, Step.AFTER_INTENT)


class _DyingState(State):
    """Counts intents, and dies at one of them."""

    intent = 0
    step = Step.BEFORE_INTENT
    seen = 0

    def update(self, **changes: Any) -> None:
        intends = any(one.aim is not None for one in changes.get("kept", ()))
        type(self).seen += intends
        dies = intends and self.seen == self.intent
        if dies and self.step is Step.BEFORE_INTENT:
            die()
        super().update(**changes)
        if dies:
            die()


class KillingAdmin(FaultyAdmin):
    """Passes everything on, and kills a process at a step of its next change once it is armed."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._armed: tuple[int, Step] | None = None
        self._changed = False
        self.killed = threading.Event()
        super().__init__(target)

    def arm(self, pid: int, step: Step) -> None:
        """Kill at this step of the next change."""
        self._changed = False
        self.killed.clear()
        self._armed = (pid, step)

    def _treat(self, client: socket.socket, request: bytes) -> None:
        change, read = request.startswith(b"PATCH"), request.startswith(b"GET /config")
        if change and self._is_armed(Step.BEFORE_ARRIVAL):
            self._kill()
            return
        if read and self._changed and self._is_armed(Step.BEFORE_READ_BACK):
            self._kill()
            return
        answer = self._forward(request)
        self._changed |= change
        if change and self._is_armed(Step.AFTER_CHANGE):
            self._kill()
            return
        client.sendall(answer)
        if read and self._changed and self._is_armed(Step.AFTER_READ_BACK):
            self._kill()

    def _is_armed(self, step: Step) -> bool:
        return self._armed is not None and self._armed[1] is step

    def _kill(self) -> None:
        if self._armed is not None:
            os.kill(self._armed[0], signal.SIGKILL)
            self._armed = None
            self.killed.set()


class Outcome(NamedTuple):
    """What was found after a death."""

    at_once: list[str]
    """What the proxy listed right after it."""
    restarted: list[str]
    """What it listed when the next run had settled."""
    restored: bool
    """After `restore`, and after an orderly stop, the configuration was byte for byte the operator's."""

    def sound(self, everything: list[str], action: Action) -> bool:
        """Tell whether the list never was other than the operator's minus the ejections in force."""
        without = everything[1:]
        expected = without if action is Action.EJECT else everything
        return self.at_once in (everything, without) and self.restarted == expected and self.restored


@contextmanager
def killing(port: int) -> Iterator[KillingAdmin]:
    """Put a proxy that kills in front of an admin interface on this loopback port."""
    one = KillingAdmin(("127.0.0.1", port))
    try:
        yield one
    finally:
        one.stop()


def death(proxy: Caddy, folder: Path, action: Action, step: Step, *, restores: bool) -> Outcome:
    """Let a controller die while it ejects or readmits the first upstream, start another one, and stop that in order.

    Args:
        proxy: Lists the operator's upstreams, before and after.
        folder: For the files of the controller.
        action: What it was doing.
        step: Where it dies.
        restores: Call `tailhealth restore` between.
    """
    original, everything = proxy.raw_config(), proxy.dials()
    with killing(proxy.admin_port) as admin:
        config = SCALED.format(admin=admin.address, state=folder / "state", log=proxy.access_log, out="20s")
        if step in IN_PROCESS:
            intent = "1" if action is Action.EJECT else "2"
            controller: Controller = DyingRun(folder, config, "tests.real.dying_run", intent, step.value)
        else:
            controller = Controller(folder, config)
        controller.start()
        try:
            controller.wait_for_pools()
            if action is Action.READMIT:
                _order(controller, "eject", everything[0])
                until(lambda: proxy.dials() == everything[1:], "the removal")
                until(lambda: len(controller.records("apply")) == 1, "its end")
            if step not in IN_PROCESS:
                admin.arm(controller.pid, step)
            controller.spawn(action.value, everything[0], *(["--for", "10m"] if action is Action.EJECT else []))
            controller.wait_for_death()
            at_once = proxy.dials()
            restored = not restores or (controller.command("restore").returncode == 0 and proxy.raw_config() == original)
            controller.start()
            expected = everything[1:] if action is Action.EJECT else everything
            _settled(controller, proxy, expected)
            restarted = proxy.dials()
            stopped = controller.stop() == 0 and proxy.raw_config() == original
        finally:
            controller.kill()
    return Outcome(at_once, restarted, restored and stopped)


def _order(controller: Controller, name: str, upstream: str) -> None:
    done = controller.command(name, upstream)
    if done.returncode:
        raise RuntimeError(done.stderr)


def _settled(controller: Controller, proxy: Caddy, expected: list[str]) -> None:
    """Wait until the run has read the proxy and the list is what is expected, or the deadline: the caller looks again."""
    controller.wait_for_pools()
    try:
        until(lambda: proxy.dials() == expected, "the list", 10)
    except TimeoutError:
        return


def main(config: str, intent: str, step: str) -> None:
    """Be the controller."""
    _DyingState.intent, _DyingState.step = int(intent), Step(step)
    # This process exists to die by it; the production code has no place for that.
    vars(production)["State"] = _DyingState
    cli.main(["run", "-c", config])


if __name__ == "__main__":
    main(*sys.argv[1:])
