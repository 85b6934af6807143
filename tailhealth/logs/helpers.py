"""Other processes that outline segments of plain files."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from multiprocessing.connection import wait
from typing import Any, NamedTuple

import msgspec

from tailhealth.logs.disk import LocalDisk, LocalFile
from tailhealth.logs.lines import LineCutter
from tailhealth.logs.outline import Outline, Stretch, Terms
from tailhealth.logs.start import line_start_before
from tailhealth.logs.stream import BLOCK


def cores() -> int:
    """Return how many processes can run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Task(NamedTuple):
    """A segment of a file that is to be outlined."""

    path: str
    file: tuple[int, int]
    """Device and inode: another file may lie there by now."""
    start: int
    size: int
    max_line: int
    terms: bytes


class Segment(msgspec.Struct, array_like=True):
    """The lines that end in a segment of a file."""

    start: int
    """Where the first one begins: at the segment's own beginning, or before it."""
    end: int
    outlines: list[Outline]


class Helpers:
    """Processes that outline. Without them everything goes on, only slower.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        """0 from when one of them was killed: the others go with it."""
        self._pool: ProcessPoolExecutor | None = None

    def start(self) -> None:
        """Start them: best before there are threads, which a fork does not get along with."""
        for _ in range(0 if self._pool else self.count):
            self._submit(int)

    def outline(self, task: Task) -> Future[bytes | None] | None:
        """Hand out a segment; None if nobody is there to take it."""
        return self._submit(outlined, task)

    def result(self, future: Future[bytes | None]) -> Segment | None:
        """Wait for a segment; None if there is no telling what its lines are."""
        try:
            found = future.result()
        except BrokenProcessPool:
            self.count = 0
            return None
        return None if found is None else _decoder.decode(found)

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _submit(self, what: Callable[..., Any], *arguments: object) -> Future[Any] | None:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.count, _context(), _begin)
        try:
            return self._pool.submit(what, *arguments)
        except BrokenProcessPool:
            self.count = 0
            return None


_decoder = msgspec.msgpack.Decoder(Segment)
_encoder = msgspec.msgpack.Encoder()


def _context() -> multiprocessing.context.BaseContext:
    # A fork is there at once, but it must not copy a lock that another thread holds.
    return multiprocessing.get_context("fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn")


def _begin() -> None:
    """Begin as one of the processes: an interrupt is the parent's business, and its end is the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def outlined(task: Task) -> bytes | None:
    """Outline a segment, in another process; None where it can't be told for certain what its lines are."""
    try:
        opened = LocalDisk().open(task.path)
    except OSError:
        return None
    try:
        segment = _segment(task, opened)
    except OSError:
        return None
    finally:
        opened.close()
    return None if segment is None else _encoder.encode(segment)


def _segment(task: Task, opened: LocalFile) -> Segment | None:
    """Cut a segment into lines as `Stream` does. Raises OSError."""
    stat = opened.stat()
    start = line_start_before(opened, task.start, task.max_line)
    if (stat.device, stat.inode) != task.file or (start == task.start and start > 0 and opened.read_at(start - 1, 1) != b"\n"):
        return None
    outline = _outline(task.terms)
    cutter = LineCutter(start, task.max_line)
    outlines: list[Outline] = []
    for position in range(task.start, task.start + task.size, BLOCK):
        data = opened.read_at(cutter.position, position + BLOCK - cutter.position)
        if len(data) != position + BLOCK - cutter.position:
            return None
        pieces = cutter.feed(data)
        outlines += [
            Outline(piece.offset, piece.offset + len(piece.data), outline(piece.data, piece.offset)) for piece in pieces
        ]
        if cutter.holes or cutter.oversized:
            return None
    return Segment(start, cutter.offset, outlines)


@lru_cache(maxsize=8)
def _outline(terms: bytes) -> Callable[[bytes, int], list[Stretch]]:
    known: Terms = pickle.loads(terms)  # noqa: S301 - from the process that started this one
    return known.outline()
