"""One log of the past, front to back: a plain file, a compressed one, or standard input."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias

from tailhealth.logs.lines import MAX_LINE, LineCutter, Piece
from tailhealth.logs.packed import Packing, Unpacker, packing_of

BLOCK = 128 * 1024
"""How much is read at once: what is made of a block then stays in a processor's cache until it is judged."""
_SURE = 6
_FOREIGN = {b"BZh": "bzip2 -d", b"\xfd7zXZ\0": "xz -d", b"PK\x03\x04": "unzip", b"\x04\x22\x4d\x18": "lz4 -d"}

Progress: TypeAlias = Callable[[int, int | None], None]
"""Told after every read: bytes read so far, and how many there are in all; None where that can't be known."""


class LogError(Exception):
    """A log that can't be read at all."""

    def __init__(self, path: str, why: str, remedy: str) -> None:
        super().__init__(f"{path}: {why}; {remedy}")
        self.path = path
        self.why = why
        self.remedy = remedy


class Meter:
    """Adds up what was read of several streams."""

    def __init__(self, progress: Progress | None) -> None:
        self.total: int | None = 0
        self.telling = False
        """Nothing is told before everything that is to be read is known."""
        self._read = 0
        self._progress = progress

    def expect(self, size: int | None) -> None:
        """So many more bytes are to be read; None: nobody knows."""
        self.total = None if size is None or self.total is None else self.total + size

    def add(self, size: int) -> None:
        """So many bytes were read."""
        self._read += size
        if self._progress is not None and self.telling:
            self._progress(self._read, self.total)


