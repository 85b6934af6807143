"""Acts out the follower cases: scripts of what happens to files, and of when the follower looks."""

from __future__ import annotations

import errno
import gzip
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailhealth.logs.checkpoint import CheckpointFile
from tailhealth.logs.disk import Entry, LocalDisk, LocalFile, Stat
from tailhealth.logs.follow import Follower
from tailhealth.logs.following import Begin, State
from tailhealth.logs.rolled import live_paths
from tailhealth.logs.source import Chunk

_WORDS = {"from": "source", "errno": "error"}
BETWEEN_LOOKS = 10.0
"""Seconds that pass before each poll: more than any pause between the faults of a case, less than the grace."""


@dataclass
class Clock:
    """A clock that is set by hand."""

    now: float = 1000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


@dataclass
class StagedDisk(LocalDisk):
    """The file system with wishes: inode numbers as a script has them, modes that bind even root, calls that fail."""

    clock: Callable[[], float] = field(default_factory=Clock)
    inodes: dict[int, int] = field(default_factory=dict)
    faults: dict[str, list[int]] = field(default_factory=dict)
    """Errors of the next calls, by name of the call."""
    opened: list[float] = field(default_factory=list)
    """When something was opened, or tried to be."""
    sizes: dict[str, list[int]] = field(default_factory=dict)
    """What the next calls of `stat` on a path give as size."""

    meanwhile: list[Callable[[], None]] = field(default_factory=list)
    """What happens right after the next listings of a folder, one by one."""

    def fail(self, call: str) -> None:
        """Raise the next error that is due for a call."""
        if pending := self.faults.get(call):
            number = pending.pop(0)
            raise OSError(number, os.strerror(number))

    def told(self, stat: Stat) -> Stat:
        """With the inode that the script wants."""
        return stat._replace(inode=self.inodes.get(stat.inode, stat.inode))

    def stat(self, path: str) -> Stat:
        """See `Disk`."""
        self.fail("stat")
        stat = self.told(super().stat(path))
        if sizes := self.sizes.get(path):
            return stat._replace(size=sizes.pop(0))
        return stat

    def open(self, path: str) -> LocalFile:
        """See `Disk`."""
        self.opened.append(self.clock())
        self.fail("open")
        if not Path(path).stat().st_mode & 0o444:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return StagedFile(os.open(path, os.O_RDONLY | os.O_NONBLOCK), self)

    def entries(self, folder: str) -> list[Entry]:
        """See `Disk`."""
        found = [Entry(name, self.inodes.get(inode, inode)) for name, inode in super().entries(folder)]
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return found


class StagedFile(LocalFile):
    """An open file of a `StagedDisk`."""

    def __init__(self, descriptor: int, disk: StagedDisk) -> None:
        super().__init__(descriptor)
        self._disk = disk

    def stat(self) -> Stat:
        """See `OpenFile`."""
        return self._disk.told(super().stat())

    def read_at(self, offset: int, size: int) -> bytes:
        """See `OpenFile`."""
        self._disk.fail("read")
        return super().read_at(offset, size)


