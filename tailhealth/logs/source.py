"""One generation of a log that is being read: from an open file that may grow, or from a compressed one that can't."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

from tailhealth.logs.disk import OpenFile, Stat
from tailhealth.logs.generation import CONTEXT_BYTES, HEAD_BYTES, FileId, Position, digest, head_of
from tailhealth.logs.lines import LineCutter, Piece
from tailhealth.logs.opened import Opened

BLOCK = 256 * 1024
"""How much is read at once."""


class Chunk(NamedTuple):
    """Whole lines of one generation, in the order in which they were written."""

    file: FileId
    path: str
    """Where the bytes were read: a rolled or compressed copy has another path than the log."""
    data: bytes
    offset: int
    """Position of `data` in its generation, in unpacked bytes. `(file.fingerprint, offset)` of a line stays the same
    over restarts, renames and compression."""
    final: bool = False
    """The generation ends here. Comes once for each that was read to its end, with `data` empty or the last line, which
    may lack its newline."""


class Look(StrEnum):
    """What a look at a generation found."""

    MORE = "more"
    """There is more than was asked for."""
    QUIET = "quiet"
    """Read to its present end."""
    ENDED = "ended"
    """Read to its end, and it can't grow."""
    SHRUNK = "shrunk"
    """It seems shorter than what was read, and begins the same: cut back, or a file system that remembers badly."""
    TRUNCATED = "truncated"
    """Other bytes stand where we have read: the file was emptied, whatever has been written since."""
    OTHER = "other"
    """A compressed file that begins like ours and is not."""


class Looked(NamedTuple):
    """The result of a look."""

    look: Look
    chunks: list[Chunk]
    spent: int
    """Bytes read."""


class Source(Protocol):
    """A generation in reading."""

    file: FileId
    path: str

    @property
    def position(self) -> Position:
        """How far it was read."""
        ...

    @property
    def cutter(self) -> LineCutter:
        """Cuts its lines, and counts what it dropped."""
        ...

    @property
    def broken(self) -> str | None:
        """Why a compressed file can't be read to its end."""
        ...

    def look(self, budget: int) -> Looked:
        """Read on, up to about `budget` bytes. Raises OSError."""
        ...

    def finish(self) -> Chunk:
        """Nothing more will come: the last chunk."""
        ...

    def close(self) -> None:
        """Let the file go."""
        ...


class Reading:
    """What both kinds of source keep: who they are, how far they are, and the bytes that prove it."""

    def __init__(self, file: FileId, path: str, modified: float, cutter: LineCutter, before: bytes) -> None:
        self.file = file
        self.path = path
        self.cutter = cutter
        self.modified = modified
        self.seen = before
        """The last bytes before `cutter.position`."""
        self._before = before
        """The last bytes before `cutter.offset`."""

    @property
    def position(self) -> Position:
        """See `Source`."""
        return Position(
            self.file.device,
            self.file.inode,
            self.file.fingerprint,
            digest(self._before),
            self.cutter.offset,
            self.modified,
            self.path,
        )

    def taken(self, data: bytes) -> list[Piece]:
        """Feed bytes that follow those seen so far."""
        start = self.cutter.offset
        pieces = self.cutter.feed(data)
        together = self.seen + data
        if self.cutter.offset != start:
            end = len(together) - (self.cutter.position - self.cutter.offset)
            self._before = together[max(0, end - CONTEXT_BYTES) : end]
        self.seen = together[-CONTEXT_BYTES:]
        return pieces

    def passed_hole(self, size: int) -> None:
        """NUL bytes at a line start were left out."""
        self.cutter.pass_hole(size)
        self.seen = (self.seen + bytes(min(size, CONTEXT_BYTES)))[-CONTEXT_BYTES:]
        self._before = self.seen

    def chunks(self, pieces: list[Piece]) -> list[Chunk]:
        """The pieces with their names on."""
        return [Chunk(self.file, self.path, piece.data, piece.offset) for piece in pieces]

    def finish(self) -> Chunk:
        """See `Source`."""
        rest = self.cutter.rest()
        if rest is None:
            return Chunk(self.file, self.path, b"", self.cutter.offset, final=True)
        self._before = self.seen
        if not self.file.fingerprint:
            self.file = self.file._replace(fingerprint=digest(rest.data[:HEAD_BYTES]))
        return Chunk(self.file, self.path, rest.data, rest.offset, final=True)


