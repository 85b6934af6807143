"""From the lines of finished logs, and the journal of the run that saw them, to decisions (DESIGN section 2).

The engine that a running controller feeds is the one that is fed here; only the source of the lines and the way of the
decisions differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from operator import attrgetter

from tailhealth.core.engine import Engine, Observer
from tailhealth.core.model import Decision, Idle, Input, Pools, Started
from tailhealth.core.order import one_by_one
from tailhealth.core.rules import Settings
from tailhealth.logs.ahead import Ahead
from tailhealth.logs.history import Block
from tailhealth.logs.reading import Entry, Event, LineReader

_ended = attrgetter("ended")


def batches(
    blocks: Iterable[Block], open_reader: Callable[[int, str], LineReader], ahead: Ahead | None = None
) -> Iterator[list[Entry]]:
    """Read blocks and hand on their events in batches, no batch holding what should precede an earlier one.

    Blocks of several files come in groups that belong together (see `logs.history.History`).

    Args:
        blocks: Of one or several files.
        open_reader: Opens the reader of a file by its index and name.
        ahead: Hears on which terms the lines of each file are read.

    Raises:
        LogError: A file can't be read any more.
    """
    readers: dict[int, LineReader] = {}
    entries: list[Entry] = []
    for block in blocks:
        reader = readers.get(block.file)
        if reader is None:
            reader = readers[block.file] = open_reader(block.file, block.path)
        if block.outlined is None:
            entries += reader.read(block.data, block.offset)
        else:
            entries += reader.take(*block.outlined)
        if ahead is not None:
            ahead.learned(block.file, reader.terms)
        if not block.together:
            yield entries
            entries = []
    for reader in readers.values():
        entries += reader.finish()
    yield entries


class Run:
    """One run of the controller as its journal tells it: what it was told besides the lines, and when it ended."""

    def __init__(self, started: Started) -> None:
        self.started = started
        self.inputs: list[Input] = []
        self.ended = inf
        """Nothing later was seen by it; infinity for the last run of a journal."""


def runs_of(inputs: Iterable[Input]) -> list[Run]:
    """Split a journal's inputs at each start of the controller. An `Idle` among them tells when the run before it stopped."""
    runs: list[Run] = []
    for one in inputs:
        if isinstance(one, Started):
            runs.append(Run(one))
        elif runs and isinstance(one, Idle):
            runs[-1].ended = one.at
        elif runs:
            runs[-1].inputs.append(one)
    for run, following in pairwise(runs):
        run.ended = min(run.ended, following.started.at)
    return runs


class Replay:
    """Decides about past lines.

    Args:
        settings: The rules.
        runs: What a journal tells; empty: the log alone decides, from its first line on.
        pools: The pools as the configuration names them; None: those of the journal, or all upstreams of the log as one.
        observe: Called for each judged attempt.
    """

    def __init__(
        self, settings: Settings, *, runs: Sequence[Run] = (), pools: Pools | None = None, observe: Observer | None = None
    ) -> None:
        self._settings = settings
        self._observe = observe
        self._runs = list(runs)
        self._run: Run | None = None
        self._follows_journal = bool(runs)
        self._controls: list[Input] = []
        self._recent: list[Event] = []
        self._within = max(rules.window.within for rules in (settings.default, *settings.pools.values()))
        self.late_lines = 0
        self.engine = Engine(settings, discover=pools is None and not runs, observe=observe)
        if pools is not None and not runs:
            self.engine.feed([pools])

    def decisions(self, batches: Iterable[Sequence[Entry]]) -> Iterator[Decision]:
        """Judge events in order and hand on each decision as it is taken."""
        for batch in batches:
            yield from self.read(batch)
        yield from self.finish()

    def read(self, batch: Sequence[Entry]) -> Iterable[Decision]:
        """Judge the events of one batch; return the decisions that follow. Take them all before the next batch."""
        return self._read_by_journal(one_by_one(batch)) if self._follows_journal else self.engine.read(batch)

    def finish(self) -> Iterable[Decision]:
        """The logs have ended: return the decisions that remain."""
        return self._finish_journal() if self._follows_journal else self.engine.finish()

    def _read_by_journal(self, batch: list[Event]) -> Iterator[Decision]:
        events = batch
        while self._runs and events and max(map(_ended, events)) >= self._runs[0].started.at:
            before = [event for event in events if event.ended < self._runs[0].started.at]
            yield from self._during(self._run, before)
            events = [event for event in events if event.ended >= self._runs[0].started.at]
            yield from self._end(self._run)
            self._run = self._begin(self._runs.pop(0))
        yield from self._during(self._run, events)

    def _finish_journal(self) -> Iterator[Decision]:
        """End the run, and go through those in which no line came: orders were given and times out ended all the same."""
        yield from self._end(self._run)
        while self._runs:
            self._run = self._begin(self._runs.pop(0))
            yield from self._end(self._run)

    def _begin(self, run: Run) -> Run:
        """A run begins: it knows what it carried over, and reads the last `within` of the log as history."""
        self.late_lines += self.engine.late_lines
        self.engine = Engine(self._settings, observe=self._observe)
        self._controls = list(run.inputs)
        self.engine.feed([run.started])
        self.engine.read([event for event in self._recent if event.ended >= run.started.at - self._within])
        return run

    def _during(self, run: Run | None, events: list[Event]) -> Iterator[Decision]:
        if self._runs:
            edge = self._runs[0].started.at - self._within
            self._recent = [*(one for one in self._recent if one.ended >= edge), *(one for one in events if one.ended >= edge)]
        if run is None or not events:
            return
        seen = [event for event in events if event.ended <= run.ended]
        newest = max(map(_ended, seen), default=-inf)
        yield from self.engine.feed([*self._until(newest), *seen])

    def _until(self, time: float) -> list[Input]:
        due = [one for one in self._controls if _at(one) <= time]
        self._controls = self._controls[len(due) :]
        return due

    def _end(self, run: Run | None) -> Iterator[Decision]:
        if run is None:
            return
        yield from self.engine.feed(self._until(inf))
        if run.ended < inf:
            yield from self.engine.feed([Idle(run.ended)])
        yield from self.engine.finish()


def _at(control: Input) -> float:
    return float(control.at) if hasattr(control, "at") else -inf
