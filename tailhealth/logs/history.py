"""Logs of the past as one stream: rolled sets, archives, several logs at once, oldest line first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from math import inf
from typing import BinaryIO, NamedTuple

from tailhealth.logs.ahead import Ahead, Outlined
from tailhealth.logs.lines import MAX_LINE, Piece
from tailhealth.logs.past import STDIN, Past, found_paths, without_copies
from tailhealth.logs.start import TimeOf
from tailhealth.logs.stream import LogError, Meter, Progress, Stream


class Block(NamedTuple):
    """Whole lines of one file."""

    data: bytes
    offset: int
    """Position of the first byte in the file's content, unpacked."""
    file: int
    """Index of the file: in the order of the paths given, and of age within a folder."""
    path: str
    log: str
    """The path under which a rolled file was written: generations of one log have the same."""
    together: bool = False
    """Lines of other files of the same time follow in the next block. Only after the last of such blocks may time move on:
    put the events of all of them in order before they go to the engine."""
    outlined: Outlined | None = None
    """What another process found out about the lines; `data` is empty then."""


def open_history(
    paths: Sequence[str],
    *,
    time_of: TimeOf,
    stdin: BinaryIO | None = None,
    progress: Progress | None = None,
    max_line: int = MAX_LINE,
    ahead: Ahead | None = None,
) -> History:
    """Open logs of the past: plain files, .gz and .zst by their first bytes, folders of rolled files, `-` for standard input.

    Of a folder all files are read but hidden ones. A file that is the beginning of another one, or the same, is left out,
    whatever their names and compression (a copy made by `copytruncate`, a roll beside its compressed copy). An export that
    begins with the newest line is sorted.

    Args:
        paths: Files and folders.
        time_of: Tells the time of a line.
        stdin: What `-` means; by default the process's standard input.
        progress: Told of bytes read and bytes in all.
        max_line: Longest line in bytes; longer ones are dropped and counted.
        ahead: Outlines plain files in other processes; it is closed with the history.

    Raises:
        LogError: A path is missing, can't be read, or is a folder without a file.
        OSError: Standard input has to be sorted and there is no room for it.
    """
    meter = Meter(progress)
    notes: list[str] = []
    pasts: list[Past] = []
    try:
        found = found_paths(paths)
        for _, path in found:
            given = (stdin or sys.stdin.buffer) if path == STDIN else None
            pasts.append(Past(Stream(path, meter, file=given, max_line=max_line), time_of))
        # A folder's files stand in the order of their age, arguments in the order in which they were given.
        ages = {
            past: (number, past.first if path != paths[number] else 0.0)
            for (number, path), past in zip(found, pasts, strict=True)
        }
        pasts = without_copies(sorted(pasts, key=ages.__getitem__), notes)
    except (LogError, OSError):
        for past in pasts:
            past.stream.close()
        raise
    for index, past in enumerate(pasts):
        past.file = index
        meter.expect(past.stream.size)
        if ahead is not None:
            ahead.expect(past.stream.size)
    meter.telling = True
    return History(pasts, time_of, notes, ahead)


