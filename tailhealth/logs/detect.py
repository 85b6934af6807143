"""Finds out what a file holds: which proxy's lines, and in which envelopes (DESIGN section 3, "Both").

Told per file from its first lines; `format` in `[[log]]` overrides the proxy, never the envelope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailhealth.core.order import one_by_one
from tailhealth.logs.caddy_text import strip
from tailhealth.logs.envelope import LOST
from tailhealth.logs.hints import hint
from tailhealth.logs.mixed import Mixed
from tailhealth.logs.reading import LineReader
from tailhealth.logs.sniff import proxy_of
from tailhealth.logs.unwrap import Unwrapping, open_one

if TYPE_CHECKING:
    from tailhealth.logs.outline import Load, Outline, Terms
    from tailhealth.logs.reading import Entry, Event, Tally
    from tailhealth.logs.rules import LogRules
    from tailhealth.logs.sniff import Proxy

FIRST_LINES, FIRST_BYTES = 200, 1 << 20
"""So many lines or bytes are held until one tells; after that the file is read as Caddy's, line by line if need be."""
FEW_LINES = 20
"""So many lines without one access record are worth a word."""


def open_reader(rules: LogRules, file: int, name: str, tally: Tally, near: float | None = None) -> Detecting:
    """Return the reader of one file, whatever it holds.

    Args:
        rules: How the log is to be read.
        file: Index of the file, for the order of events.
        name: What hints call the file.
        tally: Where lines, records and skips are counted.
        near: A time close to the first line's, such as that of the file's last change: some formats write no year.
    """
    return Detecting(rules, file, name, tally, near)


class Detecting(LineReader):
    """Holds the first lines of a file until one tells what the file is, then reads on with the reader for it."""

    def __init__(self, rules: LogRules, file: int, name: str, tally: Tally, near: float | None = None) -> None:
        self._rules = rules
        self._file = file
        self._name = name
        self._tally = tally
        self._near = near
        self._reader: Mixed | Unwrapping | None = None
        self._first: list[tuple[int, bytes]] = []
        self._size = 0

    @property
    def held(self) -> int | None:
        """Offset of the first line that was fed and whose events are still to come: after a restart, reading goes on there.

        None if there is none.
        """
        if self._reader is not None:
            return self._reader.held
        return self._first[0][0] if self._first else None

    def read(self, block: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read whole lines; see `LineReader`."""
        start = 0
        while self._reader is None and start < len(block):
            end = block.find(b"\n", start) + 1 or len(block)
            line = block[start:end]
            self._first.append((offset + start, line))
            self._size += len(line)
            start = end
            self._reader = self._told(line)
            if self._reader is None and (len(self._first) >= FIRST_LINES or self._size >= FIRST_BYTES):
                self._reader = self._plain(None)
        if self._reader is None:
            return []
        events = self._release(self._reader, now)
        if start < len(block):
            events += self._reader.read(block[start:] if start else block, offset + start, now)
        return events

    @property
    def terms(self) -> Terms | None:
        """See `LineReader`."""
        return None if self._reader is None else self._reader.terms

    def take(self, outline: Outline, serial: int, load: Load) -> list[Entry]:
        """See `LineReader`."""
        return super().take(outline, serial, load) if self._reader is None else self._reader.take(outline, serial, load)

    def finish(self) -> list[Event]:
        """The file has ended: hand on what was held back, and say if there was no access record."""
        if self._reader is None:
            self._reader = self._plain(None)
        events = one_by_one(self._release(self._reader, None)) + self._reader.finish()
        if self._tally.lines >= FEW_LINES and not self._tally.records and not self._tally.attempts:
            self._tally.hints["no_records"] = hint("no_records", lines=self._tally.lines)
        return events

    def _told(self, line: bytes) -> Mixed | Unwrapping | None:
        """Return the reader that a line calls for; None if it does not tell."""
        raw = strip(line)
        held = open_one(raw)
        if held is not None:
            inner = strip(held.text)
            if held is not LOST and (nested := open_one(inner)) is not None and nested is not LOST:
                inner = strip(nested.text)
            first = self._proxy(proxy_of(inner, self._rules))
            return Unwrapping(self._rules, self._file, self._name, self._tally, first, near=self._near)
        proxy = proxy_of(raw, self._rules)
        return self._plain(proxy) if proxy is not None else None

    def _plain(self, proxy: Proxy | None) -> Mixed:
        return Mixed(self._rules, self._file, self._name, self._tally, self._proxy(proxy), near=self._near)

    def _proxy(self, told: Proxy | None) -> Proxy:
        return self._rules.format if self._rules.format != "auto" else told or "caddy"

    def _release(self, reader: Mixed | Unwrapping, now: float | None) -> list[Entry]:
        """Feed what was held to the reader at last."""
        events: list[Entry] = []
        for offset, line in self._first:
            events += reader.read(line, offset, now)
        self._first.clear()
        return events
