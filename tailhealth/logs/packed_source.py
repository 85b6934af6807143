"""A generation that goes on in a compressed copy."""

from __future__ import annotations

from tailhealth.logs.disk import OpenFile
from tailhealth.logs.generation import CONTEXT_BYTES, FileId, Position, digest
from tailhealth.logs.lines import LineCutter
from tailhealth.logs.packed import Packing, Unpacker
from tailhealth.logs.source import Chunk, Look, Looked, Reading


class PackedSource(Reading):
    """A compressed copy of a generation, read on from where the generation was left.

    Args:
        opened: The open file, which the source closes.
        packing: How it is compressed.
        start: The position to go on from, with the path and time of the copy; its context is checked on the way.
        max_line: See `LineCutter`.
    """

    def __init__(self, opened: OpenFile, packing: Packing, start: Position, max_line: int) -> None:
        file = FileId(start.device, start.inode, start.fingerprint)
        super().__init__(file, start.path, start.modified, LineCutter(start.offset, max_line), b"")
        self._opened = opened
        self._start = start
        self._left = start.offset
        self._packed_at = 0
        self._unpacker = Unpacker(self._read, packing)

    @property
    def broken(self) -> str | None:
        """See `Source`."""
        return self._unpacker.broken

    @property
    def position(self) -> Position:
        """See `Source`."""
        return self._start if self._left else super().position

    def look(self, budget: int) -> Looked:
        """See `Source`."""
        chunks: list[Chunk] = []
        spent = 0
        while spent < budget:
            block = self._unpacker.block()
            if not block:
                return Looked(Look.OTHER if self._left else Look.ENDED, chunks, spent)
            spent += len(block)
            if self._left:
                block = self._skip(block)
                if not self._left and digest(self._before) != self._start.context:
                    return Looked(Look.OTHER, chunks, spent)
            chunks += self.chunks(self.taken(block)) if block else []
        return Looked(Look.MORE, chunks, spent)

    def close(self) -> None:
        """See `Source`."""
        self._opened.close()

    def _read(self, size: int) -> bytes:
        data = self._opened.read_at(self._packed_at, size)
        self._packed_at += len(data)
        return data

    def _skip(self, block: bytes) -> bytes:
        passed = block[: self._left]
        self._left -= len(passed)
        self.seen = self._before = (self.seen + passed)[-CONTEXT_BYTES:]
        return block[len(passed) :]
