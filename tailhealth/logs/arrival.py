"""Laying out what is to be read, and in which order, whenever a log is not the file that it was at the last look."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tailhealth.logs.disk import Disk, OpenFile, Stat
from tailhealth.logs.family import Family, Member, oldest_first
from tailhealth.logs.generation import HEAD_BYTES, Position, digest, head_of
from tailhealth.logs.source import PackedSource, PlainSource, Source

MODIFIED_SLACK = 2.0
"""A generation between the last one read and the present one was written after the former: its time of change may be this
much earlier, in seconds, since file systems round."""
FINISHED = 64
"""How many generations that were read to their end are remembered with their position."""
KNOWN = 1000
"""How many fingerprints of older generations are remembered."""


class MovedError(Exception):
    """A generation changed its name between being listed and being opened: look again."""


class Opened(NamedTuple):
    """The file that the log's path leads to, open."""

    file: OpenFile
    stat: Stat
    path: str
    """Links followed."""
    fingerprint: str

    @property
    def inode(self) -> tuple[int, int]:
        """Device and inode."""
        return self.stat.device, self.stat.inode


def opened_as(file: OpenFile, path: str) -> Opened:
    """Describe an open file by its own descriptor. Raises OSError."""
    return Opened(file, file.stat(), path, digest(head_of(file.read_at(0, HEAD_BYTES))))


@dataclass(slots=True)
class Memory:
    """Which generations are done with."""

    finished: dict[str, Position] = field(default_factory=dict)
    """By fingerprint, the latest last."""
    known: dict[str, None] = field(default_factory=dict)
    """Fingerprints of generations that were there before we began, or were read."""

    def finish(self, position: Position) -> None:
        """A generation was read to its end."""
        if not position.fingerprint:
            return
        self.finished.pop(position.fingerprint, None)
        self.finished[position.fingerprint] = position
        while len(self.finished) > FINISHED:
            del self.finished[next(iter(self.finished))]
        self.know([position.fingerprint])

    def know(self, fingerprints: Iterable[str]) -> None:
        """These are not to be read any more."""
        for fingerprint in fingerprints:
            self.known.pop(fingerprint, None)
            self.known[fingerprint] = None
        while len(self.known) > KNOWN:
            del self.known[next(iter(self.known))]


class Layout(NamedTuple):
    """What to read from now on."""

    older: list[Source]
    """Found again or found between, from the oldest to the newest."""
    current: PlainSource | None
    missing: list[Position]
    """Generations that are nowhere to be found: what was written to them after these positions is lost."""


