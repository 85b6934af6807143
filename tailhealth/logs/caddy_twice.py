"""One request written by two loggers into one file counts once (a site's log, and the default log at DEBUG)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from tailhealth.core.model import Attempt
from tailhealth.core.order import one_by_one

if TYPE_CHECKING:
    from tailhealth.logs.plain import Part

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
        self._recent: deque[Key] = deque(maxlen=REMEMBERED)
        self._passed: deque[Part] = deque()
        self._passed_count = 0
        self._by: dict[Key, object] = {}

    @property
    def is_single(self) -> bool:
        """Tell whether one access logger was seen so far."""
        return len(self.loggers) == 1

    def passed(self, part: Part) -> None:
        """Remember what the single logger wrote, as it came: to look at each record would cost more than to read it."""
        self._passed.append(part)
        self._passed_count += part.size
        while self._passed_count - self._passed[0].size >= REMEMBERED:
            self._passed_count -= self._passed.popleft().size

    def is_one(self, key: Key, logger: object) -> bool:
        """Tell whether another logger wrote this request already; remember it otherwise."""
        if logger not in self.loggers and len(self.loggers) < REMEMBERED:
            self.loggers.add(logger)
        if len(self.loggers) == 1:
            self._recent.append(key)
            return False
        if self._recent or self._passed:
            (single,) = self.loggers - {logger} if len(self.loggers) == 2 else (None,)  # noqa: PLR2004 - it has just become two
            attempts = (one for one in one_by_one(part.entry for part in self._passed) if isinstance(one, Attempt))
            self._recent.extend(Key(one.ended, one.client_port, one.uri, one.duration) for one in attempts)
            self._by.update(dict.fromkeys(self._recent, single))
            self._recent.clear()
            self._passed.clear()
            self._passed_count = 0
        if self._by.setdefault(key, logger) != logger:
            return True
        if len(self._by) > REMEMBERED:
            del self._by[next(iter(self._by))]
        return False
