"""A block of lines that the decoder has read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tailhealth.logs.caddy_shape import Line


class Where(NamedTuple):
    """A line as it stands in its file."""

    line: bytes
    offset: int


class Decoded(NamedTuple):
    """Whole lines and their records, one for each."""

    records: list[Line]
    block: bytes
    """The lines; the last one may lack its newline."""
    offset: int
    """Position of the block in its file."""
    ends: list[int]
    """Where the lines end in the block."""

    def bounds(self, index: int) -> tuple[int, int]:
        """Return where a line begins and ends in the block."""
        return (self.ends[index - 1] + 1 if index else 0), self.ends[index]

    def where(self, index: int) -> Where:
        """Return a line."""
        start, end = self.bounds(index)
        return Where(self.block[start:end], self.offset + start)


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
