"""One request written by two loggers into one file counts once (a site's log, and the default log at DEBUG)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from tailhealth.core.model import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterable

REMEMBERED = 256
"""So many records are remembered: two loggers write one request close together."""


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
        self._recent: deque[Key | Attempt] = deque(maxlen=REMEMBERED)
        self._by: dict[Key, object] = {}

    def is_single(self, loggers: Iterable[object]) -> bool:
        """Tell whether all these are the one access logger that was seen so far."""
        return len(self.loggers) == 1 and set(loggers) == self.loggers

    def passed(self, attempts: Iterable[Attempt]) -> None:
        """Remember attempts of the single logger."""
        self._recent.extend(attempts)

    def is_one(self, key: Key, logger: object) -> bool:
        """Tell whether another logger wrote this request already; remember it otherwise."""
        if logger not in self.loggers and len(self.loggers) < REMEMBERED:
            self.loggers.add(logger)
        if len(self.loggers) == 1:
            self._recent.append(key)
            return False
        if self._recent:
            (single,) = self.loggers - {logger} if len(self.loggers) == 2 else (None,)  # noqa: PLR2004 - it has just become two
            for one in self._recent:
                earlier = Key(one.ended, one.client_port, one.uri, one.duration)
                self._by[earlier] = single
            self._recent.clear()
        if self._by.setdefault(key, logger) != logger:
            return True
        if len(self._by) > REMEMBERED:
            del self._by[next(iter(self._by))]
        return False
