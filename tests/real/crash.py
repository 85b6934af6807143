"""A controller that dies by SIGKILL at a given point of a change, and what is left of it.

Run as a module it is that controller: `python -m tests.real.crash ADMIN STATE_DIR ACTION POINT`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tailhealth.proxies.admin import Access, Admin
from tailhealth.proxies.base import UpstreamState
from tailhealth.proxies.caddy import Caddy as Adapter
from tailhealth.service.change import restore
from tailhealth.service.journal import Journal
from tailhealth.service.reconcile import Reconciler
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import State, Wish
from tests.real.servers import DEADLINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailhealth.proxies.base import Applied, Change, Snapshot
    from tests.real.caddy import Caddy

ROOT = Path(__file__).resolve().parents[2]
VICTIM = "127.0.0.1:1"
ALL = [VICTIM, "127.0.0.1:2", "127.0.0.1:3"]
HANDLER = "/config/apps/http/servers/s/routes/0/handle/0"


class Action(StrEnum):
    """What the controller was about to do."""

    EJECT = "eject"
    READMIT = "readmit"


class Point(StrEnum):
    """Where it dies."""

    BEFORE_INTENT = "before the intent is written"
    AFTER_INTENT = "after the intent is written"
    AFTER_SENDING = "after the request is sent"
    AFTER_ANSWER = "after the answer"
    BEFORE_CONFIRMING = "after the read back, before it is written down"
    AFTER_CONFIRMING = "after all of it"


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


class _State(State):
    point = Point.AFTER_CONFIRMING

    def update(self, **changes: Any) -> None:
        intent = any(one.aim is not None for one in changes.get("kept", ()))
        if intent and self.point is Point.BEFORE_INTENT:
            die()
        super().update(**changes)
        if intent and self.point is Point.AFTER_INTENT:
            die()


class _Adapter(Adapter):
    def __init__(self, access: Access, point: Point) -> None:
        super().__init__(access)
        self._access = access
        self._point = point
        self._changed = False
        if point is Point.AFTER_SENDING:
            self._admin = _Sender(access)

    def apply(self, changes: Sequence[Change]) -> Applied:
        applied = super().apply(changes)
        self._changed = True
        if self._point is Point.AFTER_ANSWER:
            die()
        return applied

    def read(self) -> Snapshot:
        found = super().read()
        if self._changed and self._point is Point.BEFORE_CONFIRMING:
            die()
        return found


class _Sender(Admin):
    """Dies as soon as a change is on its way."""

    def call(self, method: str, path: str, body: bytes | None = None, headers: Any = None) -> Any:
        if method != "PATCH":
            return super().call(method, path, body, headers)
        host, port = self._base.removeprefix("http://").split(":")
        lines = [f"PATCH {path} HTTP/1.1", f"Host: {host}:{port}", "Content-Type: application/json"]
        lines += [f"If-Match: {headers['If-Match']}", f"Content-Length: {len(body or b'')}"]
        with socket.create_connection((host, int(port)), DEADLINE) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))
            die()
        raise AssertionError("it lives")


def main(admin: str, folder: str, action: str, point: str) -> None:
    """Be the controller."""
    _State.point = Point(point)
    state = _State.open(Path(folder))
    journal = Journal(Path(folder) / "journal.jsonl")
    reconciler = Reconciler(_Adapter(Access(admin), Point(point)), state, journal, ApplyRules())
    reconciler.step(1000.0)
    (group,) = reconciler.groups
    wish = UpstreamState.OUT if action == Action.EJECT else UpstreamState.SERVING
    reconciler.desire(group.name, VICTIM, Wish(wish, 1010.0))
    reconciler.step(1020.0)
    die()


class Outcome(NamedTuple):
    """What was found after a crash."""

    at_once: list[str]
    """What Caddy listed right after it."""
    restarted: list[str]
    """What it listed after the next start had its first step."""
    in_force: bool
    """The ejection was in force for that start, by the state file."""
    restored: bool
    """After `restore` the configuration was byte for byte the operator's."""

    @property
    def sound(self) -> bool:
        """Nothing was lost and nothing was there that should not be."""
        without = ALL[1:]
        return self.at_once in (ALL, without) and self.restarted == (without if self.in_force else ALL) and self.restored


def crash(proxy: Caddy, folder: Path, action: Action, point: Point) -> Outcome:
    """Let a controller die, start another one, restore; `proxy` lists the operator's upstreams before and after."""
    original = proxy.raw_config()
    if action is Action.READMIT:
        _child(proxy, folder, Action.EJECT, Point.AFTER_CONFIRMING)
    _child(proxy, folder, action, point)
    at_once = proxy.dials()
    adapter = Adapter(Access(proxy.admin))
    with State.open(folder) as state, Journal(folder / "journal.jsonl") as journal:
        in_force = bool(state.contents.wished)
        Reconciler(adapter, state, journal, ApplyRules()).step(2000.0)
        restarted = proxy.dials()
        restore(adapter, state, journal, 2001.0, forget=True)
    return Outcome(at_once, restarted, in_force, proxy.raw_config() == original)


def _child(proxy: Caddy, folder: Path, action: Action, point: Point) -> None:
    command = [sys.executable, "-m", "tests.real.crash", proxy.admin, str(folder), action, point]
    done = subprocess.run(command, cwd=ROOT, timeout=60, check=False, capture_output=True)
    if done.returncode != -signal.SIGKILL:
        raise RuntimeError(f"it ended with {done.returncode}: {done.stderr.decode()[-2000:]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
