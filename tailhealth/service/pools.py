"""Places as pools: which upstreams are chosen from together, under which name, and what the engine is told of them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from tailhealth.config.pools import joined
from tailhealth.core.model import Pool, PoolMember
from tailhealth.proxies.base import Place
from tailhealth.service.standing import Standing


class ProxyPool(msgspec.Struct, frozen=True):
    """Places with the same set of upstreams. Their entries are the operator's: what is out is among them."""

    addresses: tuple[str, ...]
    """The set, sorted."""
    places: tuple[Place, ...]


class NamedPool(msgspec.Struct, frozen=True):
    """A pool with its name. A `ProxyPool` is one of these, or several where the configuration tells its places apart."""

    name: str
    keys: frozenset[str]
    """Keys of its places."""
    hosts: tuple[str, ...] = ()
    """Host patterns that an attempt must match to count here; empty: any."""
    paths: tuple[str, ...] = ()


Naming: TypeAlias = Callable[[ProxyPool], Sequence[NamedPool]]
"""Names the pools of places with the same upstreams; places that it does not name are left alone."""


def plain_naming(pool: ProxyPool) -> Sequence[NamedPool]:
    """Name a pool as if the configuration had no tables: by its handler's id, else by its upstreams."""
    given = next((place.handler_id for place in pool.places if place.handler_id), None)
    return (NamedPool(given or joined(pool.addresses), frozenset(place.key for place in pool.places)),)


class Group(msgspec.Struct, frozen=True):
    """A named pool with its standings, in the order of the proxy's configuration."""

    named: NamedPool
    standings: tuple[Standing, ...]

    @property
    def name(self) -> str:
        """The pool's name."""
        return self.named.name

    def called(self, name: str) -> Group:
        """Return the same pool under another name."""
        return msgspec.structs.replace(self, named=msgspec.structs.replace(self.named, name=name))

    @property
    def problem(self) -> str:
        """Why it is not acted on: the first problem of its places."""
        return next((standing.problem for standing in self.standings if standing.problem), "")


def grouped(standings: Sequence[Standing], naming: Naming) -> tuple[Group, ...]:
    """Group places by their set of upstreams and name the groups; places without static upstreams have no pool."""
    sets: dict[tuple[str, ...], list[Standing]] = {}
    for standing in standings:
        if standing.original:
            sets.setdefault(tuple(sorted({entry.address for entry in standing.original})), []).append(standing)
    groups, taken = [], Counter[str]()
    for addresses, members in sets.items():
        places = tuple(msgspec.structs.replace(one.place, entries=one.original) for one in members)
        for named in naming(ProxyPool(addresses, places)):
            mine = tuple(one for one in members if one.place.key in named.keys)
            taken[named.name] += 1
            if taken[named.name] > 1:
                named = msgspec.structs.replace(named, name=f"{named.name}~{taken[named.name]}")  # noqa: PLW2901 - made unique
            if mine:
                groups.append(Group(named, mine))
    return tuple(groups)


def members(groups: Sequence[Group]) -> dict[str, tuple[str, ...]]:
    """Return the upstreams of each pool, by its name."""
    return {group.name: tuple(entry.address for entry in group.standings[0].original) for group in groups}


def shared_addresses(standings: Sequence[Standing]) -> frozenset[str]:
    """Find addresses that stand in more than one place: the proxy counts their requests in flight together."""
    places = Counter(address for one in standings for address in {entry.address for entry in one.original})
    return frozenset(address for address, count in places.items() if count > 1)


def core_pools(
    groups: Sequence[Group], standings: Sequence[Standing], held_down: frozenset[str], stopped: frozenset[str]
) -> tuple[Pool, ...]:
    """Tell the engine of all pools as the operator configured them.

    Args:
        groups: The named pools.
        standings: All places, for what is shared between them.
        held_down: Addresses that the proxy's own checks hold down.
        stopped: Names of pools that are not acted on any more.
    """
    shared = shared_addresses(standings)
    silent = frozenset(entry.address for one in standings if not one.place.logged for entry in one.original)
    return tuple(_pool(group, shared, silent, held_down, acting=group.name not in stopped) for group in groups)


def _pool(group: Group, shared: frozenset[str], silent: frozenset[str], held_down: frozenset[str], *, acting: bool) -> Pool:
    acting = acting and not group.problem
    entries = {entry.address: entry for entry in reversed(group.standings[0].original)}
    order = dict.fromkeys(entry.address for entry in group.standings[0].original)
    aliases = Counter(name for address in order for name in {address, *entries[address].names})
    members = tuple(
        PoolMember(
            address=address,
            names=entries[address].names,
            weight=entries[address].weight,
            backup=entries[address].backup,
            held_down=entries[address].held_down or address in held_down,
            shared=address in shared,
            unfollowed=address in silent,
            actionable=acting
            and not entries[address].problem
            and all(aliases[name] == 1 for name in {address, *entries[address].names}),
        )
        for address in order
    )
    sticky = any(standing.place.sticky for standing in group.standings)
    return Pool(group.name, members, group.named.hosts, group.named.paths, sticky)