class Arrival:
    """One attempt at laying out what to read. Opens files; if anything raises, it closes them again.

    Args:
        disk: The file system.
        family: Finds the generations beside the log.
        memory: Which generations are done with.
        max_line: See `LineCutter`.
    """

    def __init__(self, disk: Disk, family: Family, memory: Memory, max_line: int) -> None:
        self._disk = disk
        self._family = family
        self._memory = memory
        self._max_line = max_line
        self._taken: list[Source] = []

    def lay_out(self, opened: Opened | None, lost: list[Position], kept: list[Source], offset: int = 0) -> Layout:
        """Find `lost` generations again, and those between what was read and the file that is `opened` now.

        Args:
            opened: The file at the log's path; None while there is none. Becomes the layout's current source.
            lost: Positions in generations that are no longer open, from the oldest to the newest.
            kept: Sources that stay as they are.
            offset: Where to begin in the `opened` file if it is none of those; a line start.

        Raises:
            MovedError: Files moved meanwhile.
            OSError: A file could not be read.
        """
        self._taken = []
        try:
            return self._laid_out(opened, lost, kept, offset)
        except (MovedError, OSError):
            for source in self._taken:
                if opened is None or not isinstance(source, PlainSource) or source.opened is not opened.file:
                    source.close()
            raise

    def _laid_out(self, opened: Opened | None, lost: list[Position], kept: list[Source], offset: int) -> Layout:
        members = self._family.members([*lost, *(source.position for source in kept)])
        current = None
        missing: list[Position] = []
        for position in lost:
            if current is None and opened is not None and self._is_same(opened, position):
                current = self._plain(opened, position)
                if current is not None:
                    continue
            if not self._found_again(position, members):
                missing.append(position)
        self._between(members, opened, lost, kept)
        older = [source for source in self._taken if source is not current]
        if opened is not None and current is None:
            current = self._returned(opened) or self._at(opened, offset)
        self._memory.know(member.fingerprint for member in members)
        return Layout(older, current, missing)

    def _is_same(self, opened: Opened, position: Position) -> bool:
        if position.fingerprint:
            return opened.fingerprint == position.fingerprint
        return opened.inode == (position.device, position.inode)

    def _at(self, opened: Opened, offset: int) -> PlainSource:
        source = PlainSource(opened.file, opened.stat, opened.path, offset, self._max_line)
        self._taken.append(source)
        return source

    def _plain(self, opened: Opened, position: Position) -> PlainSource | None:
        """Read on in a file if the bytes before the position are still those that were read."""
        size = position.context_size
        context = opened.file.read_at(position.offset - size, size)
        if len(context) != size or digest(context) != position.context:
            return None
        return self._at(opened, position.offset)

    def _returned(self, opened: Opened) -> PlainSource | None:
        """The log's path leads to a generation that was read before: somebody moved it back."""
        position = self._memory.finished.get(opened.fingerprint)
        return None if position is None else self._plain(opened, position)

    def _found_again(self, position: Position, members: list[Member]) -> bool:
        inode = (position.device, position.inode)
        likely = [
            member
            for member in members
            if (member.fingerprint == position.fingerprint if position.fingerprint else member.inode == inode)
        ]
        likely.sort(key=lambda member: (member.inode != inode, member.packing is not None, member.path))
        return any(self._reads_on(member, position) for member in likely)

    def _reads_on(self, member: Member, position: Position) -> bool:
        opened = self._open(member)
        if opened is None:
            return False
        if member.packing is not None:
            # Whether the bytes before the position fit shows when they are unpacked.
            start = position._replace(path=member.path, modified=member.stat.modified)
            self._taken.append(PackedSource(opened.file, member.packing, start, self._max_line))
            return True
        try:
            source = self._plain(opened, position)
        except OSError:
            opened.file.close()
            raise
        if source is None:
            opened.file.close()
        return source is not None

    def _between(self, members: list[Member], opened: Opened | None, lost: list[Position], kept: list[Source]) -> None:
        """Open the generations that came and went between two looks, and those that grew after we had left them."""
        reading = [*kept, *self._taken]
        inodes = {(source.file.device, source.file.inode) for source in reading}
        prints = {source.file.fingerprint for source in reading} | {position.fingerprint for position in lost}
        if opened is not None:
            inodes.add(opened.inode)
            prints.add(opened.fingerprint)
        times = [position.modified for position in (*lost, *(source.position for source in kept))]
        since = max(times, default=0.0) - MODIFIED_SLACK
        for member in oldest_first(members):
            if member.inode in inodes or member.fingerprint in prints:
                continue
            done = self._memory.finished.get(member.fingerprint)
            if done is not None and member.packing is None and member.stat.size > done.offset:
                self._reads_on(member, done)
            elif done is None and member.fingerprint not in self._memory.known and member.stat.modified >= since:
                self._begin(member, members)
                prints.add(member.fingerprint)

    def _begin(self, member: Member, members: list[Member]) -> None:
        same = [other for other in members if other.fingerprint == member.fingerprint]
        best = min(same, key=lambda other: (other.packing is not None, other.path))
        start = Position(best.stat.device, best.stat.inode, best.fingerprint, "", 0, best.stat.modified, best.path)
        self._reads_on(best, start)

    def _open(self, member: Member) -> Opened | None:
        try:
            file = self._disk.open(member.path)
        except FileNotFoundError as error:
            raise MovedError(member.path) from error
        except PermissionError:
            return None
        try:
            opened = opened_as(file, member.path)
        except OSError:
            file.close()
            raise
        if opened.inode != member.inode:
            file.close()
            raise MovedError(member.path)
        return opened
