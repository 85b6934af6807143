"""From wishes to changes: what each place shall list, never nothing, with the limits that the rules allow. Pure.

The rules are those of DESIGN section 6 (`max_in_flight`) and section 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tailhealth.proxies.base import Change, Entry, UpstreamState
from tailhealth.service.pools import Group
from tailhealth.service.standing import Standing
from tailhealth.service.state import Kept, Listing, Wish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class Edit(msgspec.Struct, frozen=True):
    """One place that shall change."""

    pool: str
    standing: Standing
    aim: Listing
    urgent: bool
    """False: only limits are lifted, which waits for the next apply."""

    @property
    def whole(self) -> bool:
        """The place goes back to the operator's list."""
        return self.aim == self.standing.whole

    def change(self, mark: str | None) -> Change:
        """Tell the proxy."""
        original = self.standing.original
        if self.standing.place.removes:
            wanted = tuple(msgspec.structs.replace(original[index], limit=limit) for index, limit in self.aim)
        else:
            limits = dict(self.aim)
            wanted = tuple(
                msgspec.structs.replace(entry, limit=limits.get(index, entry.limit), out=index not in limits)
                for index, entry in enumerate(original)
            )
        return Change(self.standing.place, wanted, mark)

    def record(self, mark: str | None) -> Kept:
        """Write the intent down."""
        one = self.standing
        return Kept(one.place.key, mark, self.pool, one.original, one.listing, self.aim, one.place.generation)

    def mark(self, make: Callable[[], str]) -> str | None:
        """Choose the mark: none when all is as the operator had it, or where every upstream listed has an id of its own."""
        bare = any(not self.standing.original[index].own_id for index, _ in self.aim)
        if self.whole or not bare or not self.standing.place.removes:
            return None
        kept = self.standing.kept
        return kept.mark if kept is not None and kept.mark is not None else make()


class Plan(msgspec.Struct, frozen=True):
    """What is to be done, and what was wished and can't be."""

    edits: tuple[Edit, ...]
    denied: tuple[tuple[str, str], ...]
    """(pool, upstream) of removals that would have left a place without a serving upstream."""


def plan(
    groups: Sequence[Group],
    wishes: Mapping[tuple[str, str], Wish],
    shared: frozenset[str] = frozenset(),
    held_down: frozenset[str] = frozenset(),
) -> Plan:
    """Work out what each place shall list.

    Args:
        groups: The pools to act on; those with a problem are left alone.
        wishes: By pool and upstream; an upstream without one serves.
        shared: Addresses that stand in more than one place of the proxy.
        held_down: Upstreams that the proxy's own checks hold down.
    """
    edits: list[Edit] = []
    denied: dict[tuple[str, str], None] = {}
    for group in groups:
        if group.problem:
            continue
        wanted = {address: wish for (pool, address), wish in wishes.items() if pool == group.name}
        outs, refused = _outs(group, wanted)
        denied |= dict.fromkeys((group.name, address) for address in refused)
        limits = _limits(group, wanted, outs, shared, held_down)
        for standing in group.standings:
            edit = edit_to(group.name, standing, _listing(standing, outs, limits))
            if edit is not None:
                edits.append(edit)
    return Plan(tuple(edits), tuple(denied))


def _outs(group: Group, wanted: Mapping[str, Wish]) -> tuple[frozenset[str], list[str]]:
    """Choose what leaves: every wish, the oldest first, unless it left a place with nothing that can serve."""
    outs: set[str] = set()
    refused = []
    unable = {entry.address for standing in group.standings for entry in standing.original if entry.problem}
    order = {entry.address: index for index, entry in enumerate(group.standings[0].original)}
    leaving = [address for address in order if address in wanted and wanted[address].state is UpstreamState.OUT]
    for address in sorted(leaving, key=lambda one: (wanted[one].at, order[one])):
        trial = outs | {address}
        if address not in unable and all(_serves(standing.original, trial) for standing in group.standings):
            outs = trial
        else:
            refused.append(address)
    return frozenset(outs), refused


def _serves(original: Sequence[Entry], outs: Iterable[str]) -> bool:
    """Tell whether something is left: an upstream, and in every list of weights one above zero."""
    left = [entry for entry in original if entry.address not in outs]
    return bool(left) and all(any(shares) for shares in zip(*(entry.weights for entry in left), strict=True))


def _limits(
    group: Group, wanted: Mapping[str, Wish], outs: frozenset[str], shared: frozenset[str], held_down: frozenset[str]
) -> dict[str, int]:
    """Choose what is limited: nothing that is shared, and never the last upstream without a limit that is not bad itself."""
    entries = {entry.address: entry for entry in reversed(group.standings[0].original)}
    order = {entry.address: index for index, entry in enumerate(group.standings[0].original)}
    free = {
        address
        for address, entry in entries.items()
        if address not in outs | held_down and not entry.held_down and not entry.backup and entry.weight > 0
    }
    limits: dict[str, int] = {}
    asking = [one for one in order if one in wanted and wanted[one].state is UpstreamState.LIMITED]
    for address in sorted(asking, key=lambda one: (wanted[one].at, order[one])):
        wish = wanted[address]
        others = free - {address}
        good = others if wish.good_peers is None else others & set(wish.good_peers)
        if good and address not in shared and not entries[address].problem:
            limits[address] = wish.max_in_flight
            free = others
    return limits


def _listing(standing: Standing, outs: frozenset[str], limits: Mapping[str, int]) -> Listing:
    return tuple(
        (index, _limit(entry.limit, limits.get(entry.address)))
        for index, entry in enumerate(standing.original)
        if entry.address not in outs
    )


def _limit(own: int | None, ours: int | None) -> int | None:
    """Limit further, never less: 0 and an absent key mean that the operator has no limit."""
    if ours is None:
        return own
    return min(own, ours) if own else ours


def edit_to(pool: str, standing: Standing, aim: Listing) -> Edit | None:
    """Work out the change of one place to a listing; None: it is there already, and no mark is left over."""
    stray_mark = bool(standing.place.marks) and aim == standing.whole
    if aim == standing.listing and not stray_mark:
        return None
    now, then, own = dict(standing.listing), dict(aim), dict(standing.whole)
    urgent = now.keys() != then.keys() or any(now[index] != limit and limit != own[index] for index, limit in aim)
    return Edit(pool, standing, aim, urgent)
