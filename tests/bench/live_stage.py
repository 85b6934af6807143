"""What the live bench sets up: a Caddy that nobody asks, a controller beside it, and a log that grows as it is told to."""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.bench.lines import UPSTREAMS, caddy_lines
from tests.real.caddy import caddy, reverse_proxy, until
from tests.real.controller import Controller, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEADLINE = 120.0
BURST = 0.02
"""Seconds between two bursts of lines."""
VARIETY = 10_000
"""So many different lines there are; after them they come again, with other times."""
CONFIG = """
{rules}
[proxy]
admin = "{admin}"
{proxy}
[state]
dir = "{folder}/state"
[[log]]
path = "{log}"
"""


class Writer:
    """Appends access lines to a log as Caddy does: each with a write of its own, dated when it is written.

    Args:
        path: The log.
        upstreams: Named in turn.
        failing: Share of the lines that tell of a 500.
    """

    def __init__(self, path: Path, upstreams: tuple[str, ...] = UPSTREAMS, failing: float = 0.0) -> None:
        self.written = 0
        self._path = path
        lines = caddy_lines(max(VARIETY, len(upstreams)), failing=failing, upstreams=upstreams)
        self._cut = itertools.cycle([_cut(line) for line in lines])
        self._file = self._open()

    def __enter__(self) -> Writer:  # noqa: PYI034 - the class is not meant to be derived from
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def write(self, count: int) -> None:
        """Write so many lines, one by one."""
        for head, tail in itertools.islice(self._cut, count):
            os.write(self._file, b"%s%.7f%s" % (head, time.time(), tail))
        self.written += count

    def pace(self, rate: float, seconds: float) -> None:
        """Write `rate` lines a second for so many seconds; what is late is made up for."""
        pause = threading.Event()
        began, written = time.monotonic(), 0
        while (elapsed := time.monotonic() - began) < seconds:
            due = int(elapsed * rate) - written
            self.write(due)
            written += due
            pause.wait(max(0.0, BURST - (time.monotonic() - began - elapsed)))

    def roll_at(self, size: int) -> None:
        """Begin a new file if this one has so many bytes; the one before it is deleted, as Caddy does after some more."""
        if os.fstat(self._file).st_size >= size:
            os.close(self._file)
            self._path.replace(self._path.with_name(f"{self._path.stem}-rolled{self._path.suffix}"))
            self._file = self._open()

    def _open(self) -> int:
        return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _cut(line: str) -> tuple[bytes, bytes]:
    """Split a line around its time."""
    head, stamp, rest = line.partition('"ts":')
    _, comma, tail = rest.partition(",")
    return (head + stamp).encode(), (comma + tail).encode()


class Stage(NamedTuple):
    """A controller that follows a log next to a Caddy."""

    run: Controller
    log: Path
    admin: str
    """Address of the admin interface, as the controller knows it."""

    @property
    def lines(self) -> int:
        """How many lines the controller has read."""
        return int(self.run.status()["inputs"][0]["lines"])

    def wait_for_lines(self, count: int) -> None:
        """Wait until it has read so many."""
        until(lambda: self.lines >= count, f"line {count}", DEADLINE)


@contextmanager
def stage(
    upstreams: tuple[str, ...] = UPSTREAMS,
    *,
    rules: str = "",
    proxy: str = "",
    before: Callable[[int], str] = "http://127.0.0.1:{}".format,
) -> Iterator[Stage]:
    """Set it up, and wait until the controller knows the pool.

    Args:
        upstreams: Of the pool; nobody ever asks them.
        rules: Lines of the configuration before its tables, and tables.
        proxy: Lines of `[proxy]`.
        before: Given the port of Caddy's admin interface, returns the address that the controller is told.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(caddy(folder, [reverse_proxy(*upstreams)], debug=False))
        log = folder / "traffic" / "access.log"
        log.parent.mkdir()
        log.touch()
        admin = before(server.admin_port)
        run = stack.enter_context(running(folder, CONFIG.format(rules=rules, proxy=proxy, admin=admin, folder=folder, log=log)))
        run.wait_for_pools()
        yield Stage(run, log, admin)
