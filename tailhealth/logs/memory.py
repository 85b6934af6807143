"""Which generations of a log are done with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tailhealth.logs.generation import Position

FINISHED = 64
"""How many generations that were read to their end are remembered with their position."""
KNOWN = 1000
"""How many fingerprints of older generations are remembered."""


@dataclass(slots=True)
class Memory:
    """Which generations are done with."""

    finished: dict[str, Position] = field(default_factory=dict)
    """By fingerprint, the latest last."""
    known: dict[str, None] = field(default_factory=dict)
    """Fingerprints of generations that were there before we began, or were read."""

    def finish(self, position: Position) -> None:
        """A generation was read to its end."""
        if not position.fingerprint:
            return
        self.finished.pop(position.fingerprint, None)
        self.finished[position.fingerprint] = position
        while len(self.finished) > FINISHED:
            del self.finished[next(iter(self.finished))]
        self.know([position.fingerprint])

    def know(self, fingerprints: Iterable[str]) -> None:
        """These are not to be read any more."""
        for fingerprint in filter(None, fingerprints):
            self.known.pop(fingerprint, None)
            self.known[fingerprint] = None
        while len(self.known) > KNOWN:
            del self.known[next(iter(self.known))]
