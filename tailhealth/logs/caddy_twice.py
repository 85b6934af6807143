"""One request written by two loggers into one file counts once (a site's log, and the default log at DEBUG)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from tailhealth.core.model import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

REMEMBERED = 256
"""So many records are remembered: two loggers write one request close together."""
_BATCHES = 3


class Key(NamedTuple):
    """What two records of one request have in common."""

    ended: float
    client_port: str
    uri: str
    duration: float | None


class Duplicates:
    """Finds access records that another logger wrote already. Costs next to nothing while there is one logger."""

    def __init__(self) -> None:
        self.loggers: set[object] = set()
        """Names of the access loggers seen."""
        self._recent: deque[Key] = deque(maxlen=REMEMBERED)
        self._batches: deque[Sequence[Attempt]] = deque(maxlen=_BATCHES)
        self._by: dict[Key, object] = {}

    def is_single(self, loggers: Iterable[object]) -> bool:
        """Tell whether all these are the one access logger that was seen so far."""
        return len(self.loggers) == 1 and set(loggers) == self.loggers

    def passed(self, attempts: Sequence[Attempt]) -> None:
        """Remember attempts of the single logger. They are kept as they came: to copy each would cost more than to read it."""
        self._batches.append(attempts)

    def is_one(self, key: Key, logger: object) -> bool:
        """Tell whether another logger wrote this request already; remember it otherwise."""
        if logger not in self.loggers and len(self.loggers) < REMEMBERED:
            self.loggers.add(logger)
        if len(self.loggers) == 1:
            self._recent.append(key)
            return False
        if self._recent or self._batches:
            (single,) = self.loggers - {logger} if len(self.loggers) == 2 else (None,)  # noqa: PLR2004 - it has just become two
            for batch in self._batches:
                self._recent.extend(Key(one.ended, one.client_port, one.uri, one.duration) for one in batch)
            self._by.update(dict.fromkeys(self._recent, single))
            self._recent.clear()
            self._batches.clear()
        if self._by.setdefault(key, logger) != logger:
            return True
        if len(self._by) > REMEMBERED:
            del self._by[next(iter(self._by))]
        return False
