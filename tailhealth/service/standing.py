"""What a place's list says about us and about the operator (DESIGN section 8, drift and the operator's will). Pure.

A place with a record is told by the record's mark: a configuration that the operator loads wipes it, a change by the admin
interface leaves it. From both follows the operator's own list, ejected upstreams included, and which of it is listed now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UnsetType

from tailhealth.proxies.base import Entry, Place
from tailhealth.service.state import Kept, Listing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Standing(msgspec.Struct, frozen=True):
    """A place with what we know of it."""

    place: Place
    original: tuple[Entry, ...]
    """The operator's list: with what we took out, and with his own limits."""
    listing: Listing
    """What is listed now, and with which limit."""
    kept: Kept | None = None
    """Our record of it, as long as it holds."""
    returned: frozenset[str] = frozenset()
    """Ejected upstreams that the operator put back by hand, or limited ones whose limit he took away."""
    changed: bool = False
    """The operator changed the list by hand in another way."""
    lost: bool = False
    """A configuration was loaded, and our changes went with it: they are to be made again."""
    problem: str = ""
    """Why it is not acted on."""

    @property
    def whole(self) -> Listing:
        """The operator's list as a listing."""
        return tuple((index, entry.limit) for index, entry in enumerate(self.original))

    @property
    def out(self) -> frozenset[str]:
        """Addresses of which no entry is listed."""
        listed = {self.original[index].address for index, _ in self.listing}
        return frozenset(entry.address for entry in self.original) - listed


class Survey(msgspec.Struct, frozen=True):
    """All places of a snapshot, and the records that no place answers to."""

    standings: tuple[Standing, ...]
    orphans: tuple[Kept, ...]
    """The mark is gone: the operator loaded a configuration, or our change was never made."""


def survey(
    places: Iterable[Place], records: Sequence[Kept], owns: Callable[[str], bool], retired: Sequence[Kept] = ()
) -> Survey:
    """Join places and records.

    Args:
        places: As they are read.
        records: Those that ought to be answered to.
        owns: Tells our marks from those of other controllers.
        retired: Records that only count if their mark is back.
    """
    left = list(records)
    standings = []
    for place in places:
        kept = next((one for one in left if _answers(place, one)), None)
        if kept is not None:
            left.remove(kept)
        else:
            kept = next((one for one in retired if one.mark in place.marks), None)
        standings.append(_stand(place, kept, owns))
    return Survey(tuple(standings), tuple(left))


def _answers(place: Place, kept: Kept) -> bool:
    """Tell whether a place is the one of a record: by its mark, or where none could be set by list and path."""
    if kept.mark is not None:
        return kept.mark in place.marks
    return kept.key == place.key and (not place.removes or _fitting(place, kept) is not None)


def _stand(place: Place, kept: Kept | None, owns: Callable[[str], bool]) -> Standing:
    strange = [mark for mark in place.marks if not owns(mark)]
    unrecorded = [mark for mark in place.marks if owns(mark) and kept is None]
    problem = place.problem
    if strange:
        problem = (
            f"it carries {strange[0]}, the mark of another tailhealth or of a lost state file: stop the other one, "
            "or load the proxy's configuration again"
        )
    elif unrecorded:
        problem = f"it carries {unrecorded[0]}, of which there is no record: load the proxy's configuration again"
    if not place.removes:
        return _flagged(place, kept, problem)
    if kept is None:
        whole = tuple((index, entry.limit) for index, entry in enumerate(place.entries))
        return Standing(place, place.entries, whole, problem=problem)
    fitting = _fitting(place, kept)
    if fitting is not None:
        return Standing(place, kept.original, fitting, kept, problem=problem)
    return msgspec.structs.replace(_by_hand(place, kept), problem=problem)


def same(one: Entry, other: Entry) -> bool:
    """Tell whether two entries are the same object of the operator's, limits apart."""
    return one.raw == other.raw and one.weights == other.weights


def _fitting(place: Place, kept: Kept) -> Listing | None:
    """Find which of our lists it is: the one meant to be made, else the one that we left."""
    for listing in (kept.aim, kept.left):
        if listing is not None and _is(place.entries, kept.original, listing):
            return listing
    return None


def _is(entries: Sequence[Entry], original: Sequence[Entry], listing: Listing) -> bool:
    return len(entries) == len(listing) and all(
        entry.limit == limit and same(entry, original[index]) for entry, (index, limit) in zip(entries, listing, strict=True)
    )


