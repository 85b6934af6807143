"""Where to begin in a log: at the first line of a time, found without reading the whole file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from tailhealth.logs.disk import LocalDisk, OpenFile
from tailhealth.logs.lines import MAX_LINE, LineCutter
from tailhealth.logs.packed import packing_of

TimeOf: TypeAlias = Callable[[bytes], float | None]
"""Tells the time of a line in epoch seconds; None for a line that has none."""

_STEP = 64 * 1024
_FURTHEST = 1024 * 1024


def line_start_before(opened: OpenFile, offset: int, max_line: int = MAX_LINE) -> int:
    """The start of the line in which `offset` lies, or `offset` itself if that line is longer than `max_line`.

    Raises:
        OSError: The file can't be read.
    """
    end = offset
    while end > max(0, offset - max_line):
        begin = max(0, end - _STEP)
        found = opened.read_at(begin, end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0 if end == 0 else offset


def first_since(opened: OpenFile, since: float, time_of: TimeOf) -> int:
    """The start of the first line whose time is at least `since`; the end of the file if there is none.

    Searches by halves, so it expects lines to be in order by and large; where they are not, it may begin some lines early or
    late. Lines without a time are passed over.

    Raises:
        OSError: The file can't be read.
    """
    size = opened.stat().size
    low, high = 0, size
    while high - low > _STEP:
        middle = (low + high) // 2
        timed = _timed_line(opened, middle, high, time_of)
        if timed is None or timed[1] >= since:
            high = middle
        else:
            low = timed[0]
    found = _scan(opened, low, since, time_of)
    return line_start_before(opened, size) if found is None else found


def tail_offset(path: str, since: float, time_of: TimeOf) -> int:
    """`first_since` for a plain file by its path; 0 for a compressed one, where one can't look ahead.

    Raises:
        OSError: The file can't be opened or read.
    """
    opened = LocalDisk().open(path)
    try:
        if packing_of(opened.read_at(0, 4)) is not None:
            return 0
        return first_since(opened, since, time_of)
    finally:
        opened.close()


def _scan(opened: OpenFile, offset: int, since: float, time_of: TimeOf) -> int | None:
    for start, at in _timed_lines(opened, offset, time_of):
        if at >= since:
            return start
    return None


def _timed_line(opened: OpenFile, offset: int, end: int, time_of: TimeOf) -> tuple[int, float] | None:
    """The first line with a time that begins after `offset`, if it begins soon and before `end`."""
    begin = _next_line(opened, offset, end)
    if begin is None:
        return None
    for start, at in _timed_lines(opened, begin, time_of, furthest=_FURTHEST):
        return (start, at) if start < end else None
    return None


def _next_line(opened: OpenFile, offset: int, end: int) -> int | None:
    while offset < end:
        data = opened.read_at(offset, _STEP)
        found = data.find(b"\n")
        if found >= 0:
            return offset + found + 1
        if not data:
            return None
        offset += len(data)
    return None


def _timed_lines(opened: OpenFile, offset: int, time_of: TimeOf, furthest: int | None = None) -> Iterator[tuple[int, float]]:
    cutter = LineCutter(offset)
    while furthest is None or cutter.position - offset < furthest:
        data = opened.read_at(cutter.position, _STEP)
        if not data:
            return
        for piece in cutter.feed(data):
            start = piece.offset
            for line in piece.data.split(b"\n")[:-1]:
                at = time_of(line)
                if at is not None:
                    yield start, at
                start += len(line) + 1
