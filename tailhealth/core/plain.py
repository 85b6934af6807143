"""The hot path: attempts that are good whatever else is known, and change nothing but their window. Nearly all are like that.

What is taken here is judged exactly as `Engine` judges it one by one; a test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tailhealth.core.bulk import Bulk
from tailhealth.core.member import Member
from tailhealth.core.model import Attempt, End, Origin
from tailhealth.core.order import Entry
from tailhealth.core.registry import Place, Registry

_ACCESS, _ANSWERED = Origin.ACCESS, End.ANSWERED


class Taken(NamedTuple):
    """How far plain attempts were taken."""

    stop: int
    """Index of the first entry that is not plain, or not due yet."""
    attempts: int
    """How many attempts were taken."""
    frontier: float
    """Up to which time everything is judged now."""


def take_plain(registry: Registry, entries: Sequence[Entry], first: int, frontier: float, until: float) -> Taken:
    """Take plain attempts, as long as there are some.

    Args:
        registry: Where the upstreams are.
        entries: In order.
        first: Index of the first one to look at.
        frontier: Up to which time everything is judged: what ended before is late, and not plain.
        until: When something else is due: what ended then or later is not taken.
    """
    stop, count = first, 0
    while stop < len(entries):
        entry = entries[stop]
        if isinstance(entry, Bulk):
            if not _take_bulk(registry, entry, frontier, until):
                break
            stop, count, frontier = stop + 1, count + entry.count, entry.last
        else:
            begin, stop = stop, _take_singles(registry, entries, stop, frontier, until)
            if stop == begin:
                break
            count, frontier = count + stop - begin, entries[stop - 1].ended
    return Taken(stop, count, frontier)


def _take_bulk(registry: Registry, bulk: Bulk, frontier: float, until: float) -> bool:
    """Take a bulk if all its attempts are plain for certain; tell whether they were taken."""
    if not frontier <= bulk.ended <= bulk.last < until:
        return False
    taken: list[tuple[Member, list[float]]] = []
    for upstream, share in bulk.shares.items():
        place = registry.plain.get(upstream)
        if place is None:
            return False
        pool, member = place
        if (
            member.attentive
            or share.header >= pool.plain_below
            or share.duration >= pool.long_body
            or share.ends[0] - share.duration < member.acted_at
            or not pool.not_plain.isdisjoint(bulk.statuses)
        ):
            return False
        taken.append((member, share.ends))
    for member, ends in taken:
        member.take_good(ends)
    return True


def _take_singles(registry: Registry, entries: Sequence[Entry], first: int, frontier: float, until: float) -> int:
    """Take attempts that come by themselves; return the index of the first entry that is not plain."""
    runs: dict[str, _Run] = {}
    last, stop = frontier, len(entries)
    for index in range(first, stop):
        attempt = entries[index]
        if not isinstance(attempt, Attempt):
            stop = index
            break
        ended, header, upstream = attempt.ended, attempt.header, attempt.upstream
        run = runs.get(upstream)
        if run is None:
            place = registry.plain.get(upstream)
            if place is None or place.member.attentive:
                stop = index
                break
            run = runs[upstream] = _run(place)
        ends, below, not_plain, acted_at, long_body, _ = run
        if (
            header is None
            or header >= below
            or not last <= ended < until
            or attempt.status in not_plain
            or attempt.end is not _ANSWERED
            or attempt.started < acted_at
            or attempt.origin is not _ACCESS
            or (attempt.duration or 0.0) >= long_body
        ):
            stop = index
            break
        last = ended
        ends.append(ended)
    for run in runs.values():
        run.member.take_good(run.ends)
    return stop


class _Run(NamedTuple):
    """An upstream's part of a run of plain attempts: when they ended, and what makes one plain."""

    ends: list[float]
    below: float
    not_plain: frozenset[int]
    acted_at: float
    long_body: float
    member: Member


def _run(place: Place) -> _Run:
    pool, member = place
    return _Run([], pool.plain_below, pool.not_plain, member.acted_at, pool.long_body, member)
