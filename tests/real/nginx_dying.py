"""A whole `tailhealth run` beside a real nginx that dies by SIGKILL at a given step of a change, and what is left of it.

Run as a module it is that controller: `python -m tests.real.nginx_dying CONFIG FILE INTENT STEP` dies at its INTENT-th intent,
at a step that it recognises by what Python's audit events tell of files and commands.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from tailhealth import cli
from tailhealth.service import running as production
from tailhealth.service.state import State
from tests.real.apply_nginx import served
from tests.real.caddy import until
from tests.real.controller import Controller, DyingRun
from tests.real.crash import Action, die
from tests.real.run_nginx import Site, confirmed, order


class Step(StrEnum):
    """Where the controller dies; all but the first are after the intent is written."""

    BEFORE_INTENT = "before the intent is written"
    BEFORE_TEST = "before nginx tests what stands"
    BEFORE_COPY = "before the copy of the old file stands"
    BEFORE_REPLACING = "before the new file takes its place"
    BEFORE_TESTING_AGAIN = "before nginx tests the new file"
    BEFORE_RELOAD = "before nginx is told to reload"
    RELOADING = "while it reloads"
    BEFORE_DROPPING = "before the copy is dropped"
    BEFORE_READ_BACK = "before the read back"
    BEFORE_CONFIRMING = "before it is written down that it was done"


class Audit:
    """Recognises the step that a change is at."""

    def __init__(self, file: Path, fatal: Step) -> None:
        self.armed = False
        self._file = str(file)
        self._before = str(file.with_name(f".{file.name}.tailhealth-before"))
        self._fatal = fatal
        self._tests = 0
        self._reloaded = self._dropped = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take an audit event."""
        if self.armed and self._step(event, arguments) is self._fatal:
            die()

    def _step(self, event: str, arguments: tuple[Any, ...]) -> Step | None:
        steps: dict[str, Callable[[tuple[Any, ...]], Step | None]] = {
            "subprocess.Popen": self._command,
            "os.rename": self._rename,
            "os.remove": self._remove,
            "open": self._open,
        }
        return steps[event](arguments) if event in steps else None

    def _command(self, arguments: tuple[Any, ...]) -> Step:
        if "reload" in arguments[1]:
            self._reloaded = True
            return Step.BEFORE_RELOAD
        self._tests += 1
        return Step.BEFORE_TEST if self._tests == 1 else Step.BEFORE_TESTING_AGAIN

    def _rename(self, arguments: tuple[Any, ...]) -> Step | None:
        return {self._before: Step.BEFORE_COPY, self._file: Step.BEFORE_REPLACING}.get(str(arguments[1]))

    def _remove(self, arguments: tuple[Any, ...]) -> Step | None:
        if str(arguments[0]) != self._before:
            return None
        self._dropped = True
        return Step.BEFORE_DROPPING

    def _open(self, arguments: tuple[Any, ...]) -> Step | None:
        path = str(arguments[0])
        if self._dropped and path == self._file:
            return Step.BEFORE_READ_BACK
        # The new workers are looked for among the processes.
        return Step.RELOADING if self._reloaded and path.startswith("/proc/") else None


class DyingState(State):
    """Counts intents, and arms the audit at one of them."""

    intent = 0
    step = Step.BEFORE_INTENT
    audit: Audit
    seen = 0

    def update(self, **changes: Any) -> None:
        """Write, or die."""
        kept = changes.get("kept")
        intends = kept is not None and any(one.aim is not None for one in kept)
        type(self).seen += intends
        if intends and self.seen == self.intent and self.step is Step.BEFORE_INTENT:
            die()
        if kept is not None and not intends and self.seen == self.intent and self.step is Step.BEFORE_CONFIRMING:
            die()
        super().update(**changes)
        self.audit.armed |= intends and self.seen == self.intent


class Outcome(NamedTuple):
    """What was found after a death."""

    at_once: list[str]
    """What was marked down right after it."""
    taken: bool
    """nginx took its configuration as it stood then, and served."""
    restored: bool
    """`restore`, if it was called, brought the operator's file, and nginx ran with it."""
    restarted: list[str]
    """What was marked down when the next run had settled."""
    runs_so: bool
    """nginx ran with that."""
    stopped: bool
    """An orderly stop brought the operator's file, with nothing beside it, and nginx ran with it."""


def death(stage: Site, folder: Path, action: Action, step: Step, *, restores: bool) -> Outcome:
    """Let a controller die while it ejects or readmits the first server, start another one, and stop that in order.

    Args:
        stage: nginx and its servers; at the end as before.
        folder: For the files of the controller.
        action: What it was doing.
        step: Where it dies.
        restores: Call `tailhealth restore` between.
    """
    victim, all_three = stage.addresses[0], {0, 1, 2}
    words = (str(stage.proxy.file), "1" if action is Action.EJECT else "2", step.value)
    controller = DyingRun(folder, stage.config(), "tests.real.nginx_dying", *words)
    controller.start()
    try:
        controller.wait_for_pools()
        if action is Action.READMIT:
            order(controller, "eject", victim, 600.0)
            until(lambda: confirmed(controller), "the removal")
        controller.spawn(action.value, victim, *(["--for", "10m"] if action is Action.EJECT else []))
        controller.wait_for_death()
        at_once = stage.out()
        taken = subprocess.run(stage.proxy.setup().test, capture_output=True, check=False).returncode == 0
        taken &= sum(served(stage.nodes, stage.proxy, 6).values()) == 6
        restored = not restores or (controller.command("restore").returncode == 0 and stage.is_original())
        restored &= not restores or served_by(stage) == all_three
        controller.start()
        expected = [victim] if action is Action.EJECT else []
        settle(controller, stage, expected)
        restarted, runs_so = stage.out(), served_by(stage) == (all_three - {0} if expected else all_three)
        stopped = controller.stop() == 0 and stage.is_original() and served_by(stage) == all_three
    finally:
        controller.kill()
    return Outcome(at_once, taken, restored, restarted, runs_so, stopped)


def served_by(stage: Site) -> set[int]:
    """Tell which servers get requests now."""
    return {index for index, count in served(stage.nodes, stage.proxy, 6).items() if count}


def settle(controller: Controller, stage: Site, expected: list[str]) -> None:
    """Wait until the run has read the file and it says what is expected, or the deadline: the caller looks again."""
    controller.wait_for_pools()
    try:
        until(lambda: stage.out() == expected and not stage.proxy.left_over(), "the file", 10)
    except TimeoutError:
        return


def main(config: str, file: str, intent: str, step: str) -> None:
    """Be the controller."""
    DyingState.intent, DyingState.step = int(intent), Step(step)
    DyingState.audit = Audit(Path(file), Step(step))
    # This process exists to die by it; the production code has no place for that.
    vars(production)["State"] = DyingState
    sys.addaudithook(DyingState.audit)
    cli.main(["run", "-c", config])


if __name__ == "__main__":
    main(*sys.argv[1:])
