"""Following standard input, for `journalctl -f -o json | tailhealth run`: what was read can't be read again."""

from __future__ import annotations

import os
import select
import time
from collections import deque
from collections.abc import Callable, Sequence

from tailhealth.logs.checkpoint import Checkpoint
from tailhealth.logs.following import Counts, Gap, State, Status
from tailhealth.logs.generation import FileId
from tailhealth.logs.lines import MAX_LINE, LineCutter
from tailhealth.logs.source import BLOCK, Chunk

BUDGET = 1024 * 1024
"""Bytes that one poll reads at most, roughly: all that its lines become is in memory at once."""


class PipeFollower:
    """Reads lines from an open descriptor as they come. Has what a `Follower` has, as far as a pipe can.

    Args:
        descriptor: Open for reading; is left open.
        path: What to call it.
        max_line: Longest line in bytes; longer ones are dropped and counted.
        budget: How many bytes one poll reads, roughly.
        clock: Seconds of a clock that never jumps.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        path: str = "-",
        max_line: int = MAX_LINE,
        budget: int = BUDGET,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.descriptor = descriptor
        self.more = False
        """The last poll stopped before the end of what is there: poll again without waiting."""
        self.counts = Counts()
        self.gaps: Sequence[Gap] = deque()
        self.behind = 0
        self._clock = clock
        self._budget = budget
        self._file = FileId(0, 0, path)
        self._cutter = LineCutter(0, max_line)
        self._status = Status(State.FOLLOWING, clock())

    @property
    def status(self) -> Status:
        """Whether more can come."""
        return self._status

    def poll(self) -> list[Chunk]:
        """Take what has come; never waits. The last chunk of all is `final`."""
        chunks: list[Chunk] = []
        left = self._budget
        while left > 0 and self._status.state is State.FOLLOWING and select.select([self.descriptor], [], [], 0)[0]:
            data = self._read()
            left -= len(data)
            chunks += [Chunk(self._file, self.path, piece.data, piece.offset) for piece in self._cutter.feed(data)]
            if not data:
                rest = self._cutter.rest()
                offset = self._cutter.offset if rest is None else rest.offset
                chunks.append(Chunk(self._file, self.path, b"" if rest is None else rest.data, offset, final=True))
        self.more = left <= 0
        self.counts.oversized, self.counts.holes = self._cutter.oversized, self._cutter.holes
        return chunks

    def checkpoint(self) -> Checkpoint:
        """Nothing to go on from."""
        return Checkpoint(begun=False)

    def close(self) -> None:
        """The descriptor belongs to the caller."""

    def _read(self) -> bytes:
        try:
            data = os.read(self.descriptor, BLOCK)
        except OSError as error:
            self._status = Status(State.ENDED, self._clock(), error.strerror or str(error))
            return b""
        if not data:
            self._status = Status(State.ENDED, self._clock(), "the other side closed it")
        return data
