"""History played again for `top --speed`: the same view, with the log's own time running faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import inf
from operator import attrgetter

from tailhealth.cli._scenes import BUSY, Watching
from tailhealth.config import Config
from tailhealth.core.model import Idle
from tailhealth.core.order import one_by_one
from tailhealth.logs.detect import open_reader
from tailhealth.logs.history import open_history
from tailhealth.logs.reading import Event, LineReader, Tally
from tailhealth.logs.times import line_time
from tailhealth.service.inputs import InputView, log_rules
from tailhealth.service.pipeline import batches
from tailhealth.views.frame import Frame

_LONGEST_STEP = 1.0
"""Seconds that one picture may move time on, times the speed: after a pause nothing is jumped over."""
_ended = attrgetter("ended")


class Played:
    """History, at a multiple of its own speed.

    Args:
        config: The rules.
        paths: Files and folders; `-` is standard input.
        speed: Seconds of history per second.
        steady: A clock that never jumps.

    Raises:
        LogError: A log can't be read. While playing, too.
    """

    stops = True
    over = False

    def __init__(
        self, config: Config, paths: Sequence[str], speed: float, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self.ended = False
        self._config = config
        self._speed = speed
        self._steady = steady
        self._looked = steady()
        self._watching = Watching(config)
        self._tally = Tally()
        self._paths = paths
        self._history = open_history(paths, time_of=line_time(log_rules(config.log_for(paths[0]))))
        self._batches = batches(self._history, self._open)
        self._waiting: list[Event] = []
        self._read_to = -inf
        self._now = -inf

    @property
    def mode(self) -> str:
        """See `Scene`."""
        return f"history x{self._speed:g}" + (", ended" if self.ended else "")

    def frame(self) -> Frame:
        """See `Scene`."""
        looked, self._looked = self._looked, self._steady()
        if self._now == -inf and self._read():
            self._now = min(map(_ended, self._waiting))
        if not self.ended:
            self._play(self._now + min(_LONGEST_STEP, self._looked - looked) * self._speed, time.monotonic() + BUSY)
        now = max(0.0, self._now)
        return self._watching.frame([self._view(now)], now, tuple(self._history.notes))

    def read_all(self) -> None:
        """Go to the end, however long it takes."""
        self._play(inf, inf)

    def close(self) -> None:
        """Let all files go."""
        self._history.close()

    def _play(self, to: float, until: float) -> None:
        """Move time on, to `to` or as far as can be read before `until` (of the machine's own clock)."""
        while self._read_to < to and not self.ended and time.monotonic() < until:
            self.ended = not self._read()
        self._now = max(self._now, min(to, self._read_to))
        due = [event for event in self._waiting if event.ended <= self._now]
        self._waiting = [event for event in self._waiting if event.ended > self._now]
        self._watching.feed([*due, *([Idle(self._now)] if self._now > -inf else [])])
        if self.ended:
            self._watching.finish()

    def _read(self) -> bool:
        """Read the next events; False at the end."""
        batch = next((one_by_one(one) for one in self._batches if one), None)
        if batch is None:
            return False
        self._waiting += batch
        self._read_to = max(self._read_to, *map(_ended, batch))
        return True

    def _view(self, now: float) -> InputView:
        tally = self._tally
        name = self._paths[0] if len(self._paths) == 1 else f"{len(self._paths)} logs"
        state = "read to its end" if self.ended else "played"
        newest = now if tally.attempts else None
        return InputView(name, state, "", tally.lines, dict(tally.skipped), newest, None, 0, dict(tally.hints))

    def _open(self, file: int, path: str) -> LineReader:
        return open_reader(log_rules(self._config.log_for(path)), file, path, self._tally)
