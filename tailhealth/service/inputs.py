"""Live logs: each one's follower, and the reader of each of its generations, handing on events."""

from __future__ import annotations

import sys
from collections.abc import Callable
from math import inf
from pathlib import Path

import msgspec

from tailhealth.config import STDIN, Config, Log
from tailhealth.core.model import Blind
from tailhealth.logs.detect import open_reader
from tailhealth.logs.follow import Follower
from tailhealth.logs.following import Since, State
from tailhealth.logs.generation import FileId
from tailhealth.logs.pipe import PipeFollower
from tailhealth.logs.reading import Event, LineReader, Tally
from tailhealth.logs.rules import FIELDS, FieldRule, LogRules
from tailhealth.logs.times import line_time
from tailhealth.service.blind import Blindness, Look
from tailhealth.service.thinning import Outputs, thinned


def log_rules(log: Log) -> LogRules:
    """Return a `[[log]]` table as what the readers of lines want."""
    fields = {}
    for name in log.fields.__struct_fields__:
        field = getattr(log.fields, name)
        if name in FIELDS and field is not None:
            fields[name] = FieldRule(field.key, getattr(field, "unit", None))
    return LogRules(log.format, log.zone, fields)


def last_change(path: str) -> float | None:
    """Return the time of a file's last change, near which a time without a year is read; None if it can't be had."""
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return None


class InputView(msgspec.Struct, frozen=True):
    """The health of one log, for `status` and `top`."""

    path: str
    state: str
    why: str
    lines: int
    skipped: dict[str, int]
    newest: float | None
    """Time of the newest line; None before the first."""
    late_by: float | None
    """Seconds by which the newest line lagged behind the clock when it was read."""
    gaps: int
    hints: dict[str, str]


class LiveLog:
    """One log that is being followed.

    Args:
        log: Its table.
        index: Its place among the logs: second key of the engine's order.
        since: Where history begins, in epoch seconds: lines from there on are read first.
    """

    def __init__(self, log: Log, index: int, since: float) -> None:
        self.path = log.path
        self.tally = Tally()
        self.newest = -inf
        self.late_by: float | None = None
        self.blindness = Blindness(log.path)
        self.thinned: dict[str, str] = {}
        """What the proxy's own configuration leaves out of it, by code, with the remedy."""
        self.index = index
        self._rules = log_rules(log)
        self._left_over: list[Event] = []
        self._readers: dict[FileId, LineReader] = {}
        self.follower: Follower | PipeFollower = (
            PipeFollower(sys.stdin.fileno())
            if log.path == STDIN
            else Follower(log.path, start=Since(since, line_time(self._rules)))
        )

    @property
    def more(self) -> bool:
        """There is more to read at once."""
        return self.follower.more

    def poll(self, now: float) -> list[Event]:
        """Read what was written since the last look; `now` is the wall clock in epoch seconds."""
        events, self._left_over = self._left_over, []
        for chunk in self.follower.poll():
            reader = self._readers.get(chunk.file)
            if reader is None:
                reader = self._readers[chunk.file] = open_reader(self._rules, self.index, chunk.path, self.tally)
            if chunk.data:
                events += reader.feed(chunk.data, chunk.offset, now)
            if chunk.final:
                events += reader.finish()
                del self._readers[chunk.file]
        if events:
            self.newest = max(self.newest, *(event.ended for event in events))
            self.late_by = now - self.newest
        return events

    def read_by(self, log: Log) -> None:
        """Read what comes next as this table says. What was read stays as it was read."""
        rules = log_rules(log)
        if rules != self._rules:
            self._rules = rules
            for reader in self._readers.values():
                self._left_over += reader.finish()
            self._readers.clear()

    def view(self) -> InputView:
        """Show its health."""
        status = self.follower.status
        return InputView(
            path=self.path,
            state=status.state.value,
            why=status.why,
            lines=self.tally.lines,
            skipped=dict(self.tally.skipped),
            newest=None if self.newest == -inf else self.newest,
            late_by=self.late_by,
            gaps=self.follower.counts.gaps,
            hints=self.tally.hints | self.thinned,
        )

    def look(self, now: float, heard: int) -> Blind | None:
        """Ask whether this log can be trusted; return a change of that.

        Args:
            now: Wall clock in epoch seconds.
            heard: Lines of all logs together.
        """
        status, tally = self.follower.status, self.tally
        return self.blindness.look(
            Look(
                at=now,
                lines=tally.lines,
                skipped=tally.skipped.total(),
                records=tally.records,
                attributed=tally.records - tally.unattributed - tally.aborted,
                # While it catches up, lines are old because they were read late, not because they came late.
                late_by=None if self.more else self.late_by,
                unreadable=status.why if status.state is State.UNREADABLE else "",
                hints=frozenset(tally.hints) | frozenset(self.thinned),
                heard=heard,
            )
        )

    def close(self) -> None:
        """Let its files go."""
        self.follower.close()