class Stream:
    """The lines of one log, as blocks of whole lines.

    Args:
        path: Where it lies; names it in errors.
        meter: Is told what is read.
        file: Standard input or the like, already open; left open at the end. None: the path is opened.
        max_line: See `LineCutter`.

    Raises:
        LogError: The path can't be opened.
    """

    def __init__(self, path: str, meter: Meter, *, file: BinaryIO | None = None, max_line: int = MAX_LINE) -> None:
        self.path = path
        self.cutter = LineCutter(0, max_line)
        self.note: str | None = None
        """What is wrong with the file, if it could not be read to its end."""
        self._given = file
        self._file = file
        self._meter = meter
        self.max_line = max_line
        self._read = 0
        self._is_behind = False
        """The cutter stands at the beginning of a torn line whose bytes were passed over."""
        self._unpacker: Unpacker | None = None
        self._ready: list[Piece] = []
        self._ended = False
        self.size: int | None = None
        """Bytes on disk; None of a pipe."""
        if file is None:
            self._file = opened(path)
            self.size = _size(self._file)

    def peek(self) -> Piece | None:
        """The first block, which stays the next one; None of an empty log. Raises LogError."""
        self._fill()
        return self._ready[0] if self._ready else None

    def ahead(self, most: int) -> Iterator[Piece]:
        """The next blocks, up to about `most`, which stay the next ones. Raises LogError."""
        self._fill()
        shown = 0
        while shown < len(self._ready):
            yield self._ready[shown]
            shown += 1
            if shown == len(self._ready) and shown < most:
                self._read_on()

    def release(self) -> None:
        """Close the file until it is needed, unless it is a pipe that can't be read twice."""
        if self.size is None:
            return
        if self._file is not None:
            self._file.close()
            self._file = None
        self._meter.add(-self._read)
        self._read = 0
        self.cutter = LineCutter(0, self.max_line)
        self._unpacker, self._ready, self._ended, self.note = None, [], False, None

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None and self._file is not self._given:
            self._file.close()
        self._file = None
        self._ended = True

    def blocks(self) -> Iterator[Piece]:
        """Whole lines, in the order of the file; the last one may lack its newline. Raises LogError."""
        while True:
            self._fill()
            if not self._ready:
                self.close()
                return
            yield self._ready.pop(0)

    @property
    def position(self) -> int:
        """So many bytes of a plain file are done with."""
        return self._read

    def duplicate(self) -> int:
        """Return another descriptor of the file, to be closed on its own. Raises LogError."""
        return os.dup(self._opened().fileno())

    def can_jump(self, size: int) -> bool:
        """Tell whether the next `size` bytes may be passed over: those of a plain file, and all before them handed on."""
        return (
            self.size is not None
            and self._unpacker is None
            and not self._ready
            and not self.cutter.is_dropping
            and 0 < self._read <= self.size - size
            and self._read % BLOCK == 0
        )

    def jump(self, line: int, position: int) -> None:
        """Pass over everything up to `position`, where a line is torn that begins at `line`."""
        self._meter.add(position - self._read)
        self._read = position
        self.cutter.jump(line)
        self._is_behind = True

    def blocks_until(self, position: int) -> Iterator[Piece]:
        """Whole lines up to about a position. Raises LogError."""
        while self._read < position and not self._ended:
            self._read_on()
            while self._ready:
                yield self._ready.pop(0)

    def _catch_up(self) -> None:
        """Give the cutter the torn line that was passed over, and read on behind it."""
        if self._is_behind:
            self._is_behind = False
            descriptor = self._opened().fileno()
            self._ready += self.cutter.feed(os.pread(descriptor, self._read - self.cutter.offset, self.cutter.offset))
            os.lseek(descriptor, self._read, os.SEEK_SET)

    def _fill(self) -> None:
        if not self._ready:
            self._read_on()

    def _read_on(self) -> None:
        """Read until there is another block, or no more."""
        size = len(self._ready)
        self._catch_up()
        while len(self._ready) == size and not self._ended:
            data = self._unpacked()
            if data:
                self._ready += self.cutter.feed(data)
                continue
            self._ended = True
            whole = self.cutter.offset
            rest = self.cutter.rest()
            if self._unpacker is not None and self._unpacker.broken is not None:
                # What a damaged archive ends with is no line that anybody wrote.
                self.note = f"{self.path}: {self._unpacker.broken}; read up to byte {whole} of its content"
            elif rest is not None:
                self._ready.append(rest)

    def _unpacked(self) -> bytes:
        if self._unpacker is not None:
            return self._unpacker.block()
        data = self._raw(BLOCK)
        if self._read != len(data):
            return data
        while 0 < len(data) < _SURE and (more := self._raw(BLOCK)):
            data += more
        packing = packing_of(data)
        if packing is None:
            self._refuse_foreign(data)
            return data
        return self._unpacks(data, packing)

    def _unpacks(self, beginning: bytes, packing: Packing) -> bytes:
        pending = [beginning]

        def read(size: int) -> bytes:
            data = pending.pop() if pending else self._raw(BLOCK)
            if len(data) > size:
                pending.append(data[size:])
            return data[:size]

        self._unpacker = Unpacker(read, packing)
        return self._unpacker.block()

    def _refuse_foreign(self, data: bytes) -> None:
        for magic, tool in _FOREIGN.items():
            if data.startswith(magic):
                raise LogError(self.path, "compressed in a way that is not read here", f"unpack it first with {tool}")

    def _opened(self) -> BinaryIO:
        if self._file is None:
            self._file = opened(self.path)
        return self._file

    def _raw(self, size: int) -> bytes:
        file = self._opened()
        read = getattr(file, "read1", file.read)
        try:
            data: bytes = read(size)
        except OSError as error:
            raise LogError(self.path, f"can't be read ({error.strerror})", "copy what can be read to another disk") from error
        self._read += len(data)
        self._meter.add(len(data))
        return data


def opened(path: str) -> BinaryIO:
    """Open a log for reading.

    Raises:
        LogError: It is missing, not ours to read, or no file.
    """
    try:
        return Path(path).open("rb", buffering=0)
    except OSError as error:
        raise log_error(path, error) from error


def log_error(path: str, error: OSError) -> LogError:
    """Put what the system says into words, with the remedy."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return LogError(path, "there is no such file", "check the path")
    if error.errno in (errno.EACCES, errno.EPERM):
        remedy = "let this user read it (Caddy writes its logs 0600: set `mode` in its log block), or run as one that may"
        return LogError(path, "this user may not read it", remedy)
    return LogError(path, f"can't be read ({error.strerror})", "check the path and the disk")


def _size(file: BinaryIO) -> int | None:
    found = os.fstat(file.fileno())
    return found.st_size if stat.S_ISREG(found.st_mode) else None
