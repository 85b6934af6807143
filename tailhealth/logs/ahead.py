"""Reads ahead in plain files, in several processes at once, while the lines before are still being judged.

Nothing depends on it but the time that reading takes: what another process could not outline, or outlined on terms that do not
hold any more, is read here as if there were no other process.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from typing import NamedTuple

from tailhealth.logs.anywhere import FileBytes
from tailhealth.logs.disk import LocalFile
from tailhealth.logs.helpers import Helpers, Task
from tailhealth.logs.lines import Piece
from tailhealth.logs.outline import Outline, Terms
from tailhealth.logs.stream import BLOCK, Stream

SEGMENT = 32 * BLOCK
"""So many bytes are handed to a process at once: it takes some 10 ms."""
PER_PROCESS = 2
"""So many segments wait for each process, or are being outlined by it."""
WORTH_IT = 4
"""From so many segments on the processes are started."""


class Outlined(NamedTuple):
    """Whole lines as in a `Piece`, outlined."""

    outline: Outline
    serial: int
    """Of the terms on which they were outlined."""
    load: FileBytes

    @property
    def offset(self) -> int:
        """Position of the first byte in the file."""
        return self.outline.offset

    @property
    def data(self) -> bytes:
        """The lines as they stand in their file. Raises LogError."""
        return self.load(self.outline.offset, self.outline.end)

    def cut(self, data: bytes, place: int, horizon: float) -> tuple[Piece | Outlined, Piece | Outlined]:
        """Cut the lines, which are `data`, at the beginning of the first one that is later than `horizon`."""
        offset = self.outline.offset
        parts = self.outline.cut(offset + place, horizon, lambda start, end: data.count(b"\n", start - offset, end - offset))
        if parts is None:
            return Piece(offset, data[:place]), Piece(offset + place, data[place:])
        return self._replace(outline=parts[0]), self._replace(outline=parts[1])


class Ahead:
    """Outlines plain files in other processes.

    Args:
        processes: How many.
        segment: So many bytes are handed to one at once; a multiple of `BLOCK`.
    """

    def __init__(self, processes: int, segment: int = SEGMENT) -> None:
        self._helpers = Helpers(processes)
        self._segment = segment
        self._terms: dict[int, Terms] = {}
        self._packed: dict[int, tuple[Terms, bytes]] = {}
        """Terms of each file as they were last sent to the processes."""
        self._files: dict[int, FileBytes] = {}

    def expect(self, size: int | None) -> None:
        """Hear that a file of so many bytes is to be read."""
        if size is not None and size >= WORTH_IT * self._segment:
            self._helpers.start()

    def learned(self, file: int, terms: Terms | None) -> None:
        """Hear on which terms plain lines of a file are read now; None: on none that another process could know."""
        if terms is None:
            self._terms.pop(file, None)
        else:
            self._terms[file] = terms

    def pieces(self, stream: Stream, file: int) -> Iterator[Piece | Outlined]:
        """Return the blocks of a file, outlined as far as its terms are known. Raises LogError."""
        blocks = stream.blocks()
        while True:
            if self._is_possible(stream, file):
                yield from self._segments(stream, file)
            piece = next(blocks, None)
            if piece is None:
                return
            yield piece

    def close(self) -> None:
        """End the processes, and let all files go."""
        self._helpers.close()
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _is_possible(self, stream: Stream, file: int) -> bool:
        return self._helpers.count > 0 and file in self._terms and stream.can_jump(self._segment)

    def _segments(self, stream: Stream, file: int) -> Iterator[Piece | Outlined]:
        """Hand on segment after segment, as long as there are terms and whole segments."""
        load = self._files.get(file)
        if load is None:
            # Attempts may be asked for long after, and terms may be lost and found again: it stays open.
            load = self._files[file] = FileBytes(stream.path, LocalFile(stream.duplicate()))
        waiting: deque[_Waiting] = deque()
        while self._is_possible(stream, file):
            terms = self._terms[file]
            if waiting and (waiting[0].start, waiting[0].serial) != (stream.position, terms.serial):
                _drop(waiting)
            self._fill(waiting, stream, file)
            segment = self._helpers.result(waiting.popleft().future) if waiting else None
            if segment is None or segment.start != stream.cutter.offset:
                yield from stream.blocks_until(stream.position + self._segment)
                continue
            stream.jump(segment.end, stream.position + self._segment)
            for outline in segment.outlines:
                yield Outlined(outline, terms.serial, load)
        _drop(waiting)

    def _fill(self, waiting: deque[_Waiting], stream: Stream, file: int) -> None:
        """Hand out segments, so that no process has to wait."""
        terms = self._terms[file]
        if file not in self._packed or self._packed[file][0] is not terms:
            self._packed[file] = terms, pickle.dumps(terms)
        start = waiting[-1].start + self._segment if waiting else stream.position
        while len(waiting) < self._helpers.count * PER_PROCESS and start + self._segment <= (stream.size or 0):
            task = Task(stream.path, self._files[file].identity, start, self._segment, stream.max_line, self._packed[file][1])
            future = self._helpers.outline(task)
            if future is not None:
                waiting.append(_Waiting(start, terms.serial, future))
            start += self._segment


class _Waiting(NamedTuple):
    """A segment in the hands of another process."""

    start: int
    serial: int
    future: Future[bytes | None]


def _drop(waiting: deque[_Waiting]) -> None:
    while waiting:
        waiting.pop().future.cancel()
