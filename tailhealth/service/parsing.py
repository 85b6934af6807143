"""How each line is read, one attempt after the other: what `parse` shows (DESIGN section 9)."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from tailhealth.config import Config
from tailhealth.core.join import Amended, Join
from tailhealth.core.judge import judge
from tailhealth.core.model import Attempt, End, Kind, Origin, Outcome
from tailhealth.core.order import Buffer, Entry, Event, one_by_one
from tailhealth.logs.detect import open_reader
from tailhealth.logs.history import History, open_history
from tailhealth.logs.reading import LineReader, Skip, Tally
from tailhealth.logs.stream import Progress
from tailhealth.logs.times import line_time
from tailhealth.service.inputs import last_change, log_rules
from tailhealth.service.pipeline import batches

KEPT_BLOCKS = 64
"""So many blocks of a file are remembered to number the lines of events that were held back."""
UNENDED = 10_000
"""So many requests whose end has not come are kept back; beyond that the oldest is shown as it is."""


class Parsed(NamedTuple):
    """One attempt as it was read."""

    attempt: Attempt
    outcome: Outcome
    path: str
    line: int | None
    """Number of its line in the file, from 1; None where lines were sorted and can't be counted."""


class Numbered(LineReader):
    """A reader that also counts its lines.

    Args:
        reader: Reads the lines.
        history: Tells how many lines were dropped so far because they are too long: they count as lines.
    """

    def __init__(self, reader: LineReader, history: History) -> None:
        self._reader = reader
        self._history = history
        self._dropped = 0
        self._blocks: deque[tuple[list[int], int]] = deque(maxlen=KEPT_BLOCKS)
        """Where the lines of recent blocks begin, and the number of the first of them."""
        self._next = 1
        self._end = 0
        self._is_sorted = False

    def read(self, block: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read whole lines; see `LineReader`."""
        self._is_sorted |= offset < self._end
        if offset > self._end:
            # What is missing here was dropped: lines that were too long, or a hole, which is no line.
            self._next += self._history.oversized - self._dropped
            self._dropped = self._history.oversized
        starts = _starts(block, offset)
        self._blocks.append((starts, self._next))
        self._next += len(starts)
        self._end = offset + len(block)
        return list(self._reader.feed(block, offset, now))

    def finish(self) -> list[Event]:
        """The file has ended: hand on what was held back."""
        return self._reader.finish()

    def line(self, offset: int) -> int | None:
        """Return the number of the line in which an offset lies; None where lines were sorted, or for one long gone."""
        if not self._is_sorted:
            for starts, first in reversed(self._blocks):
                if starts[0] <= offset:
                    return first + bisect_right(starts, offset) - 1
        return None


def _starts(block: bytes, offset: int) -> list[int]:
    starts, at = [offset], block.find(b"\n")
    while 0 <= at < len(block) - 1:
        starts.append(offset + at + 1)
        at = block.find(b"\n", at + 1)
    return starts


class Parsing:
    """Reads logs of the past and judges each attempt by itself, without windows.

    Args:
        config: How logs are read, and what counts as bad.
        paths: Files and folders; `-` is standard input.
        progress: Told of bytes read and bytes in all.

    Raises:
        LogError: A log can't be read.
    """

    def __init__(self, config: Config, paths: Sequence[str], *, progress: Progress | None = None) -> None:
        self.tally = Tally()
        self._config = config
        self._rules = config.settings().default.bad
        self._lateness = config.settings().lateness
        self._join = Join()
        self._readers: dict[int, Numbered] = {}
        self._unended: dict[tuple[int, int], Parsed] = {}
        self._shown = 0
        self.history = open_history(paths, time_of=line_time(log_rules(config.log_for(paths[0]))), progress=progress)

    @property
    def notes(self) -> list[str]:
        """Say what could not be read, in sentences."""
        return self.history.notes

    def attempts(self) -> Iterator[Parsed]:
        """Hand on each attempt once, when all that its lines tell is known.

        Raises:
            LogError: A log can't be read any more.
        """
        try:
            yield from self._joined(self._ordered(batches(self.history, self._open)))
        finally:
            self.history.close()
        self.tally.attempts = self._shown
        self.tally.duplicates += self._join.duplicates
        self.tally.lines += self.history.oversized
        if self.history.oversized:
            self.tally.skipped[Skip.OVERSIZED] += self.history.oversized

    def _open(self, file: int, path: str) -> LineReader:
        reader = open_reader(log_rules(self._config.log_for(path)), file, path, self.tally, last_change(path))
        self._readers[file] = Numbered(reader, self.history)
        return self._readers[file]

    def _ordered(self, groups: Iterable[list[Entry]]) -> Iterator[Event]:
        """Put events in order of time as far as `lateness` allows, as the engine does."""
        buffer: Buffer[None] = Buffer()
        newest = -inf
        for events in groups:
            if events:
                newest = max(newest, buffer.add_events(events))
                yield from one_by_one(buffer.events_until(newest - self._lateness))
        yield from one_by_one(buffer.events_until(inf))

    def _joined(self, events: Iterable[Event]) -> Iterator[Parsed]:
        """Hand on each attempt once. One that a round-trip line told of waits for what its request's end may add."""
        for event in events:
            for handed in self._join.feed(event):
                if isinstance(handed, Amended):
                    old = self._unended.pop((handed.old.file, handed.old.offset), None)
                    # One that failed was handed on at once; its access line adds nothing to it that is shown.
                    if old is not None or judge(handed.new, self._rules) != judge(handed.old, self._rules):
                        yield self._done(self._parsed(handed.new, old))
                elif handed.origin is Origin.ROUNDTRIP and handed.end is End.ANSWERED:
                    self._unended[handed.file, handed.offset] = self._parsed(handed)
                    if len(self._unended) > UNENDED:
                        yield self._done(self._unended.pop(next(iter(self._unended))))
                else:
                    yield self._done(self._parsed(handed))
        yield from map(self._done, self._unended.values())
        yield from map(self._done, map(self._parsed, self._join.rest()))
        self._unended.clear()

    def _parsed(self, attempt: Attempt, earlier: Parsed | None = None) -> Parsed:
        same = earlier is not None and earlier.attempt.offset == attempt.offset
        line = earlier.line if earlier is not None and same else self._readers[attempt.file].line(attempt.offset)
        return Parsed(attempt, judge(attempt, self._rules), self.history.paths[attempt.file], line)

    def _done(self, parsed: Parsed) -> Parsed:
        self._shown += 1
        self.tally.excluded += parsed.outcome.kind is Kind.ROUTE
        return parsed
