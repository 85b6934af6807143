"""The engine: inputs in, decisions out. The same inputs give the same decisions, live or from history (DESIGN section 2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import TypeAlias

from tailhealth.core import judge
from tailhealth.core.decide import Decider
from tailhealth.core.join import Amended, Join
from tailhealth.core.member import Member
from tailhealth.core.model import (
    Aborted,
    Attempt,
    Blind,
    Carried,
    Command,
    Decision,
    End,
    Idle,
    InFlight,
    Input,
    Origin,
    Outcome,
    Paused,
    Pools,
    Started,
    Stepped,
    Verdict,
)
from tailhealth.core.order import Buffer, Event
from tailhealth.core.orders import obey, resumed
from tailhealth.core.pool import PoolState
from tailhealth.core.registry import Registry
from tailhealth.core.rules import Settings
from tailhealth.core.strangers import Strangers
from tailhealth.core.timers import Due, Timer, Timers
from tailhealth.core.window import Mark

_ACCESS = Origin.ACCESS
_ANSWERED = End.ANSWERED

Control: TypeAlias = InFlight | Pools | Blind | Command
Observer: TypeAlias = Callable[[Attempt, str, str, Outcome], None]
"""Called with each judged attempt, its pool, its upstream and its outcome: for views and metrics."""


class Engine:
    """Orders inputs, judges attempts, keeps windows and takes decisions.

    Args:
        settings: The rules.
        discover: True where nothing will tell the pools: the upstreams that the log shows form the pool `log`.
        observe: Called for each judged attempt.
    """

    def __init__(self, settings: Settings, *, discover: bool = False, observe: Observer | None = None) -> None:
        self.settings = settings
        self.now = -inf
        """The engine's time: the largest line time or idle tick so far."""
        self.late_lines = 0
        self.attempts = 0
        self.join = Join()
        self._registry = Registry(settings, discover=discover)
        self._observe = observe
        self._timers = Timers()
        self._decider = Decider(self._timers)
        self._buffer: Buffer[Control] = Buffer()
        self.frontier = -inf
        """Up to which time everything is judged."""
        self._started_at = -inf
        self._in_flight_known = False

    @property
    def pools(self) -> dict[str, PoolState]:
        """Return the pools by name, for reading only."""
        return self._registry.pools

    @property
    def strangers(self) -> Strangers:
        """Return what is known of addresses that no pool has."""
        return self._registry.strangers

    # Inputs

    def feed(self, inputs: Iterable[Input]) -> list[Decision]:
        """Take inputs in any order that is right within `lateness`; return the decisions that follow."""
        events: list[Event] = []
        for one in inputs:
            if isinstance(one, Attempt | Aborted):
                events.append(one)
            elif isinstance(one, Idle):
                self.now = max(self.now, one.at)
            else:
                self._take_control(one)
        return self.read(events)

    def read(self, events: Sequence[Event]) -> list[Decision]:
        """Take the events of log lines, and let time move as far as they show."""
        if events:
            newest = self._buffer.add_events(events)
            self.now = max(self.now, newest)
        return self._release(self.now - self.settings.lateness)

    def finish(self) -> list[Decision]:
        """The input ends: judge what still waits for its turn, up to the engine's time."""
        return self._release(self.now)

    def _take_control(self, control: Control | Stepped | Started) -> None:
        self.now = max(self.now, control.at)
        if isinstance(control, Stepped):
            # Lines of the old clock come first: after the step their times mean something else.
            self._step(control)
        elif isinstance(control, Started):
            self._started_at = control.at
            self._registry.start(control)
        else:
            self._buffer.add_control(control.at, control)

    def _step(self, step: Stepped) -> None:
        self._release(inf)
        self.frontier = self.now = step.at + step.by
        self._registry.shift(step.by)
        self._decider.renew(list(self.pools.values()), self.now)

    # Order

    def _release(self, limit: float) -> list[Decision]:
        """Act on everything due at or before `limit`: timers, then events, then other inputs of one moment."""
        controls = self._buffer.controls_until(limit)
        events = self._buffer.events_until(limit)
        timers, direct, attempt = self._timers, not self.join.active, self._attempt
        for event in events:
            ended = event.ended
            if ended >= timers.next_at or (controls and ended > controls[0][0]):
                self._catch_up(controls, ended)
            if ended < self.frontier:
                self._late(event)
                continue
            self.frontier = ended
            if direct and event.__class__ is Attempt and event.origin is _ACCESS:
                attempt(event, ended)
            else:
                self._event(event, ended)
                direct = not self.join.active
        for at, control in controls:
            self._run_timers(at)
            self._control(control, at)
        if limit < inf:
            self._run_timers(limit)
            self.frontier = max(self.frontier, limit)
        decisions, self._decider.decisions = self._decider.decisions, []
        return decisions

    def _catch_up(self, controls: deque[tuple[float, Control]], until: float) -> None:
        """Act on what comes before an event that ended at `until`: timers of that moment, and inputs of an earlier one."""
        while controls and controls[0][0] < until:
            at, control = controls.popleft()
            self._run_timers(at)
            self._control(control, at)
        self._run_timers(until)

    def _run_timers(self, limit: float) -> None:
        while self._timers.next_at <= limit:
            timer = self._timers.take()
            pool = self.pools.get(timer.pool)
            if pool is not None:
                self._timer(timer, pool)

    def _timer(self, timer: Timer, pool: PoolState) -> None:
        """Act on a timer if what set it still stands."""
        at, decider = timer.at, self._decider
        if timer.due is Due.SETTLED:
            decider.judge_withheld(pool, at)
        elif timer.due is Due.PAUSE_ENDS:
            if pool.paused is not None and pool.paused.until == at:
                pool.paused = None
                resumed(pool, decider, at)
        elif (member := pool.members.get(timer.upstream)) is not None:
            decider.due(timer, pool, member)

    # Attempts

    def _late(self, event: Event) -> None:
        """Use a line that comes too late to be judged in its place. Only a fresh one may still trip."""
        if event.ended >= self._started_at:
            self.late_lines += 1
        self._event(event, self.frontier)

    def _event(self, event: Event, at: float) -> None:
        """Judge what a line tells, as of `at`."""
        for one in self.join.feed(event):
            if isinstance(one, Amended):
                self._amend(one, at)
            else:
                self._attempt(one, at)
        if isinstance(event, Aborted):
            self._ended_unattributed()

    def _ended_unattributed(self) -> None:
        """A record without an upstream ended some request in flight: it may have been any of them."""
        for flights in self._registry.flights.values():
            flights.ended += 1

    def _attempt(self, attempt: Attempt, at: float) -> None:
        self.attempts += 1
        address = self._registry.find(attempt.upstream)
        if address is None:
            self.strangers.note(attempt)
            return
        address.flights.ended += 1
        for pool, member in address.places:
            header = attempt.header
            if (
                header is not None
                and header < pool.plain_below
                and attempt.status not in pool.not_plain
                and attempt.end is _ANSWERED
                and not member.attentive
                and attempt.started >= member.acted_at
                and self._observe is None
            ):
                # The one case that is hot: good whatever else is known, and nothing but the window can change.
                member.window.add(attempt.ended)
                member.totals.good += 1
                if self._in_flight_known:
                    pool.note_body(attempt)
            elif not pool.is_split or pool.takes(attempt):
                self._judge(pool, member, attempt, at)

    def _judge(self, pool: PoolState, member: Member, attempt: Attempt, at: float) -> None:
        """Judge one attempt in one pool and let it count, unless it began before an action or while its upstream was out."""
        outcome = judge.judge(attempt, pool.rules.bad)
        if member.ejection is not None:
            outcome = member.missed(attempt, outcome)
        elif attempt.started < member.acted_at:
            outcome = judge.BEFORE_ACTION
        elif outcome is not judge.ROUTE:
            member.note(attempt, outcome)
            pool.note_body(attempt)
            if attempt.ended >= self._started_at:
                self._decider.consider(pool, member, outcome, attempt.ended, at)
        member.tally(outcome)
        if self._observe is not None:
            self._observe(attempt, pool.name, member.address, outcome)

    def _amend(self, amended: Amended, at: float) -> None:
        """Put a later, fuller view of an attempt in the place of the earlier one, if the judgement differs."""
        old, new = amended
        address = self._registry.find(new.upstream)
        for pool, member in address.places if address is not None else ():
            before, after = judge.judge(old, pool.rules.bad), judge.judge(new, pool.rules.bad)
            pool.note_body(new)
            countable = member.ejection is None and new.started >= member.acted_at and pool.takes(new)
            if before.verdict is not Verdict.GOOD or after.verdict is not Verdict.BAD or after.kind is None or not countable:
                continue
            member.window.replace_good(old.ended, Mark(after.kind, new.client, answered=True), new.ended)
            member.totals.good -= 1
            member.tally(after)
            if new.ended >= self._started_at:
                self._decider.consider(pool, member, after, new.ended, at)
            if self._observe is not None:
                self._observe(new, pool.name, member.address, after)

    # Other inputs

    def _control(self, control: Control, at: float) -> None:
        match control:
            case InFlight():
                self._take_in_flight(control)
            case Pools():
                self._registry.take_pools(control)
                self._decider.renew(list(self.pools.values()), at)
            case Blind():
                for pool in self._registry.take_blind(control):
                    resumed(pool, self._decider, at)
            case Command():
                obey(control, list(self.pools.values()), self._decider, at)

    def _take_in_flight(self, sample: InFlight) -> None:
        """Compare requests in flight with what ended: an upstream that shows more stalled than before is asked about."""
        self._in_flight_known = True
        keep = max((pool.rules.bad.stalled_after or 0.0 for pool in self.pools.values()), default=0.0)
        for address, flights in self._registry.flights.items():
            count = None if sample.counts is None else sample.counts.get(address, 0)
            flights.sample(sample.at, count, sample.process, self.join.streaming(address), keep)
        for pool in self.pools.values():
            self._decider.judge(pool, pool.more_stalled(sample.at, self.join), sample.at)

    # What a restart needs

    def carry(self) -> tuple[Carried, ...]:
        """Return what must survive a restart, also of upstreams that the proxy has not named yet."""
        return self._registry.carry()

    def carry_paused(self) -> tuple[Paused, ...]:
        """Return the operator's pauses that are still on."""
        return self._registry.carry_paused()
