"""A wall clock that notices when it was set."""

from __future__ import annotations

import time
from collections.abc import Callable

STEP = 5.0
"""A jump back by more than this many seconds is a step (DESIGN section 3); less is a correction that lateness covers."""


class SteadyClock:
    """Wall time in epoch seconds, compared with a clock that never jumps."""

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._offset = wall() - steady()

    def __call__(self) -> float:
        """Return the wall time."""
        return self._wall()

    def stepped(self) -> float | None:
        """Return by how many seconds the wall clock jumped back since the last call (negative); None: it did not.

        A jump forward is time that passed, as after a suspend.
        """
        offset = self._wall() - self._steady()
        by = offset - self._offset
        self._offset = offset
        return by if by < -STEP else None
