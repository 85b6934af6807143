"""The generations of a log that are open, read in order, each until it is finished."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress

from tailhealth.logs.arrival import Layout
from tailhealth.logs.following import Counts, Gap, GapKind
from tailhealth.logs.generation import FileId, Position
from tailhealth.logs.memory import Memory
from tailhealth.logs.source import Chunk, Look, Looked, PlainSource, Source

_MOST_OPEN = 32
_SURE_AFTER = 1.0
"""Seconds for which a file must look shorter than it was before that is believed."""


class Sources:
    """What a follower has open, what it has lost, and what it has to tell.

    Args:
        memory: Which generations are done with.
        grace: Seconds of quiet after which a generation that was rolled away is finished.
        clock: Seconds of a clock that never jumps.
    """

    def __init__(self, memory: Memory, grace: float, clock: Callable[[], float]) -> None:
        self.open: list[Source] = []
        """From the oldest to the newest."""
        self.current: PlainSource | None = None
        """The one at the log's path, or that was there last."""
        self.lost: dict[Position, GapKind] = {}
        """Generations to be found again, from the oldest to the newest, and what to call the gap if they are not."""
        self.counts = Counts()
        self.gaps: deque[Gap] = deque(maxlen=100)
        self._memory = memory
        self._grace = grace
        self._clock = clock
        self._quiet: dict[Source, float] = {}
        self._shrunk: tuple[Source, float] | None = None
        self._chunks: list[Chunk] = []

    @property
    def positions(self) -> list[Position]:
        """How far everything was read, from the oldest to the newest."""
        return [*self.lost, *(source.position for source in self.open)]

    def take(self) -> list[Chunk]:
        """Hand over what was read."""
        chunks, self._chunks = self._chunks, []
        return chunks

    def behind(self) -> int:
        """How many bytes of the open plain files were not read yet."""
        total = 0
        for source in self.open:
            if isinstance(source, PlainSource):
                with suppress(OSError):  # a size that can't be had now is no part of a hint
                    total += max(0, source.opened.stat().size - source.cutter.offset)
        return total

    def at(self, inode: tuple[int, int]) -> PlainSource | None:
        """The open plain file with this device and inode."""
        for source in reversed(self.open):
            if isinstance(source, PlainSource) and (source.file.device, source.file.inode) == inode:
                return source
        return None

    def make_current(self, source: PlainSource) -> None:
        """The log's path leads to this one, which is open."""
        self.current = source
        self.open.remove(source)
        self.open.append(source)

    def settle(self, layout: Layout) -> None:
        """Take over what was found; what was not is a gap."""
        for position in layout.missing:
            self._gap(self.lost.get(position, GapKind.GONE), position)
            self._memory.finish(position)
            file = FileId(position.device, position.inode, position.fingerprint)
            self._chunks.append(Chunk(file, position.path, b"", position.offset, final=True))
        self._memory.know(layout.known)
        self.lost = {}
        self.open = layout.sources
        if layout.current is not None:
            if self.current is not None:
                self.counts.rotations += 1
                # What was quiet before it was replaced may have been written to since. Those before it go on being quiet: else
                # a log that is rolled more often than once a `grace` would keep all its generations open.
                self._quiet.pop(self.current, None)
            self.current = layout.current

    def let_go(self) -> None:
        """Close everything, to find it again later."""
        for source in self.open:
            self.lost[source.position] = GapKind.GONE
            with suppress(OSError):  # a handle that went stale can't be closed properly either
                source.close()
        self.open, self.current, self._quiet = [], None, {}

    def read(self, budget: int) -> tuple[Look, int]:
        """Read on in every open generation, the older ones first.

        Returns:
            MORE: the budget is used up. TRUNCATED: something was lost, to be found before reading on. QUIET: all is read.
            And the number of bytes read.

        Raises:
            OSError: A file can't be read any more; `let_go` is due.
        """
        spent = 0
        for source in list(self.open):
            looked = self._look(source, budget - spent)
            spent += looked.spent
            if looked.look is Look.MORE:
                return Look.MORE, spent
            if looked.look is Look.TRUNCATED:
                self._truncated(source)
                return Look.TRUNCATED, spent
            if looked.look is Look.QUIET:
                if looked.spent or source not in self._quiet:
                    self._quiet[source] = self._clock()
            elif looked.look is Look.SHRUNK:
                self._cut_back(source)
            else:
                self._ended(source, looked.look)
        return Look.QUIET, spent

    def retire(self) -> None:
        """Finish generations that were rolled away and have been quiet for long, or are too many."""
        older = [source for source in self.open if source is not self.current and source in self._quiet]
        latest = self._clock() - self._grace
        for number, source in enumerate(older):
            replaced = self.current is not None and self._quiet[source] <= latest
            if replaced or len(older) - number > _MOST_OPEN:
                self._finish(source)

    def _look(self, source: Source, budget: int) -> Looked:
        cutter = source.cutter
        oversized, holes = cutter.oversized, cutter.holes
        looked = source.look(budget)
        self.counts.oversized += cutter.oversized - oversized
        self.counts.holes += cutter.holes - holes
        self._chunks += looked.chunks
        if looked.look is not Look.SHRUNK and self._shrunk is not None and self._shrunk[0] is source:
            self._shrunk = None
        return looked

    def _truncated(self, source: Source) -> None:
        self.counts.truncations += 1
        self.lost[source.position] = GapKind.TRUNCATED
        self._remove(source)

    def _cut_back(self, source: Source) -> None:
        """Believe only after a while that a file is shorter: attributes of network file systems go backwards at times."""
        if self._shrunk is None or self._shrunk[0] is not source:
            self._shrunk = source, self._clock()
            return
        if self._clock() - self._shrunk[1] < _SURE_AFTER or not isinstance(source, PlainSource):
            return
        size = source.opened.stat().size
        if size < source.cutter.position:
            self.counts.truncations += 1
            source.go_to(size)
        self._shrunk = None

    def _ended(self, source: Source, look: Look) -> None:
        if look is Look.OTHER:
            self._gap(GapKind.OTHER, source.position)
        elif source.broken is not None:
            self._gap(GapKind.BROKEN, source.position)
        self._finish(source)

    def _finish(self, source: Source) -> None:
        chunk = source.finish()
        # What a damaged archive ends with is no line that anybody wrote.
        self._chunks.append(chunk._replace(data=b"") if source.broken else chunk)
        self._memory.finish(source.position)
        self._remove(source)

    def _remove(self, source: Source) -> None:
        self.open.remove(source)
        self._quiet.pop(source, None)
        if source is self.current:
            self.current = None
        with suppress(OSError):  # as in `let_go`
            source.close()

    def _gap(self, kind: GapKind, position: Position) -> None:
        self.counts.gaps += 1
        self.gaps.append(Gap(kind, position.path, position.fingerprint, position.offset))
