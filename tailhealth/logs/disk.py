"""The few calls to the file system that following a log needs, behind a seam that a test can replace."""

from __future__ import annotations

import errno
import os
import stat as modes
from typing import NamedTuple, Protocol


class Stat(NamedTuple):
    """What the file system says about a file."""

    device: int
    inode: int
    size: int
    modified: float
    """Epoch seconds by the file system's clock, which need not be ours."""
    regular: bool


class Entry(NamedTuple):
    """A name in a folder and the inode that it stands for."""

    name: str
    inode: int


class OpenFile(Protocol):
    """A file that stays readable whatever happens to its name. Every method but `close` may raise OSError."""

    def stat(self) -> Stat:
        """Ask about the open file itself."""
        ...

    def read_at(self, offset: int, size: int) -> bytes:
        """Read up to `size` bytes from `offset`; fewer only at the end of the file."""
        ...

    def next_data(self, offset: int) -> int:
        """The first position from `offset` on that is not in a hole; `offset` itself where the system can't tell."""
        ...

    def close(self) -> None:
        """Let the file go."""
        ...


class Disk(Protocol):
    """Files by name. Every method but `resolve` may raise OSError."""

    def stat(self, path: str) -> Stat:
        """Ask about the file that `path` leads to, over links."""
        ...

    def open(self, path: str) -> OpenFile:
        """Open for reading; never waits, not even for the other end of a pipe."""
        ...

    def entries(self, folder: str) -> list[Entry]:
        """The names in a folder."""
        ...

    def resolve(self, path: str) -> str:
        """The path with all links followed, as far as they lead."""
        ...


def _stat(result: os.stat_result) -> Stat:
    return Stat(result.st_dev, result.st_ino, result.st_size, result.st_mtime, modes.S_ISREG(result.st_mode))


class LocalFile:
    """An open descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def stat(self) -> Stat:
        """See `OpenFile`."""
        return _stat(os.fstat(self._descriptor))

    def read_at(self, offset: int, size: int) -> bytes:
        """See `OpenFile`."""
        return os.pread(self._descriptor, size, offset)

    def next_data(self, offset: int) -> int:
        """See `OpenFile`."""
        try:
            return os.lseek(self._descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return max(offset, os.fstat(self._descriptor).st_size)
            return offset

    def close(self) -> None:
        """See `OpenFile`."""
        os.close(self._descriptor)


class LocalDisk:
    """The file system as it is."""

    def stat(self, path: str) -> Stat:
        """See `Disk`."""
        return _stat(os.stat(path))  # noqa: PTH116 - asked at every look, where a Path would cost more than the system's answer

    def open(self, path: str) -> LocalFile:
        """See `Disk`."""
        return LocalFile(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))

    def entries(self, folder: str) -> list[Entry]:
        """See `Disk`."""
        with os.scandir(folder or ".") as found:
            return [Entry(item.name, item.inode()) for item in found]

    def resolve(self, path: str) -> str:
        """See `Disk`."""
        return os.path.realpath(path)