class Stage:
    """A folder in which a script plays, and the follower that watches.

    Args:
        folder: An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Clock()
        self.disk = StagedDisk(clock=self.clock)
        self.chunks: list[Chunk] = []
        self.states: list[State] = []
        self.followed: set[str] = set()
        self._pattern = ""
        self._followers: dict[str, Follower] = {}
        self._files: dict[str, int] = {}
        self._running = True
        self._saved = CheckpointFile(folder.parent / "follow.json")
        self._state = self._saved.load().logs

    def play(self, steps: list[dict[str, Any]]) -> None:
        """Act out a script."""
        for step in steps:
            arguments = {_WORDS.get(word, word): value for word, value in step.items() if word != "op"}
            getattr(self, f"_{step['op']}")(**arguments)

    @property
    def lines(self) -> list[bytes]:
        """All lines that were delivered, in order."""
        return [line for chunk in self.chunks for line in chunk.data.split(b"\n") if line]

    @property
    def ids(self) -> list[int]:
        """The request numbers of the delivered lines, in order; every line must have one."""
        numbers = [re.search(rb'"uri":"/r/(\d+)"', line) for line in self.lines]
        assert all(numbers), "a line came torn"
        return [int(found[1]) for found in numbers if found]

    @property
    def repeated(self) -> list[tuple[str, int]]:
        """Places that were delivered more than once."""
        return [place for place, times in Counter(places(self.chunks)).items() if times > 1]

    @property
    def gaps(self) -> int:
        """How many gaps were named."""
        return sum(follower.counts.gaps for follower in self._followers.values())

    def close(self) -> None:
        """Close everything."""
        self._stop()
        for descriptor in self._files.values():
            os.close(descriptor)

    def _at(self, path: str) -> Path:
        return self.folder / path

    def _poll(self) -> None:
        assert self._running
        self.clock.now += BETWEEN_LOOKS
        paths = live_paths(str(self._at(self._pattern))) if self._pattern else [self._log()]
        for path in paths:
            if path not in self._followers:
                self._followers[path] = Follower(
                    path, checkpoint=self._state.get(path), start=Begin(), disk=self.disk, clock=self.clock
                )
        self.followed |= set(paths)
        for follower in self._followers.values():
            self.chunks += follower.poll()
            self.states.append(follower.status.state)

    def _log(self) -> str:
        return str(self._at(self.path))

    path = "access.log"

    def _glob(self, pattern: str) -> None:
        self._pattern = pattern

    def _checkpoint(self) -> None:
        self._saved.save({path: follower.checkpoint() for path, follower in self._followers.items()})

    def _stop(self) -> None:
        self._running = False
        for follower in self._followers.values():
            follower.close()

    def _start(self) -> None:
        self._running = True
        self._state = self._saved.load().logs
        self._followers = {}

    def _create(self, path: str, mode: str = "0644", inode: int | None = None) -> None:
        self._at(path).touch(exist_ok=False)
        self._at(path).chmod(int(mode, 8))
        if inode is not None:
            self.disk.inodes[self._at(path).stat().st_ino] = inode

    def _append(self, path: str, text: str) -> None:
        with self._at(path).open("ab") as file:
            file.write(text.encode())

    def _open(self, fd: str, path: str, mode: str) -> None:
        assert mode == "append"
        self._files[fd] = os.open(self._at(path), os.O_WRONLY | os.O_APPEND)

    def _write(self, fd: str, text: str) -> None:
        os.write(self._files[fd], text.encode())

    def _rename(self, source: str, to: str) -> None:
        self._at(source).rename(self._at(to))

    def _copy(self, source: str, to: str) -> None:
        shutil.copyfile(self._at(source), self._at(to))

    def _truncate(self, path: str, size: int) -> None:
        os.truncate(self._at(path), size)

    def _unlink(self, path: str) -> None:
        self._at(path).unlink()

    def _symlink(self, path: str, target: str, *, replace: bool = False) -> None:
        if replace:
            self._at(path).unlink()
        self._at(path).symlink_to(target)

    def _chmod(self, path: str, mode: str) -> None:
        self._at(path).chmod(int(mode, 8))

    def _mkdir(self, path: str) -> None:
        self._at(path).mkdir()

    def _rmtree(self, path: str) -> None:
        shutil.rmtree(self._at(path))

    def _gzip(self, path: str) -> None:
        plain = self._at(path)
        with gzip.open(f"{plain}.gz", "wb") as packed:
            packed.write(plain.read_bytes())
        plain.unlink()

    def _fault(self, call: str, error: str, times: int) -> None:
        self.disk.faults[call] = [getattr(errno, error)] * times


def places(chunks: list[Chunk]) -> list[tuple[str, int]]:
    """(fingerprint of the generation, offset) of every delivered line."""
    found = []
    for chunk in chunks:
        offset = chunk.offset
        for line in chunk.data.splitlines(keepends=True):
            found.append((chunk.file.fingerprint, offset))
            offset += len(line)
    return found
