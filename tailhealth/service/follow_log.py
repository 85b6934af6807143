"""One log whose lines are read as they are written, with a checkpoint that is never past a line that was not read to its end.

Readers hold lines back: the beginning of a record over several lines, of a line that its envelope split, the first lines of a
file that does not tell yet what it is. A checkpoint then goes back to a place before them, and lines behind it that were read
already are remembered, so that they are not read twice.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import NamedTuple

import msgspec

from tailhealth.config import STDIN, Log
from tailhealth.core.model import Attempt
from tailhealth.logs.checkpoint import Checkpoint
from tailhealth.logs.detect import open_reader
from tailhealth.logs.follow import Follower
from tailhealth.logs.following import Start, State
from tailhealth.logs.generation import Position, digest
from tailhealth.logs.order import AHEAD
from tailhealth.logs.pipe import PipeFollower
from tailhealth.logs.reading import Event, Tally
from tailhealth.logs.source import Chunk
from tailhealth.logs.times import line_time
from tailhealth.service.follow_state import Generation
from tailhealth.service.inputs import log_rules

BUDGET = 512 * 1024
"""Bytes that are read at once, roughly: printing what they tell takes far less than a second."""
MARKS = 1000
READ = 10_000
"""So many places, and so many lines read behind a line that is held back, are remembered; then that line is given up."""


class Mark(NamedTuple):
    """A place in a generation from which reading can go on."""

    offset: int
    context: str
    """See `logs.generation.Position`."""


class Numbers:
    """Numbers generations: attempts name theirs by an index.

    Args:
        known: Numbers that are taken.
    """

    def __init__(self, known: dict[int, Generation]) -> None:
        self._known = dict(known)
        self._next = max(known, default=-1) + 1

    def __getitem__(self, number: int) -> Generation:
        return self._known[number]

    def add(self, generation: Generation) -> int:
        """Give a generation a number."""
        number, self._next = self._next, self._next + 1
        self._known[number] = generation
        return number

    def keep(self, used: set[int]) -> dict[int, Generation]:
        """Forget all but these; return them."""
        self._known = {number: generation for number, generation in self._known.items() if number in used}
        return self._known


class _Reading:
    """A generation in reading.

    Args:
        log: Its table.
        number: Its number.
        chunk: Its first lines.
        tally: Where lines are counted.
        now: Wall clock in epoch seconds.
        mark: Where it is read on from, if an earlier process left it there.
        read: Offsets of lines behind that place that were read already.
    """

    def __init__(
        self, log: Log, number: int, chunk: Chunk, tally: Tally, now: float, *, mark: Mark | None, read: tuple[int, ...]
    ) -> None:
        rules = log_rules(log)
        self.number = number
        self.read = deque(read)
        self._done = frozenset(read)
        self._marks = deque([mark or Mark(0, "")] if mark is not None or chunk.offset == 0 else [])
        self._reader = open_reader(rules, number, log.path, tally, now)
        first = line_time(rules)(chunk.data.partition(b"\n")[0])
        # Lines that begin in the future are from another clock, or another day: they are compared with each other only.
        self._is_live = first is None or first - now <= AHEAD

    def feed(self, chunk: Chunk, now: float) -> list[Event]:
        """Read lines."""
        events = self._reader.feed(chunk.data, chunk.offset, now if self._is_live else None) if chunk.data else []
        return self._fresh(events)

    def finish(self) -> list[Event]:
        """Nothing more will come."""
        return self._fresh(self._reader.finish())

    def _fresh(self, events: list[Event]) -> list[Event]:
        if self._done:
            events = [event for event in events if event.offset not in self._done]
        self.read.extend(event.offset for event in events)
        return events

    def stand(self, position: Position) -> Position:
        """Take how far the follower is; return from where another process has to go on."""
        held = self._reader.held
        marks, here = self._marks, Mark(position.offset, position.context)
        if held is None or len(marks) >= MARKS or len(self.read) >= READ:
            marks.clear()
        if not marks or marks[-1] != here:
            marks.append(here)
        while len(marks) > 1 and (held is None or marks[1].offset <= held):
            marks.popleft()
        while self.read and self.read[0] < marks[0].offset:
            self.read.popleft()
        return position._replace(offset=marks[0].offset, context=marks[0].context)


class FollowedLog:
    """One log that is being followed, generation after generation.

    Args:
        log: Its table; the path is what is followed.
        name: What to call it.
        tally: Where lines are counted.
        numbers: Numbers its generations.
        start: Where to begin without a checkpoint.
        checkpoint: Where an earlier process left off.
        read: See `Kept.read`.
    """

    def __init__(
        self,
        log: Log,
        name: str,
        tally: Tally,
        numbers: Numbers,
        *,
        start: Start,
        checkpoint: Checkpoint | None = None,
        read: dict[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.name = name
        self.path = log.path
        self._log = log
        self._tally = tally
        self._numbers = numbers
        positions = checkpoint.positions if checkpoint is not None else ()
        self._left = {one.fingerprint: Mark(one.offset, one.context) for one in positions if one.fingerprint}
        self._read = dict(read or {})
        self._readings: dict[str, _Reading] = {}
        self._told: tuple[State, str] = (State.FOLLOWING, "")
        self._gaps = 0
        self.follower: Follower | PipeFollower = (
            PipeFollower(sys.stdin.fileno(), budget=BUDGET)
            if log.path == STDIN
            else Follower(log.path, checkpoint=checkpoint, start=start, budget=BUDGET)
        )

    @property
    def numbers(self) -> list[int]:
        """The numbers of the generations in reading."""
        return [reading.number for reading in self._readings.values()]

    def poll(self, now: float) -> list[Event]:
        """Read what was written since the last look, in order; `now` is the wall clock in epoch seconds."""
        events: list[Event] = []
        for chunk in self.follower.poll():
            name = chunk.file.fingerprint
            reading = self._readings.get(name)
            if reading is None:
                reading = self._readings[name] = self._begin(chunk, now)
            events += reading.feed(chunk, now)
            if chunk.final:
                events += reading.finish()
                del self._readings[name]
        return [_masked(event) for event in events]

    def finish(self) -> list[Event]:
        """No more will be read: hand on what was held back."""
        readings, self._readings = self._readings, {}
        return [_masked(event) for reading in readings.values() for event in reading.finish()]

    def news(self) -> list[str]:
        """Say what is new about the log itself, a sentence each: whether it can be read, and lines that are lost."""
        follower = self.follower
        told, self._told = self._told, (follower.status.state, follower.status.why)
        news = []
        if self._told != told and follower.status.why:
            news.append(f"{self.name}: {follower.status.state}: {follower.status.why}")
        elif self._told[0] is State.FOLLOWING and told[1]:
            news.append(f"{self.name}: following again")
        fresh, self._gaps = follower.counts.gaps - self._gaps, follower.counts.gaps
        return news + [
            f"{gap.path}: lines may be lost after offset {gap.offset} of generation {gap.fingerprint}: {gap.kind}"
            for gap in (list(follower.gaps)[-fresh:] if fresh else [])
        ]

    def checkpoint(self, read: dict[str, tuple[int, ...]]) -> Checkpoint:
        """Return where another process has to go on; lines behind it that were read already are added to `read`."""
        checkpoint = self.follower.checkpoint()
        positions = []
        for position in checkpoint.positions:
            reading = self._readings.get(position.fingerprint)
            stands = position if reading is None else reading.stand(position)
            positions.append(stands)
            known = self._read.get(position.fingerprint, ()) if reading is None else reading.read
            if known and (reading is None or stands.offset < position.offset):
                read[position.fingerprint] = tuple(known)
        return msgspec.structs.replace(checkpoint, positions=tuple(positions))

    def _begin(self, chunk: Chunk, now: float) -> _Reading:
        name = chunk.file.fingerprint
        number = self._numbers.add(Generation(self.name, name))
        mark, read = self._left.pop(name, None), self._read.pop(name, ())
        return _Reading(self._log, number, chunk, self._tally, now, mark=mark, read=read)


def _masked(event: Event) -> Event:
    """Keep nothing of the client and no query string: what is not done with is saved. One request stays one request."""
    client = digest(msgspec.json.encode((event.client, event.client_port, event.uri)))
    if isinstance(event, Attempt):
        return msgspec.structs.replace(event, client=client, client_port="", uri=event.path)
    return msgspec.structs.replace(event, client=client, client_port="", uri=event.uri.partition("?")[0])
