"""Puts a controller together from its configuration, and keeps it running until it is told to stop."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event
from types import FrameType

from tailhealth.config import STDIN, Config
from tailhealth.logs.waker import Waker
from tailhealth.proxies.admin import Access
from tailhealth.proxies.base import Proxy
from tailhealth.proxies.caddy import Caddy
from tailhealth.service.clock import SteadyClock
from tailhealth.service.control import ControlServer
from tailhealth.service.controller import Controller
from tailhealth.service.inputs import LiveLogs
from tailhealth.service.journal import Journal
from tailhealth.service.naming import ConfiguredNames
from tailhealth.service.reconcile import Reconciler
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import State
from tailhealth.service.worker import Worker

JOURNAL = "journal.jsonl"
DRY_RUN = "dry-run"
"""State and journal of a dry run stand in a folder of their own: it must not disturb what a real run left."""

_WAIT = 1.0


def state_folder(config: Config, *, dry_run: bool) -> Path:
    """Return where a run keeps its state, its journal and its control socket."""
    return config.state_dir() / DRY_RUN if dry_run else config.state_dir()


def proxy_of(config: Config) -> Proxy:
    """Return the proxy that a configuration names.

    Raises:
        ConfigError: A header's value can't be read.
    """
    table = config.proxy
    access = Access(
        table.admin, tuple(config.admin_headers().items()), ca=table.ca, cert=table.cert, key=table.key, timeout=table.timeout
    )
    return Caddy(access)


def journal_of(config: Config, folder: Path) -> Journal:
    """Open the journal in a state directory.

    Raises:
        JournalError: It can't be opened.
    """
    return Journal(folder / JOURNAL, config.journal.max_bytes, config.journal.keep)


class Run:
    """A controller with all its parts, from start to stop. Use it as a context.

    Args:
        config: The configuration.
        dry_run: Decide, and change nothing.
        clock: Wall clock in epoch seconds.

    Raises:
        ConfigError, StateError, JournalError: It can't start, and says why.
    """

    def __init__(self, config: Config, *, dry_run: bool = False, clock: Callable[[], float] = time.time) -> None:
        self.stopping = Event()
        self.problem = ""
        """What could not be put back at the end."""
        self._config = config
        self._dry_run = dry_run
        self._parts = ExitStack()
        with ExitStack() as parts:
            self._assemble(parts, SteadyClock(clock))
            self._parts = parts.pop_all()

    def _assemble(self, parts: ExitStack, clock: SteadyClock) -> None:
        config = self._config
        folder = state_folder(config, dry_run=self._dry_run)
        self._clock = clock
        self._state = parts.enter_context(State.open(folder))
        self._journal = parts.enter_context(journal_of(config, folder))
        within = max([config.window.within, *(table.window.within for table in config.pool.values())])
        self._logs = LiveLogs(config, clock() - within)
        parts.callback(self._logs.close)
        pipes = [sys.stdin.fileno()] if any(log.path == STDIN for log in config.log) else []
        self.waker = Waker([path for path in self._logs.paths if path != STDIN], pipes=pipes)
        parts.callback(self.waker.close)
        proxy = proxy_of(config)
        table = config.proxy
        rules = ApplyRules(table.coalesce, table.apply_interval, table.drift_poll)
        self._reconciler = Reconciler(proxy, self._state, self._journal, rules, ConfiguredNames(config), dry_run=self._dry_run)
        self._worker = Worker(proxy, self._reconciler, poll=table.poll, clock=clock, wake=self.waker.wake)
        self.controller = Controller(
            config,
            logs=self._logs,
            state=self._state,
            journal=self._journal,
            worker=self._worker,
            waker=self.waker,
            clock=clock,
        )
        parts.enter_context(ControlServer(folder, self.controller.submit))

    def __enter__(self) -> Run:  # noqa: PYI034 - the class is not meant to be derived from
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()

    def loop(self) -> None:
        """Run until told to stop, or until every log is at its end; then restore the proxy if the configuration says so."""
        self.controller.start()
        try:
            while not self.stopping.is_set() and not self._logs.ended:
                self.controller.turn(_WAIT)
        finally:
            self._end()

    def stop(self) -> None:
        """Let the loop end, from any thread or signal handler."""
        self.stopping.set()
        self.waker.wake()

    def _end(self) -> None:
        # Two timeouts: the request that is on its way, and the one that reads back.
        ended = self._worker.stop(2 * self._config.proxy.timeout + _WAIT)
        self.controller.finish()
        if self._config.on_stop != "restore" or self._dry_run:
            return
        if not ended:
            self.problem = "the proxy does not answer: run `tailhealth restore` when it does"
            return
        restored = self._reconciler.restore(self._clock())
        if not restored.done:
            self.problem = f"{restored.why}: run `tailhealth restore` when that is mended"


@contextmanager
def stopped_by_signals(run: Run) -> Iterator[None]:
    """Let SIGTERM and SIGINT end a run in order."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        run.stop()

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
