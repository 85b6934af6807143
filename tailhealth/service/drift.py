"""What a survey tells of the operator: configurations he loaded, lists he changed by hand, upstreams he deleted. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tailhealth.service.standing import Standing, Survey, same
from tailhealth.service.state import Contents, Kept, Wish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tailhealth.proxies.base import Entry
    from tailhealth.service.pools import Group

RETIRED = 20
"""How many records without a place are remembered."""

Key: TypeAlias = tuple[str, str]
"""Pool and upstream."""


class What(StrEnum):
    """What the operator did."""

    LOADED = "loaded"
    """He loaded a configuration: our mark or our changes are gone, or a list that nothing was out of is another one."""
    HAND = "hand"
    """He changed the list by the admin interface, or in the include file."""
    GONE = "gone"
    """An upstream that was out or limited is not in his list any more: it is never put back."""


class Drift(msgspec.Struct, frozen=True):
    """One thing he did."""

    what: What
    pool: str
    key: str
    """The place."""
    upstreams: tuple[str, ...] = ()
    """Upstreams whose ejection or limit ends by that."""


def drifts(
    found: Survey, groups: Sequence[Group], before: Mapping[str, tuple[Entry, ...]], wishes: Mapping[Key, Wish]
) -> tuple[Drift, ...]:
    """Compare what is read with what is recorded.

    Args:
        found: The places as they are.
        groups: The same, as pools by the names that they had when they were desired to be otherwise.
        before: The operator's lists as last read, by the place's key.
        wishes: What is desired to be out or limited.
    """
    result = [Drift(What.LOADED, orphan.pool, orphan.key) for orphan in found.orphans if orphan.aim is None]
    noted = {one.key for one in result}
    for group in groups:
        for standing in group.standings:
            one = _of_place(group.name, standing, before.get(standing.place.key), wishes)
            if one is not None and one.key not in noted:
                result.append(one)
    present = {(group.name, entry.address) for group in groups for one in group.standings for entry in one.original}
    result += [Drift(What.GONE, pool, "", (upstream,)) for pool, upstream in wishes if (pool, upstream) not in present]
    return tuple(result)


def _of_place(pool: str, standing: Standing, before: tuple[Entry, ...] | None, wishes: Mapping[Key, Wish]) -> Drift | None:
    key = standing.place.key
    if standing.kept is not None and (standing.changed or standing.returned):
        here = dict.fromkeys(entry.address for entry in standing.kept.original)
        ends = tuple(one for one in here if (pool, one) in wishes and (standing.changed or one in standing.returned))
        return Drift(What.HAND, pool, key, ends)
    if standing.lost or (before is not None and not _equal(before, standing.original)):
        return Drift(What.LOADED, pool, key)
    return None


def _equal(one: Sequence[Entry], other: Sequence[Entry]) -> bool:
    return len(one) == len(other) and all(
        same(left, right) and left.limit == right.limit for left, right in zip(one, other, strict=True)
    )


def records(found: Survey, contents: Contents) -> dict[str, tuple[Kept, ...]]:
    """Write the records anew from what was read: a change that is found made is confirmed by that.

    Where all is as the operator had it, and no mark has to be taken away, there is nothing to record.

    Returns:
        Fields of the state file.
    """
    kept = tuple(
        Kept(one.place.key, one.kept.mark, one.kept.pool, one.original, one.listing, generation=one.place.generation)
        for one in found.standings
        if one.kept is not None and (one.listing != one.whole or one.place.marks)
    )
    marks = {one.mark for one in kept} | {None}
    retired = tuple(one for one in (*contents.kept, *contents.retired) if one.mark not in marks)
    return {"kept": kept, "retired": retired[:RETIRED]}
