"""Ejecting and readmitting without end, and what a controller's process needs meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tailhealth.service.control import Request, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.real.controller import Controller

PAGE = os.sysconf("SC_PAGE_SIZE")


class Sample(NamedTuple):
    """What a process needs at one moment."""

    rounds: int
    memory: int
    """Resident bytes."""
    files: int
    """Open descriptors."""


def sample(pid: int, rounds: int) -> Sample:
    """Look at a process."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return Sample(rounds, int(pages) * PAGE, len(list(Path(f"/proc/{pid}/fd").iterdir())))


def endure(run: Controller, upstream: str, ends: Callable[[int], bool], every: int) -> Iterator[Sample]:
    """Eject and readmit an upstream until it ends, and take a sample every so many rounds."""
    rounds = 0
    while not ends(rounds):
        for verb in ("eject", "readmit"):
            reply = ask(run.state, Request(verb, upstream=upstream))
            if not reply.ok:
                raise RuntimeError(reply.error)
        rounds += 1
        if rounds % every == 0:
            yield sample(run.pid, rounds)