class History:
    """Blocks of one or several logs, merged by the time of their lines.

    How far a file may run ahead of the others: blocks come in groups (all but the last of a group have `together` set). A
    group reaches up to the earliest of the last times of the blocks at hand, and holds of each file what has no later time.
    So a line is never in a later group than one of another file with a later time, as far as the lines of each file are in
    order. Within a file, lines stay in the order in which they were written, and lines without a time stay where they stand.
    Where one file ends before the next begins, blocks are passed on whole, at the cost of one look at a time per block.
    """

    def __init__(self, pasts: list[Past], time_of: TimeOf, notes: list[str], ahead: Ahead | None) -> None:
        self.paths = tuple(past.stream.path for past in pasts)
        """The files that are read; the index is `Block.file`."""
        self.notes = notes
        """What could not be read, in sentences: grows while reading."""
        self._pasts = pasts
        self._time_of = time_of
        self._ahead = ahead

    @property
    def oversized(self) -> int:
        """Lines dropped so far because they were too long."""
        return sum(past.stream.cutter.oversized for past in self._pasts)

    def __iter__(self) -> Iterator[Block]:
        """Read everything once.

        Raises:
            LogError: A file can't be read any more.
        """
        waiting = sorted(self._pasts, key=lambda past: (past.first, past.file))
        running: list[_Cursor] = []
        while waiting or running:
            if not running:
                running = [_Cursor(waiting.pop(0), self._time_of, self._ahead)]
            horizon = None if len(running) == 1 and not waiting else min(cursor.last for cursor in running)
            while horizon is not None and waiting and waiting[0].first <= horizon:
                running.append(_Cursor(waiting.pop(0), self._time_of, self._ahead))
                horizon = min(cursor.last for cursor in running)
            running.sort(key=lambda cursor: cursor.past.file)
            group = [block for cursor in running if (block := cursor.take(horizon)) is not None]
            for block in group[:-1]:
                yield block._replace(together=True)
            yield from group[-1:]
            running = [cursor for cursor in running if not self._finished(cursor)]

    def close(self) -> None:
        """Let all files go."""
        if self._ahead is not None:
            self._ahead.close()
        for past in self._pasts:
            past.stream.close()

    def _finished(self, cursor: _Cursor) -> bool:
        if cursor.piece is not None:
            return False
        if cursor.past.stream.note is not None:
            self.notes.append(cursor.past.stream.note)
        return True


class _Cursor:
    """A file in reading: its next block."""

    def __init__(self, past: Past, time_of: TimeOf, ahead: Ahead | None) -> None:
        self.past = past
        self.piece: Piece | Outlined | None = None
        self._time_of = time_of
        self._pieces = past.pieces(ahead)
        self._last: float | None = None
        self._next()

    @property
    def last(self) -> float:
        """The time of the last line of the block; of one without any time the least possible, so that it goes at once."""
        if self._last is None:
            self._last = -inf
            if self.piece is not None:
                self._last = _last_time(self.piece.data, self._time_of)
        return self._last

    def take(self, horizon: float | None) -> Block | None:
        """Take the lines up to a time, all of the block for None; or None if all are later."""
        piece = self.piece
        if piece is None:
            return None
        if horizon is None or self.last <= horizon:
            self._next()
            return self._block(piece)
        data = piece.data
        cut = _first_after(data, horizon, self._time_of)
        if cut == 0:
            return None
        if isinstance(piece, Outlined):
            before, self.piece = piece.cut(data, cut, horizon)
            return self._block(before)
        self.piece = Piece(piece.offset + cut, data[cut:])
        return self._block(Piece(piece.offset, data[:cut]))

    def _next(self) -> None:
        self.piece = next(self._pieces, None)
        self._last = None

    def _block(self, piece: Piece | Outlined) -> Block:
        past = self.past
        if isinstance(piece, Outlined):
            return Block(b"", piece.offset, past.file, past.stream.path, past.log, outlined=piece)
        return Block(piece.data, piece.offset, past.file, past.stream.path, past.log)


def _last_time(data: bytes, time_of: TimeOf) -> float:
    end = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end - 1) + 1
        at = time_of(data[start:end].rstrip(b"\n"))
        if at is not None:
            return at
        end = start
    return -inf


def _first_after(data: bytes, horizon: float, time_of: TimeOf) -> int:
    """The start of the first line that is later than `horizon`, found by halves."""
    low, high = 0, len(data)
    while low < high:
        middle = data.rfind(b"\n", low, (low + high) // 2) + 1 or low
        start, at = middle, None
        while start < high and at is None:
            end = data.find(b"\n", start) + 1 or len(data)
            at = time_of(data[start:end].rstrip(b"\n"))
            after, start = end, end
        if at is None or at > horizon:
            high = middle
        else:
            low = after
    return low
