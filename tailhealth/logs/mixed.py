"""One file with the lines of one proxy, or of both: each line goes to the reader of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailhealth.logs.caddy import CaddyReader
from tailhealth.logs.nginx import NginxReader
from tailhealth.logs.outline import taken
from tailhealth.logs.reading import LineReader
from tailhealth.logs.sniff import Proxy, quick

if TYPE_CHECKING:
    from tailhealth.logs.outline import Load, Outline, Terms
    from tailhealth.logs.reading import Entry, Event, Tally
    from tailhealth.logs.rules import LogRules

_CADDY_REQUEST = b'"request":{'


class Mixed(LineReader):
    """Reads a file whose lines have no envelopes, or have lost theirs.

    Args:
        rules: How the log is to be read.
        file: Index of the file, for the order of attempts.
        name: What hints call the file.
        tally: Where lines, records and skips are counted.
        first: The proxy whose lines the file mostly has.
        near: A time close to the first line's, for times without a year.
    """

    def __init__(self, rules: LogRules, file: int, name: str, tally: Tally, first: Proxy, *, near: float | None = None) -> None:
        self._alone = rules.format != "auto"
        self._first: Proxy = first
        self._nginx = NginxReader(rules, file, name, tally, b"" if self._alone else _CADDY_REQUEST)
        self._caddy = CaddyReader(rules, file, name, tally, None if self._alone else self._nginx.read_line, near=near)

    @property
    def held(self) -> int | None:
        """Offset of the first line whose events are held back; None if there is none."""
        waiting = [held for held in (self._caddy.held, self._nginx.held) if held is not None]
        return min(waiting, default=None)

    def read(self, block: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read whole lines; see `LineReader`."""
        if self._first == "caddy":
            return self._caddy.read(block, offset, now)
        if self._alone or _CADDY_REQUEST not in block:
            return self._nginx.read(block, offset, now)
        events: list[Entry] = []
        for line in _lines(block):
            # Line by line as the block would be: how a file is split makes no difference.
            read = self.read_line if _CADDY_REQUEST in line else self._nginx.read_line
            events += read(line, offset, now)
            offset += len(line)
        return events

    def read_line(self, line: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read one line that stands (or whose envelope stands) at `offset`."""
        proxy = self._first if self._alone else quick(line) or self._first
        return (self._caddy if proxy == "caddy" else self._nginx).read_line(line, offset, now)

    @property
    def terms(self) -> Terms | None:
        """See `LineReader`."""
        return self._caddy.terms if self._first == "caddy" else self._nginx.terms

    def take(self, outline: Outline, serial: int, load: Load) -> list[Entry]:
        """See `LineReader`."""
        inner = self._caddy if self._first == "caddy" else self._nginx
        return taken(outline, load, self.read, lambda stretch: inner.accept(stretch, serial, load))

    def finish(self) -> list[Event]:
        """The file has ended: hand on what was held back."""
        return self._caddy.finish() + self._nginx.finish()


def _lines(block: bytes) -> list[bytes]:
    """Split at newlines only, and keep them."""
    lines = [line + b"\n" for line in block.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
