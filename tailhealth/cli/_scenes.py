"""What `top` can look at: a log as it grows, or a running controller. History that is played again has its own file."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from tailhealth.config import Config, Log
from tailhealth.core.engine import Engine
from tailhealth.core.model import Decision, Idle, Input
from tailhealth.core.rules import Settings
from tailhealth.core.view import View, view
from tailhealth.service.conditions import Condition
from tailhealth.service.control import ControlError, Request, ask
from tailhealth.service.inputs import InputView, LiveLogs
from tailhealth.service.replaying import configured_pools
from tailhealth.views.frame import Frame
from tailhealth.views.stats import SPAN, Stats, StatsView

KEPT = 50
"""So many of the latest decisions are kept for the screen."""
BUSY = 0.3
"""Seconds that reading on may take before the next picture is drawn."""
_PATIENCE = 3.0


def only_watching(settings: Settings) -> Settings:
    """Return settings by which everything is decided and nothing enforced."""
    replace = msgspec.structs.replace
    pools = {name: replace(rules, enforce=False) for name, rules in settings.pools.items()}
    return replace(settings, default=replace(settings.default, enforce=False), pools=pools)


class Watching:
    """An engine of its own over the configured pools, else the upstreams that the log shows; nothing it decides is applied."""

    def __init__(self, config: Config) -> None:
        pools = configured_pools(config)
        self.stats = Stats()
        self.engine = Engine(only_watching(config.settings()), discover=pools is None, observe=self.stats.observe)
        self.decisions: deque[Decision] = deque(maxlen=KEPT)
        self.feed(() if pools is None else (pools,))

    def feed(self, inputs: Iterable[Input]) -> None:
        """Judge inputs and keep what was decided."""
        self.decisions += self.engine.feed(inputs)

    def finish(self) -> None:
        """Judge what waits for its turn: nothing more will come."""
        self.decisions += self.engine.finish()

    def frame(self, inputs: Sequence[InputView], now: float, notes: tuple[str, ...] = ()) -> Frame:
        """Return what there is to see."""
        return Frame(view(self.engine, now), self.stats.snapshot(now), inputs, tuple(self.decisions), now, notes)


class Followed:
    """Logs as they grow, from the last minutes on.

    Args:
        config: The rules.
        logs: What to follow.
        clock: Wall clock in epoch seconds.
    """

    stops = False
    over = False
    mode = "watching only"

    def __init__(self, config: Config, logs: Sequence[Log], clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._watching = Watching(config)
        self._logs = LiveLogs(msgspec.structs.replace(config, log=tuple(logs)), clock() - SPAN)
        self._past: list[int] = []

    def frame(self) -> Frame:
        """See `Scene`."""
        self._read(time.monotonic() + BUSY)
        return self._watching.frame(self._views(), self._clock(), tuple(self._notes()))

    def read_all(self) -> None:
        """Read all that is there, however long it takes."""
        self._read(inf)

    def _read(self, until: float) -> None:
        more = True
        while more and time.monotonic() < until:
            self._watching.feed(self._logs.poll(self._clock))
            more = self._logs.more
        if not more:
            now = self._clock()
            self._past = self._past or [log.tally.lines for log in self._logs.logs]
            # A tick may not pass what is still to be read.
            self._watching.feed([*self._logs.blindness(now), Idle(now)])

    def _views(self) -> list[InputView]:
        """Show the health of the logs. Lines that were old when this program started say nothing about a lag."""
        views = self._logs.views()
        for index, lines in enumerate(self._past):
            if views[index].lines == lines:
                views[index] = msgspec.structs.replace(views[index], late_by=None)
        return views

    def _notes(self) -> Iterator[str]:
        for log in self._logs.views():
            if not log.lines and not log.why and _has_bytes(log.path):
                yield f"nothing written in the last 5 min; --speed 60 plays from the beginning: {log.path}"

    def close(self) -> None:
        """Let all files go."""
        self._logs.close()


def _has_bytes(path: str) -> bool:
    try:
        return Path(path).stat().st_size > 0
    except OSError:
        return False


class Attached:
    """A running controller, asked over its control socket.

    Args:
        folder: Its state directory.
        clock: Wall clock in epoch seconds.
    """

    stops = False
    over = False
    mode = "attached"

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._last: Frame | None = None

    def frame(self) -> Frame:
        """See `Scene`.

        Raises:
            ControlError: There was never an answer. Later the last picture stays, with a note.
        """
        try:
            self._last = self._asked()
        except ControlError as error:
            if self._last is None:
                raise
            return self._last._replace(now=self._clock(), notes=(str(error),))
        return self._last

    def _asked(self) -> Frame:
        reply = ask(self._folder, Request("status"), _PATIENCE)
        if not reply.ok:
            raise ControlError(reply.error)
        try:
            return _frame(reply.data, self._clock())
        except (KeyError, msgspec.ValidationError) as error:
            raise ControlError(f"the controller speaks another version: {error}; restart it after an upgrade") from None


def _frame(data: dict[str, Any], now: float) -> Frame:
    convert = msgspec.convert
    conditions = convert(data["conditions"], tuple[Condition, ...])
    notes = [f"{one.pool}: {one.why}" if one.pool else one.why for one in conditions]
    return Frame(
        view=convert(data["view"], View),
        stats=convert(data["stats"], StatsView),
        inputs=convert(data["inputs"], tuple[InputView, ...]),
        decisions=convert(data["decisions"], tuple[Decision, ...]),
        now=now,
        notes=tuple(notes),
    )
