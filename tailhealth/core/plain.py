"""The hot path: attempts that are good whatever else is known, and change nothing but their window. Nearly all are like that.

What is taken here is judged exactly as `Engine` judges it one by one; a test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from tailhealth.core.bulk import Bulk
from tailhealth.core.join import Join
from tailhealth.core.judge import SWITCHING_PROTOCOLS, UPLOAD_BYTES
from tailhealth.core.member import Member
from tailhealth.core.model import Attempt, End, Origin
from tailhealth.core.order import Entry
from tailhealth.core.registry import Place, Registry

_ACCESS, _ROUNDTRIP, _ANSWERED = Origin.ACCESS, Origin.ROUNDTRIP, End.ANSWERED


class Taken(NamedTuple):
    """How far plain attempts were taken."""

    stop: int
    """Index of the first entry that is not plain, or not due yet."""
    attempts: int
    """How many attempts were taken."""
    frontier: float
    """Up to which time everything is judged now."""


def take_plain(  # noqa: PLR0917 - a part of one list, and what it depends on
    registry: Registry, join: Join, entries: Sequence[Entry], first: int, frontier: float, until: float
) -> Taken:
    """Take plain attempts, as long as there are some.

    Args:
        registry: Where the upstreams are.
        join: What round-trip lines told.
        entries: In order.
        first: Index of the first one to look at.
        frontier: Up to which time everything is judged: what ended before is late, and not plain.
        until: When something else is due: what ended then or later is not taken.
    """
    if join.active:
        return _take_joined(registry, join, entries, first, frontier, until)
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
    last, stop = frontier, first
    for index in range(first, len(entries)):
        attempt = entries[index]
        if not isinstance(attempt, Attempt) or attempt.origin is not _ACCESS or not last <= attempt.ended < until:
            break
        run = runs.get(attempt.upstream)
        if run is None:
            place = registry.plain.get(attempt.upstream)
            if place is None:
                break
            run = runs[attempt.upstream] = _run(place)
        if not _is_plain(attempt, run):
            break
        last, stop = attempt.ended, index + 1
        run.ends.append(last)
    for run in runs.values():
        run.member.take_good(run.ends)
    return stop


def _take_joined(  # noqa: PLR0917 - as `take_plain`
    registry: Registry, join: Join, entries: Sequence[Entry], first: int, frontier: float, until: float
) -> Taken:
    """Take plain attempts where round-trip lines tell of them, and access lines that only confirm a plain one."""
    runs: dict[str, _Run] = {}
    last, count, stop = frontier, 0, first
    for index in range(first, len(entries)):
        attempt = entries[index]
        if not isinstance(attempt, Attempt) or not last <= attempt.ended < until:
            break
        upstream = attempt.upstream
        run = runs.get(upstream)
        if run is None:
            place = registry.plain.get(upstream)
            if place is None:
                break
            run = runs[upstream] = _run(place)
        is_access = attempt.origin is _ACCESS
        told = join.running(attempt) if is_access else None
        if told is not None:
            if not (join.judges(upstream) and _confirms(attempt, told, run)):
                break
            join.confirm(attempt)
        elif _is_plain(attempt, run) and (not join.judges(upstream) if is_access else attempt.origin is _ROUNDTRIP):
            if not is_access:
                join.begin(attempt)
            run.ends.append(attempt.ended)
            count += 1
        else:
            break
        last, stop = attempt.ended, index + 1
    for run in runs.values():
        run.member.take_good(run.ends)
    return Taken(stop, count, last)


def _is_plain(attempt: Attempt, run: _Run) -> bool:
    """Tell whether an attempt is good for certain and changes nothing but its window."""
    header, duration = attempt.header, attempt.duration
    _, below, not_plain, acted_at, long_body, _, _ = run
    return (
        header is not None
        and header < below
        and attempt.status not in not_plain
        and attempt.end is _ANSWERED
        and attempt.started >= acted_at
        and (duration is None or duration < long_body)
    )


def _confirms(access: Attempt, told: Attempt, run: _Run) -> bool:
    """Tell whether an access line leaves the outcome of its round trip as it is, and tells of no long body."""
    if (access.duration or 0.0) >= run.long_body or told.status == SWITCHING_PROTOCOLS:
        return False
    # Only an upload can excuse a slow header, only `Retry-After` an error.
    adds_nothing = run.is_simple and access.body_bytes < UPLOAD_BYTES and not access.retry_after
    return adds_nothing or _is_plain(told, run)


class _Run(NamedTuple):
    """An upstream's part of a run of plain attempts: when they ended, and what makes one plain."""

    ends: list[float]
    below: float
    not_plain: frozenset[int]
    acted_at: float
    long_body: float
    member: Member
    is_simple: bool
    """An attempt is judged by its status, its header time and its end alone."""


def _run(place: Place) -> _Run:
    pool, member = place
    below = -inf if member.attentive else pool.plain_below
    return _Run([], below, pool.not_plain, member.acted_at, pool.long_body, member, pool.plain_below > -inf)
