"""Attempts as they are written, each exactly once over restarts: what `parse --follow` prints (DESIGN section 9).

An attempt that a round-trip line told of waits for the end of its request, which adds the whole duration, but not for long:
what is said later (a broken-off body) is an attempt of its own line, with a word on the one that it corrects.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from tailhealth.config import STDIN, Config
from tailhealth.core.join import Amended, Join
from tailhealth.core.judge import judge
from tailhealth.core.model import Attempt, End, Kind, Origin, Outcome
from tailhealth.logs.following import Begin, State
from tailhealth.logs.following import End as AtTheEnd
from tailhealth.logs.pipe import PipeFollower
from tailhealth.logs.reading import Event, Skip, Tally
from tailhealth.service.follow_log import FollowedLog, Numbers
from tailhealth.service.follow_state import FollowState, Generation, Kept, Resumed

WAIT = 1.0
"""Seconds that an attempt waits for the end of its request."""
SAVE_EVERY = 0.5
"""Seconds between two checkpoints: what was printed since the last one repeats after a SIGKILL."""
OPEN = 2000
"""So many requests whose end has not come are saved, the newest: where access lines name no upstream, none ever ends."""

_ended = attrgetter("ended")


class Shown(NamedTuple):
    """One attempt, to be printed now."""

    attempt: Attempt
    outcome: Outcome
    generation: Generation
    amends: tuple[Generation, int] | None = None
    """Generation and offset of an attempt that was printed already, and whose place this one takes."""


class FollowParsing:
    """Reads logs as they are written and judges each attempt by itself. Use it as a context.

    Args:
        config: How logs are read, and what counts as bad.
        paths: Logs; `-` is standard input.
        state: Directory from which to go on, and in which to keep how far we are; None: begin with what is there.
        clock: Wall clock in epoch seconds.
        steady: Seconds of a clock that never jumps.

    Raises:
        FollowStateError: The state directory can't be used.
    """

    def __init__(
        self,
        config: Config,
        paths: Sequence[str],
        state: Path | None = None,
        *,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tally = Tally()
        self._rules = config.settings().default.bad
        self._clock = clock
        self._steady = steady
        with ExitStack() as parts:
            self._state = None if state is None else parts.enter_context(FollowState(state))
            resumed = Resumed({}, Kept(), None) if self._state is None else self._state.load()
            self._parts = parts.pop_all()
        self._news = [] if resumed.warning is None else [resumed.warning]
        self._others = resumed.logs
        self._numbers = Numbers(resumed.kept.generations)
        self._join = Join(resumed.kept.join)
        due = steady() + WAIT
        self._waiting = {(one.file, one.offset): (one, due) for one in resumed.kept.waiting}
        self._logs = self._opened(config, paths, resumed)
        self._count = 0
        self._saved_at = steady() - SAVE_EVERY

    def _opened(self, config: Config, paths: Sequence[str], resumed: Resumed) -> list[FollowedLog]:
        logs = []
        start = Begin() if resumed.warning is None else AtTheEnd()
        for name in dict.fromkeys(paths):
            path = name if name == STDIN else str(Path(name).absolute())
            log = FollowedLog(
                msgspec.structs.replace(config.log_for(name), path=path),
                name,
                self.tally,
                self._numbers,
                start=start,
                checkpoint=resumed.logs.get(path),
                read=resumed.kept.read,
            )
            self._parts.callback(log.follower.close)
            logs.append(log)
        return logs

    @property
    def paths(self) -> list[str]:
        """The files that are followed."""
        return [log.path for log in self._logs if log.path != STDIN]

    @property
    def pipes(self) -> dict[int, bool]:
        """The descriptors of pipes, and whether they are at their end."""
        followers = (log.follower for log in self._logs if isinstance(log.follower, PipeFollower))
        return {one.descriptor: one.status.state is State.ENDED for one in followers}

    @property
    def ended(self) -> bool:
        """Nothing will ever come any more: every log is standard input, and it was closed."""
        return all(log.follower.status.state is State.ENDED for log in self._logs)

    @property
    def more(self) -> bool:
        """There is more to read at once."""
        return any(log.follower.more for log in self._logs)

    def poll(self) -> list[Shown]:
        """Read what was written since the last look; return the attempts to print, in order."""
        now = self._clock()
        found = [log.poll(now) for log in self._logs]
        shown = list(self._joined(heapq.merge(*found, key=_ended)))
        steady = self._steady()
        while self._waiting and (first := next(iter(self._waiting.values())))[1] <= steady:
            shown.append(self._done(first[0]))
        return shown

    @property
    def due_in(self) -> float:
        """Seconds until an attempt is printed even if nothing more comes; infinity if none waits."""
        _, due = next(iter(self._waiting.values()), (None, inf))
        return max(0.0, due - self._steady())

    def finish(self) -> list[Shown]:
        """Stop reading; return what waited. What can't be told yet is told by the process that goes on from the state."""
        shown: list[Shown] = []
        final = self._state is None or self.ended
        if final:
            shown += list(self._joined(event for log in self._logs for event in log.finish()))
        shown += [self._done(attempt) for attempt, _ in list(self._waiting.values())]
        return shown + (list(map(self._done, self._join.rest())) if final else [])

    def news(self) -> list[str]:
        """Say what is new about the logs themselves, a sentence each."""
        news, self._news = self._news, []
        for log in self._logs:
            news += log.news()
        return news

    def save(self, *, at_once: bool = False) -> None:
        """Keep how far we are, if it is time. Everything that was returned so far must have been printed.

        Raises:
            FollowStateError: It can't be written.
        """
        if self._state is None or not (at_once or self._steady() - self._saved_at >= SAVE_EVERY):
            return
        self._saved_at = self._steady()
        read: dict[str, tuple[int, ...]] = {}
        logs = {log.path: log.checkpoint(read) for log in self._logs if log.path != STDIN}
        join = self._join.state()
        waiting = tuple(attempt for attempt, _ in self._waiting.values())
        used = {attempt.file for attempt in (*join.open, *join.held, *waiting)}
        used |= {number for log in self._logs for number in log.numbers}
        join = msgspec.structs.replace(join, open=join.open[-OPEN:])
        self._state.save({**self._others, **logs}, Kept(self._numbers.keep(used), join, waiting, read))

    def summed_up(self) -> Tally:
        """Return what the lines of this process were."""
        tally = self.tally
        oversized = sum(log.follower.counts.oversized for log in self._logs)
        tally.lines += oversized
        tally.skipped[Skip.OVERSIZED] += oversized
        tally.skipped += Counter()  # drops what is 0
        tally.duplicates += self._join.duplicates
        tally.attempts = self._count
        return tally

    def _joined(self, events: Iterable[Event]) -> Iterator[Shown]:
        for event in events:
            for handed in self._join.feed(event):
                if isinstance(handed, Amended):
                    yield from self._amended(handed, event)
                elif handed.origin is Origin.ROUNDTRIP and handed.end is End.ANSWERED:
                    self._waiting[handed.file, handed.offset] = (handed, self._steady() + WAIT)
                else:
                    yield self._done(handed)

    def _amended(self, amended: Amended, event: Event) -> Iterator[Shown]:
        old, new = amended
        if (old.file, old.offset) in self._waiting:
            del self._waiting[old.file, old.offset]
            yield self._done(new)
        elif judge(new, self._rules) != judge(old, self._rules):
            late = msgspec.structs.replace(new, file=event.file, offset=event.offset)
            yield self._done(late)._replace(amends=(self._numbers[old.file], old.offset))

    def _done(self, attempt: Attempt) -> Shown:
        self._waiting.pop((attempt.file, attempt.offset), None)
        outcome = judge(attempt, self._rules)
        self._count += 1
        self.tally.excluded += outcome.kind is Kind.ROUTE
        return Shown(attempt, outcome, self._numbers[attempt.file])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._parts.close()
