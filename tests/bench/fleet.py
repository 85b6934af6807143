"""A fleet of upstreams behind a simulated proxy, judged and steered by the real engine.

A closed loop: the proxy chooses among the upstreams in rotation, what ends writes a line, the engine reads the lines and the
polled counts of requests in flight, and its decisions change the rotation. Time is simulated; all dice come from the seed, and
every request draws the same numbers whatever the rotation, so that runs with and without the engine's help can be compared.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from math import exp, inf
from typing import TypeAlias

from tailhealth.core.engine import Engine
from tailhealth.core.model import Action, Attempt, Decision, End, Idle, InFlight, Pool, PoolMember, Pools
from tailhealth.core.rules import Settings

POLL = 5.0
TICK = 1.0
COALESCE = 0.25
MIN_APPLY_INTERVAL = 2.0
LIFT_WAITS = 10 * MIN_APPLY_INTERVAL
"""Lifting a limit waits for the next apply, at most this long (DESIGN section 8)."""
POOL = "pool"


class Ill(StrEnum):
    """What can be wrong with an upstream."""

    WEDGED = "wedged"
    """Nothing that is or comes in ends any more."""
    FAILING = "failing"
    """A share of the requests that come in is answered with `status`; those in flight finish."""
    REFUSING = "refusing"
    """Nobody listens."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one upstream, from when to when (seconds)."""

    node: int
    ill: Ill
    start: float
    end: float = inf
    share: float = 1.0
    status: int = 500
    takes: tuple[float, float] = (0.05, 0.5)
    """How long a failing answer takes."""

    def is_on(self, at: float) -> bool:
        """Tell whether it lasts at a moment."""
        return self.start <= at < self.end


@dataclass(frozen=True, slots=True)
class Service:
    """How long healthy answers take: lognormal, cut at both ends."""

    median: float = 23.5
    sigma: float = 0.6
    least: float = 5.0
    most: float = 110.0

    def seconds(self, normal: float) -> float:
        """Turn a standard normal number into a time."""
        return min(self.most, max(self.least, self.median * exp(self.sigma * normal)))


@dataclass(frozen=True, slots=True)
class Load:
    """What clients do, and what befalls the upstreams."""

    duration: float
    nodes: int = 4
    rate: float = 0.3
    """Requests per second, Poisson."""
    service: Service = Service()
    patience: tuple[float, float] = (inf, inf)
    """Clients give up after a time between these."""
    faults: tuple[Fault, ...] = ()
    poison: float = 0.0
    """Share of requests that any upstream answers with 500."""


@dataclass(slots=True)
class Record:
    """What a run showed."""

    decisions: list[Decision] = field(default_factory=list)
    requests: int = 0
    failed: int = 0
    """Requests that did not get their answer: refused, 5xx, given up, hanging for ever, or no upstream to be had."""
    fewest_in_rotation: int = 0


class _Request:
    __slots__ = ("client", "dice", "doom", "gives_up", "node", "service", "started")

    def __init__(self, started: float, service: float, gives_up: float, client: str, dice: float) -> None:
        self.node = -1
        self.started = started
        self.service = service
        self.gives_up = gives_up
        self.client = client
        self.dice = dice
        self.doom: int | None = None


_Step: TypeAlias = Callable[[_Request | None], None]


