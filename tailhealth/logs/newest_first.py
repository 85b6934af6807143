"""Exports that begin with the newest line, turned round with bounded memory."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import pairwise
from tempfile import TemporaryFile
from typing import BinaryIO, TypeAlias

from tailhealth.logs.lines import Piece
from tailhealth.logs.start import TimeOf

CHUNK = 16 * 1024 * 1024
"""About how much memory the lines that are sorted at once may take, in bytes."""
_OVERHEAD = 200
_MOST_RUNS = 64
_HEADER = struct.Struct("<dQI")
_SAMPLE = 500

_Row: TypeAlias = tuple[float, int, bytes]
"""Time, negative offset, line: of two lines with the same time, the one that stands later is the older one."""


def is_newest_first(piece: Piece, time_of: TimeOf) -> bool:
    """Tell by the first lines of a log whether each is older than the one before."""
    lines = piece.data.split(b"\n", _SAMPLE)[:_SAMPLE]
    times = [at for line in lines if line and (at := time_of(line)) is not None]
    pairs = list(pairwise(times))
    falling = sum(later < earlier for earlier, later in pairs)
    rising = sum(later > earlier for earlier, later in pairs)
    return falling > rising and times[0] > times[-1]


def oldest_line_first(pieces: Iterable[Piece], time_of: TimeOf, chunk: int = CHUNK) -> Iterator[Piece]:
    """Sort lines by time, one piece per line, each with its own offset in the export.

    Lines are sorted in memory up to `chunk` bytes at a time and kept in unnamed temporary files (mode 0600) until they are
    merged. A line without a time goes with the one before it.

    Raises:
        OSError: The temporary files can't be written.
    """
    runs: list[BinaryIO] = []
    try:
        rows: list[_Row] = []
        size = 0
        for row in _rows(pieces, time_of):
            rows.append(row)
            size += len(row[2]) + _OVERHEAD
            if size >= chunk:
                runs.append(_written(sorted(rows)))
                rows, size = [], 0
                if len(runs) == _MOST_RUNS:
                    runs = [_merged_to_one(runs)]
        for _, offset, line in merge(*map(_read, runs), sorted(rows)):
            yield Piece(-offset, line)
    finally:
        for run in runs:
            run.close()


def _rows(pieces: Iterable[Piece], time_of: TimeOf) -> Iterator[_Row]:
    latest = float("inf")
    for piece in pieces:
        offset = piece.offset
        for line in _lines(piece.data):
            at = time_of(line.rstrip(b"\n"))
            latest = latest if at is None else at
            yield latest, -offset, line if line.endswith(b"\n") else line + b"\n"
            offset += len(line)


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _written(rows: Iterable[_Row]) -> BinaryIO:
    run = TemporaryFile()  # noqa: SIM115 - closed by `oldest_line_first` when all runs are merged
    for at, offset, line in rows:
        run.write(_HEADER.pack(at, -offset, len(line)))
        run.write(line)
    run.seek(0)
    return run


def _read(run: BinaryIO) -> Iterator[_Row]:
    while header := run.read(_HEADER.size):
        at, offset, size = _HEADER.unpack(header)
        yield at, -offset, run.read(size)


def _merged_to_one(runs: list[BinaryIO]) -> BinaryIO:
    one = _written(merge(*map(_read, runs)))
    for run in runs:
        run.close()
    return one
