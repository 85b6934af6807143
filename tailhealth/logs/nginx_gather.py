"""Records over several physical lines: a `log_format` that was written over several lines inside one pair of quotes."""

from __future__ import annotations

from tailhealth.logs.nginx_text import Nesting

LONGEST_RECORD = 1 << 20
"""Bytes; a record that is still not complete then is given up."""
MOST_LINES = 512


class Gathered:
    """The lines of a record that is not complete yet."""

    def __init__(self, line: bytes, offset: int) -> None:
        self.offset = offset
        """Where its first line begins in the file."""
        self._lines: list[bytes] = []
        self._size = 0
        self._nesting = Nesting()
        self.add(line)

    @property
    def text(self) -> bytes:
        """All of it so far."""
        return b"\n".join(self._lines)

    @property
    def open(self) -> bool:
        """Another line may complete it."""
        return self._nesting.open and self._size <= LONGEST_RECORD and len(self._lines) <= MOST_LINES

    def add(self, line: bytes) -> None:
        """Take one more line."""
        self._lines.append(line)
        self._size += len(line) + 1
        self._nesting.add(line)

    def ended_by(self, line: bytes) -> bool:
        """Tell whether a line is not the next of this record but begins another one: then this one was torn.

        A brace opens a record unless a value is due, and whole braces on one line are a record of their own in any case.
        """
        if not line.startswith(b"{"):
            return False
        alone = Nesting()
        alone.add(line)
        return not self._lines[-1].endswith((b":", b"[")) or (line.endswith(b"}") and alone.depth == 0)
