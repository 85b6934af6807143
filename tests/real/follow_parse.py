"""`tailhealth parse --follow --state` as a process: started, stopped and killed, with what it printed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real.caddy import until
from tests.real.servers import DEADLINE

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Output:
    """What one process printed."""

    path: Path
    killed: bool = False
    saved: bool = False
    """It ended in order."""
    _read: list[dict[str, Any]] = field(default_factory=list)
    _at: int = 0

    def records(self) -> list[dict[str, Any]]:
        """Return the whole objects that it printed so far, the summary left out; a kill may cut the last one off."""
        with self.path.open("rb") as file:
            file.seek(self._at)
            data = file.read()
        data = data[: data.rfind(b"\n") + 1]
        self._at += len(data)
        self._read += [one for one in map(json.loads, data.splitlines()) if "summary" not in one]
        return self._read


class FollowParse:
    """One process after the other over the same state.

    Args:
        folder: Where output and state go.
        logs: What is followed.
    """

    def __init__(self, folder: Path, *logs: Path) -> None:
        self.outputs: list[Output] = []
        self.state = folder / "state"
        self._folder = folder
        self._command = [sys.executable, "-m", "tailhealth", "parse", "--follow", "--json", "--state", str(self.state)]
        self._command += map(str, logs)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin another one, and wait until it goes by its state."""
        output = Output(self._folder / f"output-{len(self.outputs):03}")
        with output.path.open("wb") as out, (self._folder / "errors").open("ab") as errors:
            self._process = subprocess.Popen(self._command, stdout=out, stderr=errors, cwd=ROOT)
        self.outputs.append(output)
        until((self.state / "parse.json").exists, "the first checkpoint")

    def stop(self) -> None:
        """End it by SIGTERM."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it by SIGKILL."""
        self.outputs[-1].killed = True
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """End it if it runs."""
        if self._process is not None:
            self.kill()

    def wait_for(self, path: str) -> None:
        """Wait until an attempt of this path was printed."""
        until(lambda: any(one["path"] == path for one in self.outputs[-1].records()), f"{path} on standard output", DEADLINE)

    def printed(self) -> list[str]:
        """Return the paths of all attempts, each place once; what a kill let repeat must be the last that was printed before.

        Raises:
            AssertionError: Something else was repeated.
        """
        seen: dict[tuple[str, int], str] = {}
        unsaved = False
        for output in self.outputs:
            fresh = {(one["generation"], one["offset"]): one["path"] for one in output.records()}
            again = fresh.keys() & seen.keys()
            assert again == set(list(seen)[len(seen) - len(again) :]), f"{len(again)} repeated"
            assert unsaved or not again
            assert len(fresh) == len(output.records())
            unsaved = output.killed or (unsaved and not output.saved)
            seen |= fresh
        return list(seen.values())

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        assert process is not None
        process.send_signal(number)
        code = process.wait(DEADLINE)
        # One that is stopped before it began to listen ends by the signal, and has done nothing yet.
        self.outputs[-1].saved = code == 0
        assert code in {0, -number}, (self._folder / "errors").read_text(encoding="utf-8")