def _flagged(place: Place, kept: Kept | None, problem: str) -> Standing:
    """Stand for a proxy that keeps upstreams listed and marks them out: the list itself is always the operator's."""
    entries = tuple(msgspec.structs.replace(entry, out=False) for entry in place.entries)
    listing = tuple((index, entry.limit) for index, entry in enumerate(place.entries) if not entry.out)
    if kept is None:
        return Standing(place, tuple(_own(entry, None, None) for entry in entries), listing, problem=problem)
    found = _pair(entries, kept.original, frozenset(range(len(kept.original))))
    entries = tuple(_own(entry, index, kept) for entry, index in zip(entries, found, strict=True))
    gone = frozenset(
        now.address
        for now, own, index in zip(place.entries, entries, found, strict=True)
        if index is not None and not now.out and now.limit == own.limit and _ours(kept, index, now.limit)
    )
    loaded = place.generation != kept.generation
    returned = frozenset() if loaded else gone
    return Standing(place, entries, listing, kept, returned=returned, problem=problem, lost=loaded and bool(gone))


def _ours(kept: Kept, index: int, limit: int | None) -> bool:
    """Tell whether an entry that stands free with this limit ought to be out, or limited by us, by each of our lists."""
    lists = [dict(one) for one in (kept.left, kept.aim) if one is not None]
    own = kept.original[index].limit
    return all(index not in one or one[index] not in {own, limit} for one in lists)


def _own(entry: Entry, index: int | None, kept: Kept | None) -> Entry:
    """Give an entry the operator's limit where it has ours; any other limit is one that he set."""
    if not isinstance(entry.own_limit, UnsetType):
        return msgspec.structs.replace(entry, limit=entry.own_limit)
    if index is None or kept is None or entry.limit == kept.original[index].limit:
        return entry
    ours = {limit for listing in (kept.left, kept.aim or ()) for listed, limit in listing if listed == index}
    return msgspec.structs.replace(entry, limit=kept.original[index].limit) if entry.limit in ours else entry


def _by_hand(place: Place, kept: Kept) -> Standing:
    """The mark stands and the list is none of ours: the operator changed it by the admin interface.

    His list is the original, and what we had taken out returns to it after its nearest earlier neighbour that is still there.
    """
    left, aim = dict(kept.left), dict(kept.left if kept.aim is None else kept.aim)
    found = _pair(place.entries, kept.original, frozenset(left) & frozenset(aim))
    returned = {index for index in found if index is not None and index not in left and index not in aim}
    rows: list[tuple[Entry, int | None, bool]] = [
        (_own(entry, index, kept), index, True) for entry, index in zip(place.entries, found, strict=True)
    ]
    slots = len(place.entries[0].weights) if place.entries else len(kept.original[0].weights)
    for index, entry in enumerate(kept.original):
        if index not in found and (index not in left or index not in aim):
            weights = (*entry.weights, *(1,) * slots)[:slots]
            rows.insert(_after(rows, index), (msgspec.structs.replace(entry, weights=weights), index, False))
    rest = [entry for entry, index in zip(place.entries, found, strict=True) if index not in returned]
    return Standing(
        place,
        original=tuple(entry for entry, _, _ in rows),
        listing=_listing(place, rows),
        kept=kept,
        returned=frozenset(kept.original[index].address for index in returned),
        changed=not any(_is(rest, kept.original, one) for one in (kept.aim, kept.left) if one is not None),
    )


def _pair(entries: Sequence[Entry], original: Sequence[Entry], listed: frozenset[int]) -> list[int | None]:
    """Find the entry of the original that each listed one is: by address, those that ought to be listed first."""
    free = sorted(range(len(original)), key=lambda index: (index not in listed, index))
    found: list[int | None] = []
    for entry in entries:
        index = next((one for one in free if original[one].address == entry.address), None)
        if index is not None:
            free.remove(index)
        found.append(index)
    return found


def _after(rows: Sequence[tuple[Entry, int | None, bool]], index: int) -> int:
    """Find where an entry of the original returns to."""
    positions = {origin: position for position, (_, origin, _) in enumerate(rows) if origin is not None}
    return next((positions[earlier] + 1 for earlier in range(index - 1, -1, -1) if earlier in positions), 0)


def _listing(place: Place, rows: Sequence[tuple[Entry, int | None, bool]]) -> Listing:
    limits = iter(entry.limit for entry in place.entries)
    return tuple((position, next(limits)) for position, (_, _, listed) in enumerate(rows) if listed)
