"""Which files of the past there are to read, when each begins, and which are only copies of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import inf
from pathlib import Path

from tailhealth.logs.ahead import Ahead, Outlined
from tailhealth.logs.generation import HEAD_BYTES, digest, head_of
from tailhealth.logs.lines import Piece
from tailhealth.logs.newest_first import is_newest_first, oldest_line_first
from tailhealth.logs.rolled import live_name
from tailhealth.logs.start import TimeOf
from tailhealth.logs.stream import LogError, Stream, log_error

STDIN = "-"
"""The path that means standard input."""
_LOOKED_AT = 16
"""How many blocks are looked at to find a first time."""


class Past:
    """One file of the past, looked into and closed again.

    Args:
        stream: The file.
        time_of: Tells the time of a line.

    Raises:
        LogError: It can't be read.
    """

    def __init__(self, stream: Stream, time_of: TimeOf) -> None:
        self.stream = stream
        self.file = 0
        path = Path(stream.path)
        self.log = stream.path if stream.path == STDIN else str(path.with_name(live_name(path.name)))
        """The path under which it was written."""
        self._time_of = time_of
        self._sorted: Iterator[Piece] | None = None
        self._newest_first = False
        self.fingerprint = ""
        self.first = -inf
        """Time of the first line that has one; minus infinity if there is none near the beginning."""
        try:
            self._look_into()
        except (LogError, OSError):
            stream.close()
            raise
        stream.release()

    def _look_into(self) -> None:
        first = self.stream.peek()
        if first is not None:
            self.fingerprint = digest(head_of(first.data[:HEAD_BYTES]) or first.data)
            self.first = self._oldest() if is_newest_first(first, self._time_of) else self._first()

    def pieces(self, ahead: Ahead | None) -> Iterator[Piece | Outlined]:
        """The lines, oldest first. Raises LogError."""
        if self._sorted is not None:
            return self._sorted
        if self._newest_first:
            return oldest_line_first(self.stream.blocks(), self._time_of)
        return self.stream.blocks() if ahead is None else ahead.pieces(self.stream, self.file)

    def _first(self) -> float:
        return next(self._times(self.stream.ahead(_LOOKED_AT)), -inf)

    def _oldest(self) -> float:
        self._newest_first = True
        if self.stream.size is not None:
            return min(self._times(self.stream.blocks()))
        # A pipe can't be read twice: sort it now.
        pieces = oldest_line_first(self.stream.blocks(), self._time_of)
        first = next(pieces)
        self._sorted = chain([first], pieces)
        return next(self._times([first]), -inf)

    def _times(self, pieces: Iterable[Piece]) -> Iterator[float]:
        for piece in pieces:
            for line in piece.data.split(b"\n"):
                at = self._time_of(line) if line else None
                if at is not None:
                    yield at


def found_paths(paths: Sequence[str]) -> list[tuple[int, str]]:
    """The files to read, each with the number of the argument that names it or its folder.

    Raises:
        LogError: A folder can't be listed or has no file in it.
    """
    found: list[tuple[int, str]] = []
    for number, path in enumerate(paths):
        if path == STDIN or not Path(path).is_dir():
            found.append((number, path))
            continue
        try:
            files = sorted(str(file) for file in Path(path).iterdir() if not file.name.startswith(".") and file.is_file())
        except OSError as error:
            raise log_error(path, error) from error
        if not files:
            raise LogError(path, "there is no file in this folder", "name the folder that holds the logs")
        found += [(number, file) for file in files]
    return found


def without_copies(pasts: list[Past], notes: list[str]) -> list[Past]:
    """Leave out what is the beginning of another file, or the same. Raises LogError."""
    kept: list[Past] = []
    for past in pasts:
        alike = [other for other in kept if other.fingerprint == past.fingerprint and other.stream.size is not None]
        if not past.fingerprint or past.stream.size is None:
            alike = []
        for other in alike:
            longer = _longer(past, other)
            if longer is None:
                continue
            shorter = past if longer is other else other
            notes.append(f"{shorter.stream.path}: left out, {longer.stream.path} holds all of it")
            kept = [longer if one is other else one for one in kept]
            break
        else:
            kept.append(past)
    return kept


def _longer(first: Past, second: Past) -> Past | None:
    """The one of which the other is the beginning; None if they differ. The second one if they are the same."""
    readers = [_Bytes(first.stream), _Bytes(second.stream)]
    try:
        while True:
            size = min(len(reader.fill()) for reader in readers)
            if not size:
                return second if not readers[0].data else first
            if readers[0].take(size) != readers[1].take(size):
                return None
    finally:
        first.stream.release()
        second.stream.release()


class _Bytes:
    """The content of a stream in pieces of any size."""

    def __init__(self, stream: Stream) -> None:
        self.data = b""
        self._blocks = stream.blocks()

    def fill(self) -> bytes:
        if not self.data:
            piece = next(self._blocks, None)
            self.data = b"" if piece is None else piece.data
        return self.data

    def take(self, size: int) -> bytes:
        taken, self.data = self.data[:size], self.data[size:]
        return taken
