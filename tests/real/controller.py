"""A real `tailhealth run` for tests: a process of its own, its configuration by value, ended by its process id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from tailhealth.core.model import Action, Decision, Reason
from tailhealth.service.control import Request, ask, is_there
from tailhealth.service.journal import JournalError, Reading
from tests.real.caddy import until

if TYPE_CHECKING:
    from collections.abc import Iterator

DEADLINE = 30.0
ROOT = Path(__file__).resolve().parents[2]

SCALED = """
lateness = "100ms"

[bad]
slower_than = "1200ms"

[window]
span = "300ms"
within = "6s"
unanswered_after = "10ms"

[eject]
for = "{out}"

[guard]
settle = "100ms"

[proxy]
admin = "{admin}"
poll = "50ms"
drift_poll = "600ms"
coalesce = "10ms"
min_apply_interval = "100ms"

[state]
dir = "{state}"

[[log]]
path = "{log}"
"""
"""The defaults with time at 1:100."""


class Controller:
    """One `tailhealth run`."""

    def __init__(self, folder: Path, config: str) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.config = folder / "tailhealth.toml"
        self.config.write_text(config, encoding="utf-8")
        self.environ: dict[str, str] = {}
        """What it finds in its environment beside that of the test."""
        self._process: subprocess.Popen[bytes] | None = None
        self._spawned: list[subprocess.Popen[bytes]] = []

    @property
    def pid(self) -> int:
        """Process id of the one that runs."""
        if self._process is None:
            raise RuntimeError("no controller runs")
        return self._process.pid

    @property
    def journal(self) -> Path:
        """Its journal."""
        return self.state / "journal.jsonl"

    def start(self, *options: str) -> None:
        """Start it and wait until it answers on its control socket."""
        command = self.command_line(options)
        with (self.folder / "run.log").open("ab") as out:
            environ = {**os.environ, **self.environ}
            self._process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True, env=environ, cwd=ROOT)
        folder = self.state / ("dry-run" if "--dry-run" in options else "")
        until(lambda: is_there(folder) or self._process_ended(), "the control socket", DEADLINE)
        if self._process.poll() is not None:
            raise RuntimeError("tailhealth ended: " + self.output())

    def command_line(self, options: tuple[str, ...]) -> list[str]:
        """Return what is started."""
        return [sys.executable, "-m", "tailhealth", "run", "-c", str(self.config), *options]

    def wait_for_death(self) -> None:
        """Wait until it has ended by itself, and let whoever still waits for its answer end too."""
        process, self._process = self._process, None
        if process is not None:
            process.wait(DEADLINE)
        for one in self._spawned:
            one.wait(DEADLINE)
        self._spawned.clear()

    def spawn(self, *words: str) -> None:
        """Run another `tailhealth` command with the same configuration, and don't wait for it."""
        name, *rest = words
        command = [sys.executable, "-m", "tailhealth", name, "-c", str(self.config), *rest]
        with (self.folder / "run.log").open("ab") as out:
            self._spawned.append(subprocess.Popen(command, stdout=out, stderr=out))

    def _process_ended(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def output(self) -> str:
        """Return what it printed."""
        return (self.folder / "run.log").read_text(encoding="utf-8")

    def reload(self, config: str) -> None:
        """Give it another configuration and let it reread that."""
        self.config.write_text(config, encoding="utf-8")
        os.kill(self.pid, signal.SIGHUP)

    def wait_for_pools(self) -> None:
        """Wait until it knows the pools of the proxy."""
        until(lambda: bool(self.status()["view"]["pools"]), "the pools", DEADLINE)

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Read the records of a type from its journal."""
        return [one for one in Reading(self.journal).records() if one["type"] == kind]

    def stop(self) -> int:
        """End it with SIGTERM, by force after the deadline; return its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._end(signal.SIGKILL)

    def _end(self, number: int) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        if process.poll() is None:
            os.kill(process.pid, number)
        try:
            return process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(DEADLINE)
            raise

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run another `tailhealth` command with the same configuration."""
        name, *rest = words
        command = [sys.executable, "-m", "tailhealth", name, "-c", str(self.config), *rest]
        return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)

    def status(self) -> dict[str, Any]:
        """Ask for its state."""
        return ask(self.state, Request("status")).data

    def decisions(self) -> list[Decision]:
        """Read what it decided so far."""
        try:
            return list(Reading(self.journal).decisions())
        except JournalError:
            return []

    def has(self, action: Action, reason: Reason, upstream: str | None = None) -> bool:
        """Tell whether it has decided this."""
        return any(
            one.action is action and one.reason is reason and upstream in (None, one.upstream) for one in self.decisions()
        )

    def wait_for(self, action: Action, reason: Reason, upstream: str | None = None, deadline: float = DEADLINE) -> None:
        """Wait until it has decided this."""
        until(lambda: self.has(action, reason, upstream), f"{action} {reason} of {upstream}", deadline)

    def replay(self, *logs: Path) -> list[Decision]:
        """Let `tailhealth replay` decide about logs with this run's journal."""
        paths = [str(path) for path in logs]
        done = self.command("replay", *paths, "--json", "--journal", str(self.journal))
        if done.returncode:
            raise RuntimeError(done.stderr)
        records = [orjson.loads(line) for line in done.stdout.splitlines()]
        return [_decision(record) for record in records if "summary" not in record]


def _decision(record: dict[str, Any]) -> Decision:
    return msgspec.convert(record, Decision)


class DyingRun(Controller):
    """A controller whose first run is that of a module that dies on its way.

    Args:
        folder: For its files.
        config: Its configuration.
        module: What runs first, with the path of the configuration and `words` as its arguments.
        words: Where and when to die.
    """

    def __init__(self, folder: Path, config: str, module: str, *words: str) -> None:
        super().__init__(folder, config)
        self._dying = (module, str(self.config), *words)

    def command_line(self, options: tuple[str, ...]) -> list[str]:
        """Return what is started: the module, once; then an ordinary run."""
        if not self._dying:
            return super().command_line(options)
        dying, self._dying = self._dying, ()
        return [sys.executable, "-m", *dying]


@contextmanager
def running(folder: Path, config: str, *options: str, environ: dict[str, str] | None = None) -> Iterator[Controller]:
    """Run a controller for the length of a `with` block."""
    one = Controller(folder, config)
    one.environ |= environ or {}
    one.start(*options)
    try:
        yield one
    finally:
        one.kill()
