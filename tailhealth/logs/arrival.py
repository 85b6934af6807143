"""Laying out what is to be read, and in which order, whenever a log is not the file that it was at the last look."""

from __future__ import annotations

from typing import NamedTuple

from tailhealth.logs.disk import Disk
from tailhealth.logs.family import Family, Member, MovedError, oldest_first
from tailhealth.logs.generation import Position, digest
from tailhealth.logs.memory import Memory
from tailhealth.logs.opened import Opened, opened_as
from tailhealth.logs.packed_source import PackedSource
from tailhealth.logs.source import PlainSource, Source

MODIFIED_SLACK = 300.0
"""A generation that was missed was written after the last one read, so its time of change can hardly be earlier than that of
the last by this many seconds. An archive that somebody unpacks beside the log is told by it."""


def name_of(source: Source) -> str:
    """The fingerprint that the generation would have if it were rolled away now. Raises OSError."""
    return source.named() if isinstance(source, PlainSource) else source.file.fingerprint


class Scene(NamedTuple):
    """What is known when a log is looked at anew."""

    opened: Opened | None
    """The file at the log's path, just opened; None: there is none, or it is open already. Becomes the newest source."""
    lost: list[Position]
    """Positions in generations that are no longer open, from the oldest to the newest."""
    kept: list[Source]
    """What is open and stays so, from the oldest to the newest."""
    offset: int = 0
    """Where to begin in the `opened` file if it is nothing that was read before; a line start."""
    present: bool = False
    """The last one `kept` is what the log's path leads to."""


class Layout(NamedTuple):
    """What to read from now on."""

    sources: list[Source]
    """What was open already, what was found again and what was found between, from the oldest to the newest."""
    current: PlainSource | None
    """The last of them, if a file was opened at the log's path."""
    found: list[Source]
    """Those that were opened for this layout, `current` left out."""
    missing: list[Position]
    """Generations that are nowhere to be found: what was written to them after these positions is lost."""
    known: list[str]
    """Fingerprints that need not be looked for again once the layout is taken over, and not before."""

    def close(self) -> None:
        """The layout is not wanted: close what was found."""
        for source in self.found:
            source.close()


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
        self._claimed: set[str] = set()

    def lay_out(self, scene: Scene) -> Layout:
        """Find what was lost, and what came and went between what was read and what is at the log's path now.

        Raises:
            MovedError: Files moved meanwhile.
            OSError: A file could not be read.
        """
        self._taken = []
        self._claimed = {position.fingerprint for position in scene.lost if position.fingerprint}
        try:
            return self._laid_out(scene)
        except (MovedError, OSError):
            for source in self._taken:
                if scene.opened is None or not isinstance(source, PlainSource) or source.opened is not scene.opened.file:
                    source.close()
            raise

    def _laid_out(self, scene: Scene) -> Layout:
        names = [name_of(source) for source in scene.kept]
        members = self._family.members([*scene.lost, *(source.position for source in scene.kept)])
        current, missing = self._lost_again(scene, members)
        found = len(self._taken)
        self._between(scene, members, names)
        # A generation that was empty when we looked last can't be told from one that came since, or from an empty archive:
        # one of those will be it.
        likely = len(self._taken) - found + sum(member.packing is not None and not member.fingerprint for member in members)
        unnamed = [position for position in missing if not position.fingerprint][:likely]
        older = [source for source in self._taken if source is not current]
        if scene.opened is not None and current is None:
            current = self._returned(scene.opened) or self._at(scene.opened, scene.offset)
        # What is open is not known yet: it may prove to be another generation by now, when it is read.
        inodes = _inodes([*scene.kept, *self._taken])
        known = [member.fingerprint for member in members if member.inode not in inodes]
        return Layout(
            [*_by_age(scene, older, members, names), *([] if current is None else [current])],
            current,
            older,
            [position for position in missing if position not in unnamed],
            known,
        )

    def _lost_again(self, scene: Scene, members: list[Member]) -> tuple[PlainSource | None, list[Position]]:
        """Open what was lost. Returns the one that is at the log's path, if it is one of them, and what is nowhere."""
        current = None
        missing = []
        for position in scene.lost:
            if current is None and scene.opened is not None and self._is_same(scene.opened, position):
                current = self._plain(scene.opened, position)
                if current is not None:
                    continue
            if not self._found_again(position, members):
                missing.append(position)
        return current, missing

    def _is_same(self, opened: Opened, position: Position) -> bool:
        if position.fingerprint:
            return opened.fingerprint == position.fingerprint
        return opened.inode == (position.device, position.inode) and self._is_free(opened.fingerprint)

    def _is_free(self, fingerprint: str) -> bool:
        """No generation that we know has this name: a file that took over an inode is not the one that had it before."""
        return fingerprint not in self._claimed and fingerprint not in self._memory.known

    def _at(self, opened: Opened, offset: int) -> PlainSource:
        source = PlainSource(opened, offset, self._max_line)
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
        likely = [member for member in members if position.fingerprint and member.fingerprint == position.fingerprint]
        if not position.fingerprint:
            likely = [
                member
                for member in members
                if member.inode == inode and member.packing is None and self._is_free(member.fingerprint)
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

    def _between(self, scene: Scene, members: list[Member], names: list[str]) -> None:
        """Open the generations that came and went between two looks, and those that grew after we had left them.

        `names` are those that the open files had before the folder was listed: what was copied out of them later is found
        when they turn out to be truncated.
        """
        reading = [*scene.kept, *self._taken]
        inodes = _inodes(reading)
        prints = {
            *names,
            *(source.file.fingerprint for source in self._taken),
            *(position.fingerprint for position in scene.lost),
        }
        if scene.opened is not None:
            inodes.add(scene.opened.inode)
            prints.add(scene.opened.fingerprint)
        times = [position.modified for position in (*scene.lost, *(source.position for source in scene.kept))]
        since = max(times, default=0.0) - MODIFIED_SLACK
        for member in oldest_first(members):
            if not member.fingerprint or member.inode in inodes or member.fingerprint in prints:
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


def _inodes(sources: list[Source]) -> set[tuple[int, int]]:
    """The files that are open. A compressed copy bears the name of what it was made from, which may have been reused."""
    return {(source.file.device, source.file.inode) for source in sources if isinstance(source, PlainSource)}


def _by_age(scene: Scene, found: list[Source], members: list[Member], names: list[str]) -> list[Source]:
    """Put what was found among what is open: a copy may be older than the file that it was copied from (`copytruncate`)."""
    order = oldest_first(members)
    paths = {member.path: age for age, member in enumerate(order)}
    inodes = {member.inode: age for age, member in enumerate(order)}
    prints = {member.fingerprint: age for age, member in enumerate(order)}
    # What is open, and neither it nor a copy has a name any more, is old. Of one that was truncated the copy has its lines.
    ages = []
    for source, name in zip(scene.kept, names, strict=True):
        copied = prints.get(name or "none", -1)
        emptied = isinstance(source, PlainSource) and source.is_another()
        ages.append(copied if emptied else inodes.get((source.file.device, source.file.inode), copied))
    if scene.present:
        ages[-1] = len(order)
    sources: list[Source] = []
    left = sorted(found, key=lambda source: paths.get(source.path, -1))
    for source, age in zip(scene.kept, ages, strict=True):
        while left and paths.get(left[0].path, -1) < age:
            sources.append(left.pop(0))
        sources.append(source)
    return sources + left
