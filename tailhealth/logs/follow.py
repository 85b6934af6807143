"""Following a live log through every rotation: each line exactly once, in order, or a gap with a name.

The path is looked at anew at every poll; nothing depends on an event having come. The descriptor in use stays in use: after a
rename it is read until it has been quiet for a while, since nginx goes on writing to it until it reopens its logs. A file
is known by its content (see `generation`), so that truncation, reused inodes, copies and compressed copies are told apart.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Sequence

from tailhealth.logs.arrival import Arrival, Layout, Scene
from tailhealth.logs.beginning import starting_point
from tailhealth.logs.checkpoint import Checkpoint
from tailhealth.logs.disk import Disk, LocalDisk, OpenFile, Stat
from tailhealth.logs.family import Family, MovedError
from tailhealth.logs.following import Counts, End, Gap, GapKind, Start, State, Status
from tailhealth.logs.lines import MAX_LINE
from tailhealth.logs.memory import Memory
from tailhealth.logs.opened import opened_as
from tailhealth.logs.packed import MAGIC_BYTES, packing_of
from tailhealth.logs.source import Chunk, Look
from tailhealth.logs.sources import Sources

GRACE = 30.0
"""Seconds of quiet after which a generation that was rolled away is taken as finished."""
BUDGET = 1024 * 1024
"""Bytes that one poll reads at most, roughly: all that its lines become is in memory at once."""
_ABSENT = (errno.ENOENT, errno.ENOTDIR)
# Owner and mode of a new file are often set right after its creation; a stale handle is not better for being asked again.
_PAUSES = {errno.EACCES: (0.1, 5.0), errno.EPERM: (0.1, 5.0)}
_OTHER_PAUSES = (1.0, 30.0)
_SEARCH_EVERY = 1.0
_TRIES = 5
_ROUNDS = 8


class Follower:
    """Reads one log as it is written.

    Args:
        path: The log; may be a link, may not exist yet, along with its folder.
        checkpoint: Where an earlier follower left off; goes before `start`.
        start: Where to begin without a checkpoint.
        max_line: Longest line in bytes; longer ones are dropped and counted.
        budget: How many bytes one poll reads, roughly.
        grace: Seconds of quiet after which a generation that was rolled away is finished.
        disk: The file system; a test may give one that misbehaves.
        clock: Seconds of a clock that never jumps, for pauses and grace.
    """

    def __init__(
        self,
        path: str,
        *,
        checkpoint: Checkpoint | None = None,
        start: Start | None = None,
        max_line: int = MAX_LINE,
        budget: int = BUDGET,
        grace: float = GRACE,
        disk: Disk | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = path
        self.more = False
        """The last poll stopped before the end of what is there: poll again without waiting."""
        self._disk = disk or LocalDisk()
        self._clock = clock
        self._budget = budget
        self._max_line = max_line
        self._start: Start = End() if start is None else start
        self._family = Family(self._disk, path)
        self._memory = Memory()
        self._sources = Sources(self._memory, grace, clock)
        self._begun = checkpoint is not None and checkpoint.begun
        self._first: Stat | None = None
        self._looked = False
        self._retry_at = self._searched_at = clock() - _SEARCH_EVERY
        self._pause = 0.0
        self._status = Status(State.WAITING, clock())
        if checkpoint is not None and checkpoint.begun:
            self._sources.lost = dict.fromkeys(checkpoint.positions, GapKind.GONE)
            self._memory.know(checkpoint.known)
            for position in checkpoint.finished:
                self._memory.finish(position)

    @property
    def status(self) -> Status:
        """Whether the log can be read, since when, and why not."""
        return self._status

    @property
    def counts(self) -> Counts:
        """What happened so far."""
        return self._sources.counts

    @property
    def gaps(self) -> Sequence[Gap]:
        """The latest gaps, at most a hundred; `counts.gaps` counts all."""
        return self._sources.gaps

    @property
    def behind(self) -> int:
        """How many bytes of the open files were not delivered yet."""
        return self._sources.behind()

    def poll(self) -> list[Chunk]:
        """Look once and return what is new, in order; at most about `budget` bytes. Never waits and never raises OSError.

        Between two calls nothing is read, so that `checkpoint` always means "all that was returned so far".
        """
        left = self._budget
        for _ in range(_ROUNDS):
            try:
                # Where it is not clear yet what comes first, nothing is read: the order would be lost.
                look, spent = self._sources.read(left) if self._find() else (Look.QUIET, 0)
            except OSError as error:
                self._sources.let_go()
                self._trouble(error)
                look, spent = Look.QUIET, 0
            left -= spent
            self.more = look is not Look.QUIET
            if look is not Look.TRUNCATED or left <= 0:
                break
        self._sources.retire()
        return self._sources.take()

    def checkpoint(self) -> Checkpoint:
        """Where to go on after a restart: positions in the open files themselves, always at a line start."""
        if not self._begun:
            return Checkpoint(begun=False)
        positions = tuple(self._sources.positions)
        return Checkpoint(positions, tuple(self._memory.finished.values()), tuple(self._memory.known))

    def close(self) -> None:
        """Let all files go. The checkpoint stays what it was."""
        self._sources.let_go()

    def _find(self) -> bool:
        """See whether the path still leads to the file that is being read. Returns whether what is open may be read on."""
        if self._clock() < self._retry_at:
            return True
        try:
            stat = self._disk.stat(self.path)
        except OSError as error:
            self._trouble(error)
            absent = error.errno in _ABSENT
            return not absent or (self._surveyed(None) and self._search())
        if not self._surveyed(stat):
            return False
        if not stat.regular:
            self._say(State.UNREADABLE, "not a regular file; a pipe is read from standard input, with the path -")
            return True
        here = self._sources.at((stat.device, stat.inode))
        if here is None:
            self._arrive()
            return True
        if here is not self._sources.current:
            # Moved back, or the attributes that we were given are old ones: its position is known, whichever it is.
            self._sources.make_current(here)
        self._say(State.FOLLOWING)
        # Lines may have been copied away and truncated: that needn't leave a trace in the file itself.
        unclear = self._sources.lost or (not here.file.fingerprint and stat.modified != here.modified)
        if unclear and not self._look_around(present=True):
            return False
        here.refresh(stat)
        return True

    def _surveyed(self, stat: Stat | None) -> bool:
        """What lies beside the log at the very first look is old; a file that isn't there yet will be new."""
        if not self._looked:
            try:
                members = [] if self._begun else self._family.members()
            except MovedError:
                return False
            self._memory.know(member.fingerprint for member in members)
            self._looked, self._first = True, stat
            self._begun = self._begun or stat is None
        return True

    def _arrive(self) -> None:
        for _ in range(_TRIES):
            try:
                file = self._disk.open(self.path)
            except OSError as error:
                self._trouble(error)
                return
            try:
                layout = self._laid_out(file)
            except MovedError:
                file.close()
            except OSError as error:
                file.close()
                self._trouble(error)
                return
            else:
                self._begun = True
                self._sources.settle(layout)
                self._say(State.FOLLOWING)
                return

    def _laid_out(self, file: OpenFile) -> Layout:
        if packing_of(file.read_at(0, MAGIC_BYTES)) is not None:
            raise OSError(errno.EINVAL, "compressed while it is written: only logs without gzip can be followed")
        opened = opened_as(file, self._disk.resolve(self.path))
        lost, offset = list(self._sources.lost), 0
        if not self._begun:
            lost, offset = starting_point(self._start, opened, self._first, self._family.members(), self._disk)
        arrival = Arrival(self._disk, self._family, self._memory, self._max_line)
        layout = arrival.lay_out(Scene(opened, lost, self._sources.open, offset))
        try:
            stat = self._disk.stat(self.path)
            moved = (stat.device, stat.inode) != opened.inode
        except FileNotFoundError:
            moved = True
        if moved:
            # Generations in the folder may be newer than the file that we hold: their order would be a guess.
            layout.close()
            raise MovedError(self.path)
        return layout

    def _search(self) -> bool:
        """There is no file at the path: what was lost, or was not seen yet, may lie in the folder."""
        current = self._sources.current
        stirred = current is not None and current.stirred()
        if stirred or (self._sources.lost and self._clock() - self._searched_at >= _SEARCH_EVERY):
            self._searched_at = self._clock()
            return self._look_around(present=False)
        return True

    def _look_around(self, *, present: bool) -> bool:
        """See what lies beside the log, without opening what is at its path, if there is something `present`.

        As long as there is nothing, what is not found may still come back with it: only later is it called lost.

        Returns:
            Whether the folder held still for long enough.

        Raises:
            OSError: It can't be looked into.
        """
        arrival = Arrival(self._disk, self._family, self._memory, self._max_line)
        for _ in range(_TRIES):
            try:
                layout = arrival.lay_out(Scene(None, list(self._sources.lost), self._sources.open, present=present))
            except MovedError:
                continue
            if layout.missing and not present:
                layout.close()
            else:
                self._sources.settle(layout)
            return True
        return False

    def _trouble(self, error: OSError) -> None:
        if error.errno in _ABSENT:
            self._say(State.WAITING, "there is no such file")
            return
        shortest, longest = _PAUSES.get(error.errno or 0, _OTHER_PAUSES)
        self._pause = min(max(shortest, 2 * self._pause), longest)
        self._retry_at = self._clock() + self._pause
        why = error.strerror or str(error)
        if error.errno == errno.EACCES:
            why += "; let the user that runs tailhealth read it (Caddy writes its logs 0600: set `mode` in its log block)"
        self._say(State.UNREADABLE, why)

    def _say(self, state: State, why: str = "") -> None:
        if state is not State.UNREADABLE:
            self._pause = 0.0
        if (state, why) != (self._status.state, self._status.why):
            since = self._status.since if state is self._status.state else self._clock()
            self._status = Status(state, since, why)
