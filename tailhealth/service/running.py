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

from tailhealth.config import STDIN, Config, ConfigError
from tailhealth.logs.waker import Waker
from tailhealth.service.clock import SteadyClock
from tailhealth.service.control import ControlServer
from tailhealth.service.controller import Controller
from tailhealth.service.inputs import LiveLogs
from tailhealth.service.journal import Journal
from tailhealth.service.listener import Listener
from tailhealth.service.naming import ConfiguredNames
from tailhealth.service.notify import Notifier, receivers_of
from tailhealth.service.proxying import proxy_of
from tailhealth.service.reconcile import Reconciler
from tailhealth.service.reloading import check_reloadable, check_runnable
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import DRY_RUN, State
from tailhealth.service.status import status_by
from tailhealth.service.systemd import Notices
from tailhealth.service.wishes import still_wished
from tailhealth.service.worker import Worker

JOURNAL = "journal.jsonl"
_WAIT = 1.0


def state_folder(config: Config, *, dry_run: bool) -> Path:
    """Return where a run keeps its state, its journal and its control socket."""
    return config.state_dir() / DRY_RUN if dry_run else config.state_dir()


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
        reread: Reads the configuration anew, at a reload.
        warn: Told of problems, a line each.
        notices: Tells the service manager how far we are.
        clock: Wall clock in epoch seconds.

    Raises:
        ConfigError, StateError, JournalError: It can't start, and says why.
    """

    def __init__(
        self,
        config: Config,
        *,
        dry_run: bool = False,
        reread: Callable[[], Config] | None = None,
        warn: Callable[[str], None] = print,
        notices: Notices | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_runnable(config)
        self.problem = ""
        """What could not be put back at the end."""
        self._stopping = Event()
        self._reloading = Event()
        self._config = config
        self._dry_run = dry_run
        self._reread = reread or (lambda: config)
        self._warn = warn
        self._notices = notices or Notices({})
        self._parts = ExitStack()
        with ExitStack() as parts:
            self._assemble(parts, SteadyClock(clock))
            self._parts = parts.pop_all()

    def _assemble(self, parts: ExitStack, clock: SteadyClock) -> None:
        config = self._config
        folder = state_folder(config, dry_run=self._dry_run)
        self._clock = clock
        self._state = parts.enter_context(State.open(folder))
        self._state.update(wished=still_wished(self._state.contents, clock()))
        self._journal = parts.enter_context(journal_of(config, folder))
        self._logs = LiveLogs(config, clock() - config.longest_within())
        parts.callback(self._logs.close)
        pipes = [sys.stdin.fileno()] if any(log.path == STDIN for log in config.log) else []
        self.waker = Waker([path for path in self._logs.paths if path != STDIN], pipes=pipes, lateness=config.lateness)
        parts.callback(self.waker.close)
        proxy = proxy_of(config, self._state, dry_run=self._dry_run)
        table = config.proxy
        rules = ApplyRules.of(table)
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
            tell=parts.enter_context(Notifier(receivers_of(config.notify))).tell,
            dry_run=self._dry_run,
        )
        parts.enter_context(ControlServer(folder, self.controller.submit))
        if config.listen.http is not None:
            parts.enter_context(Listener(config.listen.http, lambda: status_by(self.controller.submit)))

    def __enter__(self) -> Run:  # noqa: PYI034 - the class is not meant to be derived from
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()

    def loop(self) -> None:
        """Run until told to stop, or until every log is at its end; then restore the proxy if the configuration says so."""
        self.controller.start()
        self._tell_ready()
        try:
            while not self._stopping.is_set() and not self._logs.ended:
                if self._reloading.is_set():
                    self._reloading.clear()
                    self._reload()
                self.controller.turn(_WAIT)
        finally:
            self._notices.stopping()
            self._end()

    def stop(self) -> None:
        """Let the loop end, from any thread or signal handler."""
        self._stopping.set()
        self.waker.wake()

    def reload(self) -> None:
        """Let the loop reread the configuration, from any thread or signal handler."""
        self._reloading.set()
        self.waker.wake()

    def _reload(self) -> None:
        """Take the configuration over as it is now; one that is wrong, or can't be taken under way, leaves the old one."""
        self._notices.reloading()
        try:
            config = self._reread()
            check_reloadable(self._config, config)
        except ConfigError as error:
            self.controller.refuse(str(error))
            for line in error.problems:
                self._warn(f"configuration not taken: {line}")
        else:
            self.controller.reconfigure(config)
            self._config = config
            self._warn(f"configuration {config.source} taken over")
        self._tell_ready()

    def _tell_ready(self) -> None:
        self._notices.ready(following(self._config))
        if self._notices.problem:
            self._warn(self._notices.problem)

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


def following(config: Config) -> str:
    """Say in a line what a run does."""
    proxy = config.proxy
    where = ", ".join(proxy.include.values()) if proxy.kind == "nginx" else proxy.admin
    return f"following {', '.join(log.path for log in config.log)}; {proxy.kind} at {where}"


@contextmanager
def led_by_signals(run: Run) -> Iterator[None]:
    """Let SIGTERM and SIGINT end a run in order, and SIGHUP reread its configuration."""

    def obey(number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGHUP:
            run.reload()
        else:
            run.stop()

    before = {number: signal.signal(number, obey) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
