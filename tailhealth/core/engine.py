"""The engine: inputs in, decisions out. The same inputs give the same decisions, live or from history (DESIGN section 2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import TypeAlias

from tailhealth.core import judge
from tailhealth.core.bulk import Bulk
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
    Idle,
    InFlight,
    Input,
    Origin,
    Outcome,
    Paused,
    Pools,
    Reconfigured,
    Started,
    Stepped,
)
from tailhealth.core.order import Buffer, Entry, Event
from tailhealth.core.orders import obey, reconfigure, resumed
from tailhealth.core.plain import take_plain
from tailhealth.core.pool import PoolState
from tailhealth.core.registry import Registry
from tailhealth.core.rules import Settings
from tailhealth.core.strangers import Strangers
from tailhealth.core.timers import Due, Timer, Timers

_ACCESS = Origin.ACCESS
Control: TypeAlias = InFlight | Pools | Blind | Command | Reconfigured
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

    @property
    def pools(self) -> dict[str, PoolState]:
        """Return the pools by name, for reading only."""
        return self._registry.pools

    @property
    def strangers(self) -> Strangers:
        """Return what is known of addresses that no pool has."""
        return self._registry.strangers

    def carry(self) -> tuple[Carried, ...]:
        """Return what must survive a restart, also of upstreams that the proxy has not named yet."""
        return self._registry.carry()

    def carry_paused(self) -> tuple[Paused, ...]:
        """Return the operator's pauses that are still on."""
        return self._registry.carry_paused(self.now)

    # Inputs

    def feed(self, inputs: Iterable[Input]) -> list[Decision]:
        """Take inputs in any order that is right within `lateness`; return the decisions that follow."""
        events: list[Event] = []
        for one in inputs:
            if isinstance(one, Attempt | Aborted):
                events.append(one)
            elif isinstance(one, Idle):
                self.now = max(self.now, one.at)
            elif isinstance(one, Stepped):
                # Lines of the old clock come first: after the step their times mean something else.
                self._take_events(events)
                events = []
                self._step(one)
            else:
                self._take_control(one)
        return self.read(events)

    def read(self, events: Sequence[Entry]) -> list[Decision]:
        """Take the events of log lines, and let time move as far as they show."""
        self._take_events(events)
        self._act_until(self.now - self.settings.lateness)
        return self._decider.take()

    def finish(self) -> list[Decision]:
        """The input ends: judge what still waits for its turn, up to the engine's time."""
        self._act_until(self.now)
        return self._decider.take()

    def _take_events(self, events: Sequence[Entry]) -> None:
        if events:
            self.now = max(self.now, self._buffer.add_events(events))

    def _take_control(self, control: Control | Started) -> None:
        self.now = max(self.now, control.at)
        if isinstance(control, Started):
            self._started_at = control.at
            self._registry.start(control)
        else:
            self._buffer.add_control(max(control.at, self.frontier), control)

    def _step(self, step: Stepped) -> None:
        self.now = max(self.now, step.at)
        self._act_until(inf)
        self._run_timers(step.at)
        self.frontier = self.now = step.at + step.by
        self._started_at += step.by
        self._registry.shift(step.by)
        self._decider.renew(list(self.pools.values()), self.now)

    # Order

    def _act_until(self, limit: float) -> None:
        """Act on everything due at or before `limit`: timers, then events, then other inputs of one moment."""
        limit = self._buffer.whole_until(limit)
        controls = self._buffer.controls_until(limit)
        events = self._buffer.events_until(limit)
        index = 0
        while index < len(events):
            if self._observe is None:
                index = self._take_plain(events, index, controls[0][0] if controls else inf)
                if index == len(events):
                    break
            event = events[index]
            if isinstance(event, Bulk):
                # One of them may not be plain.
                events[index : index + 1] = event.in_order()
                continue
            index += 1
            ended = event.ended
            if ended >= self._timers.next_at or (controls and ended > controls[0][0]):
                self._catch_up(controls, ended)
            if ended < self.frontier:
                self._late(event)
                continue
            self.frontier = ended
            if self.join.active or event.__class__ is not Attempt or event.origin is not _ACCESS:
                self._event(event, ended)
            else:
                self._attempt(event, ended, 1)
        for at, control in controls:
            self._run_timers(at)
            self._control(control, at)
        if limit < inf:
            self._run_timers(limit)
            self.frontier = max(self.frontier, limit)

    def _take_plain(self, events: Sequence[Entry], first: int, control_at: float) -> int:
        """Take plain attempts up to the next timer or other input."""
        until = min(self._timers.next_at, control_at)
        stop, count, self.frontier = take_plain(self._registry, self.join, events, first, self.frontier, until)
        self.attempts += count
        return stop

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
        if isinstance(event, Aborted):
            self._registry.end_any()
        else:
            self._registry.end_one(event, self.join)
        for one in self.join.feed(event):
            if isinstance(one, Amended):
                self._amend(one, at)
            else:
                self._attempt(one, at)

    def _attempt(self, attempt: Attempt, at: float, ended: int = 0) -> None:
        """Judge an attempt in all pools of its address; `ended`: so many requests in flight it ended, not yet counted."""
        self.attempts += 1
        address = self._registry.find(attempt.upstream)
        if address is None:
            self.strangers.note(attempt)
            return
        address.flights.ended += ended
        for pool, member in address.places:
            if not pool.is_split or pool.takes(attempt):
                self._judge(pool, member, attempt, at)

    def _judge(self, pool: PoolState, member: Member, attempt: Attempt, at: float) -> None:
        """Judge one attempt in one pool and let it count, unless it began before an action or while its upstream was out."""
        outcome = judge.judge(attempt, pool.rules.bad)
        pool.note_body(attempt, outcome)
        if member.ejection is not None or attempt.started < member.acted_at:
            outcome = member.missed(attempt, outcome)
        elif outcome is not judge.ROUTE:
            member.note(attempt, outcome)
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
            if pool.is_split and not pool.takes(new):
                continue
            before, after = judge.judge(old, pool.rules.bad), judge.judge(new, pool.rules.bad)
            pool.note_body(new, after)
            if before is after or member.ejection is not None or new.started < member.acted_at:
                continue
            member.amend(old, before, new, after)
            if new.ended >= self._started_at:
                self._decider.consider(pool, member, after, new.ended, at)
            if self._observe is not None:
                self._observe(new, pool.name, member.address, after)

    # Other inputs

    def _control(self, control: Control, at: float) -> None:
        match control:
            case InFlight():
                self._registry.sample(control, at, self.join)
                for pool in self.pools.values():
                    self._decider.judge(pool, pool.more_stalled(at, self.join), at)
            case Pools():
                self._registry.take_pools(control)
                self._decider.renew(list(self.pools.values()), at)
            case Blind():
                for pool in self._registry.take_blind(control):
                    resumed(pool, self._decider, at)
            case Command():
                obey(control, self._registry, self._decider, at)
            case Reconfigured() if control.before == self.settings:
                self.settings = control.settings
                reconfigure(control.settings, self._registry, self._decider, at)
