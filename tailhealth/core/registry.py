"""Which upstreams there are, in which pools, and what is known of their requests in flight."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import msgspec

from tailhealth.core import judge
from tailhealth.core.carry import carry, resume
from tailhealth.core.flights import Flights
from tailhealth.core.heirs import heirs
from tailhealth.core.join import Join
from tailhealth.core.member import Member
from tailhealth.core.model import Attempt, Blind, Carried, InFlight, Paused, Pools, Started
from tailhealth.core.pool import PoolState
from tailhealth.core.rules import Settings
from tailhealth.core.strangers import Strangers

DISCOVERED = 256
"""So many upstreams of a log can form a pool; hostile requests can make more up, and those stay strangers."""
LOG_POOL = "log"
"""The one pool of all upstreams that the log shows, where nothing tells the pools."""


class Place(NamedTuple):
    """An upstream in one of its pools."""

    pool: PoolState
    member: Member


class Address(NamedTuple):
    """All that an address in the log stands for."""

    flights: Flights
    places: list[Place]


class Registry:
    """Pools by name and upstreams by address, with what they carried over a restart."""

    def __init__(self, settings: Settings, *, discover: bool) -> None:
        self.settings = settings
        self.pools: dict[str, PoolState] = {}
        self.strangers = Strangers()
        self.flights: dict[str, Flights] = {}
        self.plain: dict[str, Place] = {}
        """Upstreams of one pool only, by each address of theirs."""
        self._addresses: dict[str, Address] = {}
        self._discover = discover
        self._carried: dict[tuple[str, str], Carried] = {}
        self._paused: dict[str | None, Paused] = {}
        self._blind: dict[tuple[str, str | None], Blind] = {}

    def find(self, address: str) -> Address | None:
        """Return what an address of the log stands for; None: no pool has it."""
        found = self._addresses.get(address)
        if found is None and self._discover and len(self._addresses) < DISCOVERED:
            found = self._addresses[address] = self._discovered(address)
        return found

    def _discovered(self, address: str) -> Address:
        pool = self.pools.get(LOG_POOL)
        if pool is None:
            pool = self.pools[LOG_POOL] = self._new_pool(LOG_POOL, -inf)
        flights = self._flights_of(address)
        member = pool.add(address, flights)
        self._resume(pool, member)
        place = self.plain[address] = Place(pool, member)
        return Address(flights, [place])

    def start(self, started: Started) -> None:
        """Take what an earlier run carried over; each upstream takes it up when its pool is named."""
        self._carried = {(one.pool, one.upstream): one for one in started.carried}
        self._paused = {one.pool: one for one in started.paused}

    def take_pools(self, pools: Pools) -> None:
        """Take the operator's pools as they are now; pools and upstreams that are gone are forgotten."""
        self._discover = False
        known, self.pools = self.pools, {}
        self._addresses = {}
        named = {spec.name: [one.address for one in spec.members] for spec in pools.pools}
        old = heirs(self._known_upstreams(known), named)
        for new, gone in old.items():
            self._hand_on(gone, new)
        for order, spec in enumerate(pools.pools):
            pool = known.get(old.get(spec.name, spec.name)) or self._new_pool(spec.name, pools.at)
            if pool.name != spec.name:
                pool.name = spec.name
                pool.take_rules(self.settings.rules(spec.name))
            pool.order = order
            self.pools[spec.name] = pool
            for member in pool.update(spec, self._flights_of):
                self._resume(pool, member)
                self._remember(pool, member)
            for member in pool.members.values():
                for name in member.names:
                    address = self._addresses.setdefault(name, Address(member.flights, []))
                    address.places.append(Place(pool, member))
        self.plain = {name: one.places[0] for name, one in self._addresses.items() if len(one.places) == 1}
        in_use = {member.address for pool in self.pools.values() for member in pool.members.values()}
        self.flights = {name: flights for name, flights in self.flights.items() if name in in_use}
        self.strangers.forget(self._addresses)

    def reconfigure(self, settings: Settings) -> None:
        """Let other rules hold."""
        self.settings = settings
        for pool in self.pools.values():
            pool.take_rules(settings.rules(pool.name))

    def _known_upstreams(self, pools: dict[str, PoolState]) -> dict[str, list[str]]:
        """Return the upstreams of each pool, also of those that an earlier run told of and the proxy has not named yet."""
        known = {name: list(pool.members) for name, pool in pools.items()}
        for pool, upstream in self._carried:
            known.setdefault(pool, []).append(upstream)
        return known

    def _hand_on(self, old: str, new: str) -> None:
        """A pool goes on under another name, and what is kept by its name goes with it."""
        paused = self._paused.pop(old, None)
        if paused is not None:
            self._paused[new] = msgspec.structs.replace(paused, pool=new)
        for pool, upstream in [key for key in self._carried if key[0] == old]:
            self._carried[new, upstream] = msgspec.structs.replace(self._carried.pop((pool, upstream)), pool=new)

    def take_blind(self, blind: Blind) -> list[PoolState]:
        """Take that a source can't be trusted, or can again.

        Returns:
            The pools that may see again now.
        """
        if blind.reason is not None:
            self._blind[blind.source, blind.pool] = blind
        else:
            ended = [one for one in self._blind if one[0] == blind.source and blind.pool in (None, one[1])]
            for one in ended:
                del self._blind[one]
        concerned = [pool for pool in self.pools.values() if blind.pool in (None, pool.name)]
        for pool in concerned:
            if blind.reason is not None:
                pool.blind[blind.source] = blind.reason
        return [pool for pool in concerned if blind.reason is None and pool.blind.pop(blind.source, None) is not None]

    def carry(self) -> tuple[Carried, ...]:
        """Return what must survive a restart, also of upstreams that the proxy has not named yet."""
        known = [carry(member, pool.name) for pool in self.pools.values() for member in pool.members.values()]
        return (*(one for one in known if one is not None), *self._carried.values())

    def pause(self, paused: Paused) -> list[PoolState]:
        """Remember a pause, for pools that the proxy names later too.

        Returns:
            The pools that it stops.
        """
        if paused.pool is None:
            self._paused.clear()
        self._paused[paused.pool] = paused
        stopped = [pool for pool in self.pools.values() if paused.pool in (None, pool.name)]
        for pool in stopped:
            pool.paused = paused
        return stopped

    def resume(self, name: str | None) -> list[PoolState]:
        """Forget a pause: of one pool, or of all.

        Returns:
            The pools that go on.
        """
        if name is None:
            self._paused.clear()
        else:
            everywhere = self._paused.pop(None, None)
            if everywhere is not None:
                for known in self.pools:
                    self._paused.setdefault(known, msgspec.structs.replace(everywhere, pool=known))
            self._paused.pop(name, None)
        going_on = [pool for pool in self.pools.values() if name in (None, pool.name)]
        for pool in going_on:
            pool.paused = None
        return going_on

    def carry_paused(self, at: float) -> tuple[Paused, ...]:
        """Return the operator's pauses that are still on at `at`."""
        return tuple(one for one in self._paused.values() if _is_on(one, at))

    def shift(self, by: float) -> None:
        """Move every running time with a wall clock that was set."""
        for flights in self.flights.values():
            flights.shift(by)
        for pool in self.pools.values():
            pool.shift(by)
        for name, paused in self._paused.items():
            if paused.until is not None:
                self._paused[name] = msgspec.structs.replace(paused, until=paused.until + by)
        self.strangers.forget_attempts()

    def sample(self, sample: InFlight, at: float, join: Join) -> None:
        """Take the proxy's count of requests in flight."""
        keep = max((pool.long_body for pool in self.pools.values() if pool.long_body < inf), default=0.0)
        streaming: dict[str, int] = {}
        if join.active:
            members = (member for pool in self.pools.values() for member in pool.members.values())
            streaming = {member.address: join.streaming(member.names) for member in members}
        for address, flights in self.flights.items():
            count = None if sample.counts is None else sample.counts.get(address, 0)
            flights.sample(at, count, sample.process, streaming.get(address, 0), keep)

    def end_one(self, attempt: Attempt, join: Join) -> None:
        """A line shows that a request no longer waits at its upstream, unless an earlier line showed it already."""
        address = self.find(attempt.upstream)
        if address is not None and join.tells_an_end(attempt):
            address.flights.ended += 1

    def end_any(self) -> None:
        """A record without an upstream ended some request in flight: it may have been any of them."""
        for flights in self.flights.values():
            flights.ended += 1

    def _new_pool(self, name: str, at: float) -> PoolState:
        pool = PoolState(name, len(self.pools), self.settings.rules(name))
        paused = self._paused.get(name) or self._paused.get(None)
        pool.paused = paused if paused is not None and _is_on(paused, at) else None
        pool.blind = {one.source: one.reason for one in self._blind.values() if one.reason and one.pool in (None, name)}
        return pool

    def _flights_of(self, address: str) -> Flights:
        return self.flights.setdefault(address, Flights())

    def _resume(self, pool: PoolState, member: Member) -> None:
        carried = self._carried.pop((pool.name, member.address), None)
        if carried is not None:
            resume(member, carried)
            if member.ejection is not None:
                pool.last_ejection = max(pool.last_ejection, member.ejection.since)

    def _remember(self, pool: PoolState, member: Member) -> None:
        """Fill the window of an upstream with what the log told before the proxy named it."""
        for name in member.names:
            for attempt in self.strangers.recall(name):
                if not pool.takes(attempt):
                    continue
                outcome = judge.judge(attempt, pool.rules.bad)
                pool.note_body(attempt, outcome)
                if outcome is not judge.ROUTE and attempt.started >= member.acted_at and member.ejection is None:
                    member.note(attempt, outcome)


def _is_on(paused: Paused, at: float) -> bool:
    return paused.until is None or paused.until > at
