"""What the readers of log lines hand on, whatever the format: events for the engine and counts for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from tailhealth.core.order import Entry, Event, one_by_one

if TYPE_CHECKING:
    from tailhealth.logs.outline import Load, Outline, Terms

__all__ = ["Entry", "Event", "LineReader", "Skip", "Tally"]

EXAMPLE_BYTES = 300
"""How much of an unreadable line is kept, in memory only, to show what it looked like."""


class Skip(StrEnum):
    """Why a line could not be used. A skipped line is counted with one example; it is never an exception."""

    INVALID_JSON = "invalid_json"
    NO_TIME = "no_time"
    FUTURE = "future"
    AMBIGUOUS = "ambiguous"
    OVERSIZED = "oversized"
    TORN = "torn"
    BAD_VALUE = "bad_value"


@dataclass(slots=True)
class Tally:
    """Counts over the lines of one or several files; the fields are those of `parse`'s summary (DESIGN section 9)."""

    lines: int = 0
    records: int = 0
    attempts: int = 0
    unattributed: int = 0
    pool_events: int = 0
    aborted: int = 0
    duplicates: int = 0
    excluded: int = 0
    other: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, bytes] = field(default_factory=dict)
    hints: dict[str, str] = field(default_factory=dict)
    """Problems of the setup, each once: code to one sentence with the remedy."""

    def skip(self, reason: Skip, line: bytes) -> None:
        """Count a line that could not be used and keep the first example of its kind."""
        self.skipped[reason] += 1
        if reason not in self.examples:
            self.examples[reason] = bytes(line[:EXAMPLE_BYTES])


class LineReader(Protocol):
    """Turns the bytes of one file into events. Keeps what it needs between blocks; feeding any split gives the same events."""

    def read(self, block: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read whole lines. Plain attempts may come in bulks.

        Args:
            block: Bytes that end with a newline, or at the end of a finished file.
            offset: Position of the block's first byte in its file.
            now: Wall clock in epoch seconds where lines are live; None reads history, where only the neighbours tell
                that a time lies in the future.
        """
        ...

    def feed(self, block: bytes, offset: int, now: float | None = None) -> list[Event]:
        """Read whole lines; every event comes by itself."""
        return one_by_one(self.read(block, offset, now))

    @property
    def terms(self) -> Terms | None:
        """On which terms plain lines are read now; None while other processes can't outline them."""
        return None

    def take(self, outline: Outline, serial: int, load: Load) -> list[Entry]:
        """Read whole lines that another process has outlined.

        Args:
            outline: What it found out.
            serial: Of the terms on which it did.
            load: Reads the bytes of the file.

        Raises:
            LogError: They can't be read any more.
        """
        del serial
        return self.read(load(outline.offset, outline.end), outline.offset)

    def finish(self) -> list[Event]:
        """The file has ended: hand on what was held back."""
        ...
