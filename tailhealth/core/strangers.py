"""Addresses that no pool has: one shared row in bounded memory, never acted on (DESIGN section 3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import msgspec

from tailhealth.core.model import Attempt
from tailhealth.core.window import KEPT

ADDRESSES = 256
"""So many addresses are remembered, so that a proxy that names its pools a moment later finds their windows filled."""


class _Stranger(msgspec.Struct):
    attempts: int
    recent: deque[Attempt]


class Strangers:
    """Counts attempts at unmanaged addresses and remembers the latest of some."""

    def __init__(self) -> None:
        self.attempts = 0
        self.unremembered = 0
        """Attempts at addresses beyond those that are remembered."""
        self._known: dict[str, _Stranger] = {}

    def note(self, attempt: Attempt) -> None:
        """Count an attempt."""
        self.attempts += 1
        stranger = self._known.get(attempt.upstream)
        if stranger is None:
            if len(self._known) >= ADDRESSES:
                self.unremembered += 1
                return
            stranger = self._known[attempt.upstream] = _Stranger(0, deque(maxlen=KEPT))
        stranger.attempts += 1
        stranger.recent.append(attempt)

    def recall(self, address: str) -> list[Attempt]:
        """Return what is remembered of an address, in order."""
        stranger = self._known.get(address)
        return [] if stranger is None else sorted(stranger.recent, key=lambda attempt: attempt.ended)

    def forget(self, addresses: Iterable[str]) -> None:
        """Pools have these addresses now: they are no strangers, and never were."""
        for address in addresses:
            stranger = self._known.pop(address, None)
            if stranger is not None:
                self.attempts -= stranger.attempts

    def forget_attempts(self) -> None:
        """Forget what the latest attempts were: the wall clock was set, and their times mean something else now."""
        for stranger in self._known.values():
            stranger.recent.clear()

    def names(self) -> list[str]:
        """Name the addresses that are remembered, in the order in which they appeared."""
        return list(self._known)