class LiveLogs:
    """All logs of a configuration."""

    def __init__(self, config: Config, since: float) -> None:
        self.logs = [LiveLog(log, index, since) for index, log in enumerate(config.log)]
        self._outputs: Outputs = ()

    def turn_to(self, config: Config, since: float) -> list[Blind]:
        """Follow the logs of another configuration: those that stay are read on, new ones from `since` on.

        Returns:
            The end of blindness of logs that nobody follows any more.
        """
        known = {log.path: log for log in self.logs}
        free = 1 + max((log.index for log in self.logs), default=-1)
        self.logs = []
        for number, table in enumerate(config.log):
            log = known.pop(table.path, None)
            if log is None:
                log = LiveLog(table, free + number, since)
            log.read_by(table)
            self.logs.append(log)
        for log in known.values():
            log.close()
        self.note_outputs(self._outputs)
        return [Blind(since, log.path, None) for log in known.values() if log.blindness.reason is not None]

    @property
    def ended_pipes(self) -> list[int]:
        """Name the descriptors of pipes from which nothing will come any more."""
        pipes = [log.follower for log in self.logs if isinstance(log.follower, PipeFollower)]
        return [pipe.descriptor for pipe in pipes if pipe.status.state is State.ENDED]

    @property
    def paths(self) -> list[str]:
        """Name the logs."""
        return [log.path for log in self.logs]

    @property
    def more(self) -> bool:
        """There is more to read at once."""
        return any(log.more for log in self.logs)

    @property
    def ended(self) -> bool:
        """Nothing will ever come any more: every log is standard input, and it was closed."""
        return bool(self.logs) and all(log.follower.status.state is State.ENDED for log in self.logs)

    def poll(self, clock: Callable[[], float]) -> list[Event]:
        """Read what was written since the last look, of all logs."""
        events: list[Event] = []
        for log in self.logs:
            events += log.poll(clock())
        return events

    def blindness(self, now: float) -> list[Blind]:
        """Ask whether the logs can be trusted; return what changed in that."""
        heard = sum(log.tally.lines for log in self.logs)
        return [change for log in self.logs if (change := log.look(now, heard)) is not None]

    def note_in_flight(self, at: float, counts: dict[str, int] | None) -> None:
        """Take the proxy's count of requests in flight: while it changes, lines must come."""
        for log in self.logs:
            log.blindness.note_in_flight(at, counts)

    def note_outputs(self, outputs: Outputs) -> None:
        """Take what the proxy's configuration says of its logs: one that it thins has no honest ratio."""
        self._outputs = outputs
        for log in self.logs:
            log.thinned = thinned(log.path, outputs)

    def views(self) -> list[InputView]:
        """Show the health of each."""
        return [log.view() for log in self.logs]

    def close(self) -> None:
        """Let all files go."""
        for log in self.logs:
            log.close()