class Fleet:
    """One run. With `guided` false the engine decides all the same and nothing is applied."""

    def __init__(self, load: Load, settings: Settings, seed: str, *, guided: bool = True) -> None:
        self.load = load
        self.record = Record(fewest_in_rotation=load.nodes)
        self.engine = Engine(settings)
        self._guided = guided
        self._dice = random.Random(seed)
        self._addresses = [f"10.0.0.{index + 1}:11434" for index in range(load.nodes)]
        self._faults = [[fault for fault in load.faults if fault.node == index] for index in range(load.nodes)]
        self._in_flight = [0] * load.nodes
        self._rotation = list(range(load.nodes))
        self._limited: set[int] = set()
        self._robin = 0
        self._apply_at = inf
        self._applied_at = -inf
        self._now = 0.0
        self._offset = 0
        self._heap: list[tuple[float, int, _Step, _Request | None]] = []
        self._steps = 0

    def run(self) -> Record:
        """Run to the end of the load's duration."""
        members = tuple(PoolMember(address) for address in self._addresses)
        self.engine.feed([Pools(0.0, (Pool(POOL, members),))])
        self._at(0.0, self._arrive)
        self._at(TICK / 2, self._tick)
        self._at(POLL / 3, self._poll)
        heap, duration = self._heap, self.load.duration
        while heap and heap[0][0] <= duration:
            self._now, _, step, request = heappop(heap)
            step(request)
        return self.record

    def _at(self, at: float, step: _Step, request: _Request | None = None) -> None:
        self._steps += 1
        heappush(self._heap, (at, self._steps, step, request))

    # Clients

    def _arrive(self, _: _Request | None) -> None:
        dice, load = self._dice, self.load
        low, high = load.patience
        service = load.service.seconds(dice.gauss(0.0, 1.0))
        patience = low if low == high else dice.uniform(low, high)
        client = f"192.0.2.{dice.randrange(1, 51)}"
        request = _Request(self._now, service, self._now + patience, client, dice.random())
        if dice.random() < load.poison:
            request.doom, request.service = 500, 0.05 + 0.45 * request.dice
        self._at(self._now + dice.expovariate(load.rate), self._arrive)
        self.record.requests += 1
        node = self._choose()
        if node is None:
            self.record.failed += 1
        else:
            request.node = node
            self._send(request)

    def _send(self, request: _Request) -> None:
        self._in_flight[request.node] += 1
        for fault in self._faults[request.node]:
            if not fault.is_on(self._now):
                continue
            if fault.ill is Ill.REFUSING:
                self._at(self._now + 0.002, self._refuse, request)
                return
            if fault.ill is Ill.FAILING and request.dice < fault.share:
                low, high = fault.takes
                request.doom = fault.status
                request.service = low + (high - low) * request.dice / fault.share
        self._await(request, self._now + request.service, self._finish)

    def _await(self, request: _Request, at: float, step: _Step) -> None:
        """Let a request end at `at`, or earlier where its client gives up."""
        if at < inf and at <= request.gives_up:
            self._at(at, step, request)
        elif request.gives_up < inf:
            self._at(request.gives_up, self._give_up, request)
        else:
            self.record.failed += 1

    # Upstreams

    def _finish(self, request: _Request | None) -> None:
        assert request is not None
        for fault in self._faults[request.node]:
            if fault.ill is Ill.WEDGED and fault.is_on(self._now):
                self._await(request, inf, self._finish)
                return
        self._end(request, End.ANSWERED, request.doom or 200)

    def _refuse(self, request: _Request | None) -> None:
        assert request is not None
        self._end(request, End.REFUSED, None)

    def _give_up(self, request: _Request | None) -> None:
        assert request is not None
        self._end(request, End.ABANDONED, None)

    def _end(self, request: _Request, end: End, status: int | None) -> None:
        """Write the line of a request that ended."""
        self._in_flight[request.node] -= 1
        self.record.failed += status != 200
        self._offset += 1000
        waited = self._now - request.started
        attempt = Attempt(
            ended=self._now,
            upstream=self._addresses[request.node],
            end=end,
            started=request.started,
            status=status,
            header=waited if end is End.ANSWERED else None,
            header_came=end is End.ANSWERED,
            duration=waited,
            client=request.client,
            offset=self._offset,
        )
        self._follow(self.engine.feed([attempt]))

    # The proxy

    def _choose(self) -> int | None:
        """Choose as Caddy's `round_robin` does: the next that is in rotation and not full."""
        rotation = self._rotation
        for _ in rotation:
            self._robin += 1
            node = rotation[self._robin % len(rotation)]
            if node not in self._limited or not self._in_flight[node]:
                return node
        return None

    def _poll(self, _: _Request | None) -> None:
        counts = dict(zip(self._addresses, self._in_flight, strict=True))
        self._at(self._now + POLL, self._poll)
        self._follow(self.engine.feed([InFlight(self._now, counts, "one")]))

    def _tick(self, _: _Request | None) -> None:
        self._at(self._now + TICK, self._tick)
        self._follow(self.engine.feed([Idle(self._now)]))

    def _follow(self, decisions: list[Decision]) -> None:
        """Plan an apply for what was decided: soon, but not too soon after the last one."""
        self.record.decisions += decisions
        for decision in decisions if self._guided else ():
            if decision.enforced and decision.action is not Action.WITHHELD:
                waits = LIFT_WAITS if decision.action is Action.RECOVERED else COALESCE
                at = max(self._now + waits, self._applied_at + MIN_APPLY_INTERVAL)
                if at < self._apply_at:
                    self._apply_at = at
                    self._at(at, self._apply)

    def _apply(self, _: _Request | None) -> None:
        """Bring rotation and limits to what the engine wants now."""
        if self._now != self._apply_at:
            return
        self._apply_at, self._applied_at = inf, self._now
        members = list(self.engine.pools[POOL].members.values())
        inside = [index for index, member in enumerate(members) if member.ejection is None]
        limited = {index for index in inside if members[index].probation is not None}
        # No limit where no unlimited upstream would be left whose latest outcome is not bad (DESIGN section 6).
        free = [index for index in inside if index not in limited and members[index].window.latest is None]
        self._rotation, self._limited, self._robin = inside, limited if free else set(), 0
        self.record.fewest_in_rotation = min(self.record.fewest_in_rotation, len(inside))


def ejections(record: Record) -> Counter[str]:
    """Count the ejections of a run by upstream."""
    return Counter(one.upstream for one in record.decisions if one.action is Action.EJECT)
