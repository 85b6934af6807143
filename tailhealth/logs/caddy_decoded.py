"""A block of lines that the decoder has read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tailhealth.logs.lines import ends_of

if TYPE_CHECKING:
    from tailhealth.logs.caddy_shape import Line, Shape

CHECKED_EVERY = 512 * 1024
"""Lines at multiples of so many bytes are searched for keys that stand twice or under other names.

Only the configuration puts a key there twice, so it does in every line. In lines that could be held against an upstream,
status and duration are always searched; what can slip through for a moment after a reload is the duration of a good one.
"""
CLOSED = 0x7D


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

    def start(self, index: int) -> int:
        """Return where a line begins in the file, or, past the last one, where the block ends."""
        return self.offset + (self.bounds(index)[0] if index < len(self.ends) else len(self.block))

    def bounds(self, index: int) -> tuple[int, int]:
        """Return where a line begins and ends in the block."""
        return (self.ends[index - 1] + 1 if index else 0), self.ends[index]

    def where(self, index: int) -> Where:
        """Return a line."""
        start, end = self.bounds(index)
        return Where(self.block[start:end], self.offset + start)


def decode(decoder: msgspec.json.Decoder[Line], block: bytes, offset: int) -> Decoded | None:
    """Decode a block; None where the decoder's records may not be the lines: they are to be read one by one then.

    By itself the decoder accepts an object over two lines, two objects in one, and drops blank lines.
    """
    try:
        records: list[Line] = decoder.decode_lines(block)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    ends = ends_of(block)
    if len(records) != len(ends) or {block[end - 1] for end in ends} != {CLOSED}:
        return None
    return Decoded(records, block, offset, ends)


def first_odd(shape: Shape, decoded: Decoded) -> int:
    """Search the lines whose turn it is for keys that mislead the decoder; return the index of the first that has one.

    It depends on their places in the file whose turn it is: how a file is split makes no difference.
    """
    block = decoded.block
    for place in range(-decoded.offset % CHECKED_EVERY, len(block), CHECKED_EVERY):
        start, end = block.rfind(b"\n", 0, place) + 1, block.find(b"\n", place)
        if shape.is_odd(block[start:] if end < 0 else block[start:end]):
            return block.count(b"\n", 0, start)
    return len(decoded.records)
