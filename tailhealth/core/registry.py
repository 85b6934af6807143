"""Which upstreams there are, in which pools, and what is known of their requests in flight."""

from __future__ import annotations

from typing import NamedTuple

from tailhealth.core import judge
from tailhealth.core.flights import Flights
from tailhealth.core.member import Member
from tailhealth.core.model import Blind, Carried, Paused, Pools, Started
from tailhealth.core.pool import PoolState
from tailhealth.core.rules import Settings
from tailhealth.core.strangers import Strangers

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
        self._addresses: dict[str, Address] = {}
        self._discover = discover
        self._carried: dict[tuple[str, str], Carried] = {}
        self._paused: tuple[Paused, ...] = ()
        self._blind: dict[str, Blind] = {}

    def find(self, address: str) -> Address | None:
        """Return what an address of the log stands for; None: no pool has it."""
        found = self._addresses.get(address)
        if found is None and self._discover:
            found = self._addresses[address] = self._discovered(address)
        return found

    def _discovered(self, address: str) -> Address:
        pool = self.pools.get(LOG_POOL)
        if pool is None:
            pool = self.pools[LOG_POOL] = self._new_pool(LOG_POOL)
        flights = self._flights_of(address)
        member = pool.add(address, flights)
        self._resume(pool, member)
        return Address(flights, [Place(pool, member)])

    def start(self, started: Started) -> None:
        """Take what an earlier run carried over; each upstream takes it up when its pool is named."""
        self._carried = {(one.pool, one.upstream): one for one in started.carried}
        self._paused = started.paused

    def take_pools(self, pools: Pools) -> None:
        """Take the operator's pools as they are now; pools and upstreams that are gone are forgotten."""
        self._discover = False
        known, self.pools = self.pools, {}
        self._addresses = {}
        for order, spec in enumerate(pools.pools):
            pool = known.get(spec.name) or self._new_pool(spec.name)
            pool.order = order
            self.pools[spec.name] = pool
            for member in pool.update(spec, self._flights_of):
                self._resume(pool, member)
                self._remember(pool, member)
            for member in pool.members.values():
                for name in _names(member):
                    address = self._addresses.setdefault(name, Address(member.flights, []))
                    address.places.append(Place(pool, member))
        in_use = {member.address for pool in self.pools.values() for member in pool.members.values()}
        self.flights = {name: flights for name, flights in self.flights.items() if name in in_use}

    def take_blind(self, blind: Blind) -> list[PoolState]:
        """Take that a source can't be trusted, or can again.

        Returns:
            The pools that may see again now.
        """
        if blind.reason is None:
            self._blind.pop(blind.source, None)
        else:
            self._blind[blind.source] = blind
        concerned = [pool for pool in self.pools.values() if blind.pool in (None, pool.name)]
        for pool in concerned:
            if blind.reason is not None:
                pool.blind[blind.source] = blind.reason
        return [pool for pool in concerned if blind.reason is None and pool.blind.pop(blind.source, None) is not None]

    def carry(self) -> tuple[Carried, ...]:
        """Return what must survive a restart, also of upstreams that the proxy has not named yet."""
        known = [member.carry(pool.name) for pool in self.pools.values() for member in pool.members.values()]
        return (*(one for one in known if one is not None), *self._carried.values())

    def carry_paused(self) -> tuple[Paused, ...]:
        """Return the operator's pauses that are still on."""
        return tuple(dict.fromkeys(pool.paused for pool in self.pools.values() if pool.paused is not None))

    def shift(self, by: float) -> None:
        """Move every running time with a wall clock that was set."""
        for flights in self.flights.values():
            flights.shift(by)
        for pool in self.pools.values():
            pool.shift(by)

    def _new_pool(self, name: str) -> PoolState:
        pool = PoolState(name, len(self.pools), self.settings.rules(name))
        pool.paused = next((one for one in self._paused if one.pool in (None, name)), None)
        pool.blind = {source: one.reason for source, one in self._blind.items() if one.reason and one.pool in (None, name)}
        return pool

    def _flights_of(self, address: str) -> Flights:
        return self.flights.setdefault(address, Flights())

    def _resume(self, pool: PoolState, member: Member) -> None:
        carried = self._carried.pop((pool.name, member.address), None)
        if carried is not None:
            member.resume(carried)
            if member.ejection is not None:
                pool.last_ejection = max(pool.last_ejection, member.ejection.since)

    def _remember(self, pool: PoolState, member: Member) -> None:
        """Fill the window of an upstream with what the log told before the proxy named it."""
        for name in _names(member):
            for attempt in self.strangers.recall(name):
                if pool.takes(attempt) and attempt.started >= member.acted_at and member.ejection is None:
                    member.note(attempt, judge.judge(attempt, pool.rules.bad))


def _names(member: Member) -> dict[str, None]:
    return dict.fromkeys((member.address, *member.spec.names))
