"""Which file is which: a log's generations are told apart by what stands in them, not by name or inode alone.

Names move at every rotation, inodes are reused, a truncated file keeps both, and a compressed copy has neither. What stays is
the content: the first line names a generation, the bytes before a position prove that the position still means the same.
Only hashes of them are kept, because lines hold what must not be written anywhere.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

HEAD_BYTES = 4096
"""A generation is named by its first line, or by this many first bytes if the line is longer."""
CONTEXT_BYTES = 4096
"""How many bytes before a position prove it: more than a usual line, so that they hold at least one time stamp."""


def digest(data: bytes) -> str:
    """A short hash in hex; empty for no bytes."""
    return blake2b(data, digest_size=12).hexdigest() if data else ""


def head_of(beginning: bytes) -> bytes:
    """The part of a file's first `HEAD_BYTES` bytes that names it; empty as long as its first line is not complete."""
    end = beginning.find(b"\n", 0, HEAD_BYTES) + 1
    if end:
        return beginning[:end]
    return beginning[:HEAD_BYTES] if len(beginning) >= HEAD_BYTES else b""


class FileId(NamedTuple):
    """One generation of a log: what was written from one creation or truncation to the next."""

    device: int
    inode: int
    fingerprint: str
    """Hash of the first line: it stays when the generation is renamed, copied or compressed. Lines can be told apart by
    (fingerprint, offset) over restarts. Empty only for a generation that ended before its first line did."""


class Position(NamedTuple):
    """How far a generation was read."""

    device: int
    inode: int
    fingerprint: str
    context: str
    """Hash of the up to `CONTEXT_BYTES` bytes before `offset`."""
    offset: int
    """In unpacked bytes; always a line start."""
    modified: float
    """When it was last written, as the file system said at the last look."""
    path: str
    """Where it was found, links followed."""

    @property
    def context_size(self) -> int:
        """How many bytes `context` is the hash of."""
        return min(self.offset, CONTEXT_BYTES)
