"""A file just opened, and what was seen of it right then."""

from __future__ import annotations

from typing import NamedTuple

from tailhealth.logs.disk import OpenFile, Stat
from tailhealth.logs.generation import HEAD_BYTES, digest, head_of


class Opened(NamedTuple):
    """An open file. Whatever happens to it later, `head` says which generation was meant."""

    file: OpenFile
    stat: Stat
    path: str
    """Where it was opened, links followed."""
    head: bytes
    """The bytes that name it; empty as long as its first line is not complete."""

    @property
    def inode(self) -> tuple[int, int]:
        """Device and inode."""
        return self.stat.device, self.stat.inode

    @property
    def fingerprint(self) -> str:
        """Hash of the head."""
        return digest(self.head)


def opened_as(file: OpenFile, path: str) -> Opened:
    """Describe an open file by its own descriptor. Raises OSError."""
    return Opened(file, file.stat(), path, head_of(file.read_at(0, HEAD_BYTES)))
