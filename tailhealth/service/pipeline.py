"""From the lines of finished logs, and the journal of the run that saw them, to decisions (DESIGN section 2).

The engine that a running controller feeds is the one that is fed here; only the source of the lines and the way of the
decisions differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from operator import attrgetter
from typing import Protocol

from tailhealth.core.engine import Engine, Observer
from tailhealth.core.model import Decision, Idle, Input, Pools, Started
from tailhealth.core.rules import Settings
from tailhealth.logs.reading import Event, LineReader

_ended = attrgetter("ended")


class Block(Protocol):
    """Whole lines of one file."""

    @property
    def data(self) -> bytes:
        """The bytes; only the last line of a file may lack its newline."""
        ...

    @property
    def offset(self) -> int:
        """Position of `data` in its file, uncompressed."""
        ...

    @property
    def file(self) -> int:
        """Index of the file."""
        ...

    @property
    def path(self) -> str:
        """Its name."""
        ...


class Merge:
    """Reads blocks of several files and hands on their events so that no file runs ahead of another.

    Blocks must come in the order of their first line: all that any file still has to say then lies after the first line of the
    block that came last, but for lines that are out of order within a file, which is what `lateness` is for.

    Args:
        open_reader: Opens the reader of a file by its index and name.
        alone: There is one file: nothing has to wait.
    """

    def __init__(self, open_reader: Callable[[int, str], LineReader], *, alone: bool) -> None:
        self._open_reader = open_reader
        self._alone = alone
        self._readers: dict[int, LineReader] = {}
        self._waiting: list[Event] = []

    def batches(self, blocks: Iterable[Block]) -> Iterator[list[Event]]:
        """Hand on events in batches; each batch holds nothing that a later one should precede."""
        for block in blocks:
            reader = self._readers.get(block.file)
            if reader is None:
                reader = self._readers[block.file] = self._open_reader(block.file, block.path)
            events = reader.feed(block.data, block.offset)
            if self._alone:
                yield events
            elif events:
                yield self._before(min(map(_ended, events[:64])))
                self._waiting += events
        for reader in self._readers.values():
            self._waiting += reader.finish()
        self._waiting.sort(key=_ended)
        yield self._waiting

    def _before(self, time: float) -> list[Event]:
        ready = [event for event in self._waiting if event.ended < time]
        if ready:
            self._waiting = [event for event in self._waiting if event.ended >= time]
        return ready


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
        self._controls: list[Input] = []
        self._recent: list[Event] = []
        self._within = max(rules.window.within for rules in (settings.default, *settings.pools.values()))
        self.late_lines = 0
        self.engine = Engine(settings, discover=pools is None and not runs, observe=observe)
        if pools is not None and not runs:
            self.engine.feed([pools])

    def decisions(self, batches: Iterable[list[Event]]) -> Iterator[Decision]:
        """Judge events in order and hand on each decision as it is taken."""
        if not self._runs:
            for batch in batches:
                yield from self.engine.read(batch)
            yield from self.engine.finish()
            return
        run: Run | None = None
        for batch in batches:
            events = batch
            while self._runs and events and max(map(_ended, events)) >= self._runs[0].started.at:
                before = [event for event in events if event.ended < self._runs[0].started.at]
                yield from self._during(run, before)
                events = [event for event in events if event.ended >= self._runs[0].started.at]
                yield from self._end(run)
                run = self._begin(self._runs.pop(0))
            yield from self._during(run, events)
        yield from self._end(run)

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