class PlainSource(Reading):
    """A file as the proxy writes it. Nothing is believed but what is read from the open descriptor.

    Before every read the first line must be the one that was there, and every read brings the bytes before the position with
    it: so a truncation is seen even if the file has outgrown the old position since (case 84).

    Args:
        opened: The open file, which the source closes.
        offset: A line start.
        max_line: See `LineCutter`.

    Raises:
        OSError: The bytes before `offset` could not be read.
    """

    broken: str | None = None

    def __init__(self, opened: Opened, offset: int, max_line: int) -> None:
        self._opened = opened.file
        self._head = opened.head
        self._noted = opened.stat.modified
        size = min(offset, CONTEXT_BYTES)
        before = self._opened.read_at(offset - size, size)
        file = FileId(*opened.inode, opened.fingerprint)
        super().__init__(file, opened.path, opened.stat.modified, LineCutter(offset, max_line), before)

    @property
    def opened(self) -> OpenFile:
        """The open file, for one who reads it from another position."""
        return self._opened

    def look(self, budget: int) -> Looked:
        """See `Source`."""
        chunks: list[Chunk] = []
        spent = 0
        if self.is_another():
            return Looked(Look.TRUNCATED, chunks, spent)
        while spent < budget:
            got = self._opened.read_at(self.cutter.position - len(self.seen), len(self.seen) + BLOCK)
            if not got.startswith(self.seen):
                look = Look.SHRUNK if self._head and len(got) < len(self.seen) else Look.TRUNCATED
                return Looked(look, chunks, spent)
            data = got[len(self.seen) :]
            if not data:
                self.modified = self._noted
                return Looked(Look.QUIET, chunks, spent)
            spent += len(data)
            if not self._head:
                # Without a head nothing was left behind yet: what was seen begins at the file's first byte.
                self._name(self.seen + data)
            if self.cutter.at_line_start and not data.lstrip(b"\0"):
                self._pass_hole(len(data))
                continue
            pieces = self.taken(data)
            chunks += self.chunks(pieces)
        return Looked(Look.MORE, chunks, spent)

    def is_another(self) -> bool:
        """Tell whether the file begins otherwise by now: it was truncated. Raises OSError."""
        return bool(self._head) and self._opened.read_at(0, len(self._head)) != self._head

    def refresh(self, stat: Stat) -> None:
        """Note when the file was last written; holds from the next look on, if that finds it to be the same generation."""
        self._noted = stat.modified

    def named(self) -> str:
        """The fingerprint; of a file without a whole line, the one that it would have if this were all of it. Raises OSError.

        From now on the file is held to it: if it has another first line at the next look, it was truncated.
        """
        if self._head:
            return self.file.fingerprint
        beginning = self._opened.read_at(0, HEAD_BYTES)
        self._name(beginning)
        return self.file.fingerprint or digest(beginning)

    def stirred(self) -> bool:
        """Tell whether an unnamed file was written to since the last look. Raises OSError.

        Whether those were its first lines, or others were copied away and truncated before them, the file itself can't tell.
        """
        return not self.file.fingerprint and self._opened.stat().modified != self.modified

    def go_to(self, offset: int) -> None:
        """Read on from `offset`, in a file that was cut back to there. Raises OSError."""
        size = min(offset, CONTEXT_BYTES)
        self.cutter = LineCutter(offset, self.cutter.max_line)
        self.seen = self._before = self._opened.read_at(offset - size, size)

    def close(self) -> None:
        """See `Source`."""
        self._opened.close()

    def _pass_hole(self, read: int) -> None:
        position = self.cutter.position
        self.passed_hole(max(read, self._opened.next_data(position) - position))

    def _name(self, beginning: bytes) -> None:
        self._head = head_of(beginning)
        self.file = self.file._replace(fingerprint=digest(self._head))
