"""What the engine must know after a restart, and when it is written down."""

from __future__ import annotations

from collections.abc import Callable

from tailhealth.core.engine import Engine
from tailhealth.service.journal import Journal
from tailhealth.service.state import State, StateError

LONGEST = 0.1
"""Seconds that it waits for a change of the proxy that follows from it, to be written with that one's intent: each write is
synced to the disk, which may take longer than everything else between a line and the change."""


class Keeper:
    """Keeps the engine's memory in the state file: never later than a change of the proxy that follows from it.

    Args:
        state: The state file.
        journal: Told of trouble.
        clock: Wall clock in epoch seconds.
    """

    def __init__(self, state: State, journal: Journal, clock: Callable[[], float]) -> None:
        self._state = state
        self._journal = journal
        self._clock = clock
        self._noted_at: float | None = None

    def note(self, engine: Engine) -> None:
        """Something was decided: all that is written from now on has it. To be called before wishes are handed on."""
        self._state.note(carried=engine.carry(), paused=engine.carry_paused())
        if self._noted_at is None:
            self._noted_at = self._clock()

    def turn(self) -> None:
        """Write it down if no change came that did so."""
        if self._noted_at is not None and not 0.0 <= self._clock() - self._noted_at < LONGEST:
            self.keep()

    def keep(self) -> None:
        """Write it down now; while that can't be done, nothing is changed in the proxy either."""
        self._noted_at = None
        try:
            self._state.sync()
        except StateError as error:
            self._journal.note("trouble", self._clock(), kind="state_unwritable", why=str(error))
