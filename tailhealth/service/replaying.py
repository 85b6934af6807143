"""A replay with all its parts: the logs of the past, the journal of the run that saw them, and the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

from tailhealth.config import Config
from tailhealth.core.engine import Observer
from tailhealth.core.model import Decision, Pool, PoolMember, Pools
from tailhealth.core.rules import Settings
from tailhealth.logs.ahead import Ahead
from tailhealth.logs.detect import open_reader
from tailhealth.logs.history import open_history
from tailhealth.logs.reading import Entry, LineReader, Tally
from tailhealth.logs.stream import Progress
from tailhealth.logs.times import line_time
from tailhealth.service.inputs import last_change, log_rules
from tailhealth.service.journal import Reading
from tailhealth.service.pipeline import Replay, batches, runs_of


class Rules(NamedTuple):
    """What one engine judges by."""

    settings: Settings
    pools: Pools | None
    """As the configuration names them; None: those of the journal, or all upstreams of the log as one."""
    observe: Observer | None = None
    """Called for each judged attempt."""


class Past:
    """Judges logs of the past by a configuration.

    Args:
        config: How lines are read, and the rules.
        paths: Files and folders; `-` is standard input.
        journal: What the run that saw these logs wrote down; None: the log alone decides.
        observe: Called for each judged attempt.
        settings: Rules in place of those of the configuration.
        others: More rules, each with an engine of its own that judges the same lines in the same pass.
        progress: Told of bytes read and bytes in all.
        processes: So many may read lines at once; what is decided does not depend on it. More than one do where nobody asks for
            every single attempt: with a journal or an observer, one process is as fast.

    Raises:
        LogError: A log can't be read.
        JournalError: The journal can't be read.
    """

    def __init__(
        self,
        config: Config,
        paths: Sequence[str],
        *,
        journal: Path | None = None,
        observe: Observer | None = None,
        settings: Settings | None = None,
        others: Sequence[Rules] = (),
        progress: Progress | None = None,
        processes: int = 1,
    ) -> None:
        self.tally = Tally()
        self.started_at = inf
        """Time of the first event; infinity before it."""
        self._config = config
        inputs = [] if journal is None else list(Reading(journal).inputs())
        first = Rules(settings or config.settings(), configured_pools(config), observe)
        self.replay, *self.others = (
            Replay(one.settings, runs=runs_of(inputs), pools=one.pools, observe=one.observe) for one in (first, *others)
        )
        alone = journal is not None or any(one.observe is not None for one in (first, *others))
        self._ahead = None if alone or processes == 1 else Ahead(processes)
        time_of = line_time(log_rules(config.log_for(paths[0])))
        self.history = open_history(paths, time_of=time_of, progress=progress, ahead=self._ahead)

    @property
    def notes(self) -> list[str]:
        """Say what could not be read, in sentences."""
        return self.history.notes

    def decisions(self) -> Iterator[Decision]:
        """Hand on each decision as it is taken.

        Raises:
            LogError: A log can't be read any more.
        """
        try:
            yield from self.replay.decisions(self.batches())
        finally:
            self.history.close()

    def compared(self) -> Iterator[tuple[int, Decision]]:
        """Hand on the decisions by all rules, each with the index of its rules: 0 for the first, then the `others`.

        Those of one engine come in order, those of several are mixed batch by batch.

        Raises:
            LogError: A log can't be read any more.
        """
        replays = [self.replay, *self.others]
        try:
            for batch in self.batches():
                for index, replay in enumerate(replays):
                    yield from ((index, decision) for decision in replay.read(batch))
            for index, replay in enumerate(replays):
                yield from ((index, decision) for decision in replay.finish())
        finally:
            self.history.close()

    def batches(self) -> Iterator[list[Entry]]:
        """Read the lines once and hand on what they tell, in the batches in which it is to be judged. Raises LogError."""
        for entries in batches(self.history, self._open, self._ahead):
            if entries and entries[0].ended < self.started_at:
                self.started_at = entries[0].ended
            yield entries

    def _open(self, file: int, path: str) -> LineReader:
        return open_reader(log_rules(self._config.log_for(path)), file, path, self.tally, last_change(path))


def configured_pools(config: Config) -> Pools | None:
    """Return the pools whose upstreams the configuration names; None if it names none."""
    pools = tuple(
        Pool(name, tuple(PoolMember(address) for address in table.upstreams), table.host, table.path)
        for name, table in config.pool.items()
        if table.upstreams
    )
    return Pools(-inf, pools) if pools else None
