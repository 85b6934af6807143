"""Whole lines out of a stream of bytes, with flat memory: the one place where live and past files are cut."""

from __future__ import annotations

from typing import NamedTuple

MAX_LINE = 1024 * 1024
"""Longest line in bytes, newline included, that is handed on; longer ones are dropped and counted."""


class Piece(NamedTuple):
    """Whole lines as they stand in their file."""

    offset: int
    """Position of the first byte in the file."""
    data: bytes


class LineCutter:
    """Cuts the bytes of one file after their last newline and holds the torn rest until it is complete.

    Lines end at the byte 0x0A only (DESIGN section 3). NUL bytes at the start of a line are a hole that a truncation left
    under a writer that keeps its position: they are passed over, and the line begins after them. Any split of the same bytes
    gives the same lines.

    Args:
        offset: Position in the file of the first byte that will be fed: a line start.
        max_line: Longest line in bytes, newline included.
    """

    def __init__(self, offset: int = 0, max_line: int = MAX_LINE) -> None:
        self.position = offset
        """Where the next byte to feed stands in the file."""
        self.oversized = 0
        """Lines dropped because they were longer than `max_line`."""
        self.holes = 0
        """NUL bytes passed over at line starts."""
        self.max_line = max_line
        self._start = offset
        self._held = bytearray()
        self._dropping = False

    @property
    def offset(self) -> int:
        """Start of the first line that was not handed on: after a restart, reading goes on here."""
        return self._start

    @property
    def held(self) -> bytes:
        """The torn line after `offset`, without its newline so far."""
        return bytes(self._held)

    @property
    def at_line_start(self) -> bool:
        """No torn line is held and none is being dropped."""
        return not self._held and not self._dropping

    @property
    def is_dropping(self) -> bool:
        """The rest of a line that is too long is being dropped."""
        return self._dropping

    def jump(self, offset: int) -> None:
        """Go on at another line start; a torn line that is held is forgotten."""
        self._held.clear()
        self._start = self.position = offset

    def feed(self, data: bytes) -> list[Piece]:
        """Take the next bytes of the file and return the lines that are whole now, in order."""
        pieces: list[Piece] = []
        while data:
            data = self._dropped(data) if self._dropping else self._taken(data, pieces)
        return pieces

    def pass_hole(self, size: int) -> None:
        """Pass over `size` NUL bytes at a line start that nobody needs to read."""
        self.position += size
        self.holes += size
        self._start = self.position

    def rest(self) -> Piece | None:
        """The file is finished: hand on a last line that has no newline."""
        if not self._held:
            return None
        piece = Piece(self._start, bytes(self._held))
        self._held.clear()
        self._start = self.position
        return piece

    def _dropped(self, data: bytes) -> bytes:
        # A hole ends a line that is too long just as a newline does: whatever stood there was cut off.
        newline, hole = data.find(b"\n"), data.find(b"\0")
        if newline < 0 and hole < 0:
            self.position += len(data)
            return b""
        size = newline + 1 if hole < 0 or 0 <= newline < hole else hole
        self._dropping = False
        self.position += size
        self._start = self.position
        return data[size:]

    def _taken(self, data: bytes, pieces: list[Piece]) -> bytes:
        part = data[: self.max_line]
        if b"\0" in part:
            if not self._held and part[0] == 0:
                filled = part.lstrip(b"\0")
                self.pass_hole(len(part) - len(filled))
                return data[len(part) - len(filled) :]
            hole = part.find(b"\n\0")
            if hole >= 0:
                part = part[: hole + 1]
        end = part.rfind(b"\n") + 1
        first = part.find(b"\n") + 1 if self._held else end
        room = self.max_line - len(self._held)
        if (not end and len(part) >= room) or first > room:
            self.oversized += 1
            self._dropping = True
            self._held.clear()
            self.position += room
            return data[room:]
        if end:
            view = memoryview(part)
            pieces.append(Piece(self._start, b"".join((self._held, view[:end]))))
            self._held.clear()
            self._start = self.position + end
            self._held += view[end:]
        else:
            self._held += part
        self.position += len(part)
        return data[len(part) :]


def ends_of(block: bytes) -> list[int]:
    """Return where the lines of a block end: at their newlines, the last perhaps without one."""
    ends: list[int] = []
    find, append = block.find, ends.append
    at = find(b"\n")
    while at >= 0:
        append(at)
        at = find(b"\n", at + 1)
    if not ends or ends[-1] + 1 < len(block):
        append(len(block))
    return ends
