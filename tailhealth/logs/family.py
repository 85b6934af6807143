"""The generations of a log that lie in its folder: renamed, numbered, stamped, copied, compressed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import PurePath
from typing import NamedTuple

from tailhealth.logs.disk import Disk, Entry, OpenFile, Stat
from tailhealth.logs.generation import HEAD_BYTES, Position, digest, head_of
from tailhealth.logs.packed import MAGIC_BYTES, Packing, Unpacker, packing_of
from tailhealth.logs.rolled import age_order, is_rolled, live_name

MAX_MEMBERS = 2000
"""Of a folder with more generations than this, the newest by time of change are looked at."""
_TRIES = 5


class MovedError(Exception):
    """A generation changed its name between being listed and being opened: look again."""


class Member(NamedTuple):
    """One earlier generation."""

    path: str
    stat: Stat
    fingerprint: str
    """Empty for a file without content, or a compressed one whose beginning can't be read."""
    packing: Packing | None

    @property
    def inode(self) -> tuple[int, int]:
        """Device and inode."""
        return self.stat.device, self.stat.inode


class Family:
    """Finds the generations of one log beside it. Remembers what it has looked into.

    Args:
        disk: The file system.
        path: The log's own path.
    """

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path
        self._prints: dict[tuple[int, int, int, float], tuple[str, Packing | None]] = {}

    def members(self, positions: Iterable[Position] = ()) -> list[Member]:
        """List the generations, the log's own path left out.

        A file that holds one of `positions` is among them whatever its name, as long as it lies in a folder where the log
        lies or lay.

        Raises:
            MovedError: Names change faster than they can be looked at.
            OSError: A folder can't be listed, or a file can't be read for another reason than that it is not ours to read.
        """
        positions = list(positions)
        gone: set[str] = set()
        for _ in range(_TRIES):
            members, missing = self._members(positions)
            if missing <= gone:
                # None, or links that lead nowhere.
                return members
            # Renamed or compressed since the folder was listed: under its new name it would be missed.
            gone = missing
        raise MovedError(self._path)

    def _members(self, positions: list[Position]) -> tuple[list[Member], set[str]]:
        """The generations, and names that were listed and led nowhere when they were looked at."""
        found: dict[tuple[int, int], tuple[str, Stat]] = {}
        missing: set[str] = set()
        for path in self._paths(positions):
            with suppress(PermissionError):
                try:
                    stat = self._disk.stat(path)
                except FileNotFoundError:
                    missing.add(path)
                    continue
                if stat.regular:
                    found.setdefault((stat.device, stat.inode), (path, stat))
        newest = sorted(found.values(), key=lambda item: item[1].modified)[-MAX_MEMBERS:]
        before, self._prints = self._prints, {}
        members = []
        for path, stat in newest:
            key = (stat.device, stat.inode, stat.size, stat.modified)
            with suppress(PermissionError):
                try:
                    told = before.get(key) or self._told(path)
                except FileNotFoundError:
                    missing.add(path)
                    continue
                self._prints[key] = told
                members.append(Member(path, stat, *told))
        return members, missing

    def _paths(self, positions: list[Position]) -> list[str]:
        real = self._disk.resolve(self._path)
        logs = dict.fromkeys([self._path, real])
        for position in positions:
            pure = PurePath(position.path)
            logs.setdefault(str(pure.with_name(live_name(pure.name))))
        inodes = {position.inode for position in positions}
        paths: dict[str, None] = {}
        for folder in dict.fromkeys(str(PurePath(log).parent) for log in logs):
            lives = [PurePath(log).name for log in logs if str(PurePath(log).parent) == folder]
            for entry in self._entries(folder):
                path = str(PurePath(folder) / entry.name)
                rolled = any(is_rolled(entry.name, live) for live in lives)
                # A name that was ours may be another log by now; only the content tells, so look at it too.
                held = entry.inode in inodes or any(path == position.path for position in positions)
                if (rolled or held) and path not in (self._path, real):
                    paths.setdefault(path)
        return list(paths)

    def _entries(self, folder: str) -> list[Entry]:
        try:
            return self._disk.entries(folder)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []

    def _told(self, path: str) -> tuple[str, Packing | None]:
        opened = self._disk.open(path)
        try:
            beginning, packing = unpacked_beginning(opened)
        finally:
            opened.close()
        # Nobody writes to a generation that was rolled away for long, so that even one without a newline has a name.
        return digest(head_of(beginning) or beginning), packing


def unpacked_beginning(opened: OpenFile) -> tuple[bytes, Packing | None]:
    """The first bytes of a file's content, and how the file is compressed. Raises OSError."""
    beginning = opened.read_at(0, HEAD_BYTES)
    packing = packing_of(beginning)
    if packing is None:
        return beginning, None
    content = b""
    for block in unpacked_blocks(opened):
        content += block
        if len(content) >= HEAD_BYTES or b"\n" in content:
            break
    return content[:HEAD_BYTES], packing


def unpacked_blocks(opened: OpenFile) -> Iterator[bytes]:
    """The content of a compressed file, as far as it can be read; none of one that is not compressed. Raises OSError."""
    packing = packing_of(opened.read_at(0, MAGIC_BYTES))
    if packing is not None:
        unpacker = Unpacker(_Cursor(opened).read, packing)
        while block := unpacker.block():
            yield block


class _Cursor:
    """Reads an open file front to back."""

    def __init__(self, opened: OpenFile) -> None:
        self._opened = opened
        self._at = 0

    def read(self, size: int) -> bytes:
        data = self._opened.read_at(self._at, size)
        self._at += len(data)
        return data


def oldest_first(members: Iterable[Member]) -> list[Member]:
    """Sort generations by age: by what their names say, or else by their last change."""
    members = list(members)
    names = age_order({PurePath(member.path).name for member in members})
    if names is None:
        return sorted(members, key=lambda member: (member.stat.modified, member.path))
    return sorted(members, key=lambda member: names.index(PurePath(member.path).name))
