"""Addresses that no pool has: one shared row in bounded memory, never acted on (DESIGN section 3)."""

from __future__ import annotations

from collections import deque

from tailhealth.core.model import Attempt
from tailhealth.core.window import KEPT

ADDRESSES = 256
"""So many addresses are remembered, so that a proxy that names its pools a moment later finds their windows filled."""


class Strangers:
    """Counts attempts at unmanaged addresses and remembers the latest of some."""

    def __init__(self) -> None:
        self.attempts = 0
        self.unremembered = 0
        """Attempts at addresses beyond those that are remembered."""
        self._recent: dict[str, deque[Attempt]] = {}

    def note(self, attempt: Attempt) -> None:
        """Count an attempt."""
        self.attempts += 1
        recent = self._recent.get(attempt.upstream)
        if recent is None:
            if len(self._recent) >= ADDRESSES:
                self.unremembered += 1
                return
            recent = self._recent[attempt.upstream] = deque(maxlen=KEPT)
        recent.append(attempt)

    def recall(self, address: str) -> list[Attempt]:
        """Return what is remembered of an address, in order: it belongs to a pool now."""
        return sorted(self._recent.get(address, ()), key=lambda attempt: attempt.ended)

    def names(self) -> list[str]:
        """Name the addresses that are remembered, in the order in which they appeared."""
        return list(self._recent)
