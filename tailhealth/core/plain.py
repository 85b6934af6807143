"""The hot path: attempts that are good whatever else is known, and change nothing but their window. Nearly all are like that.

What is taken here is judged exactly as `Engine` judges it one by one; a test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tailhealth.core.member import Member
from tailhealth.core.model import Attempt, End, Origin
from tailhealth.core.order import Event
from tailhealth.core.registry import Place, Registry

_ACCESS, _ANSWERED = Origin.ACCESS, End.ANSWERED


def take_plain(registry: Registry, events: Sequence[Event], first: int, frontier: float, until: float) -> int:
    """Take plain attempts from the event of index `first` on, as long as there are some.

    Args:
        registry: Where the upstreams are.
        events: In order.
        first: Index of the first one to look at.
        frontier: Up to which time everything is judged: what ended before is late, and not plain.
        until: When something else is due: what ended then or later is not taken.

    Returns:
        The index of the first event that is not plain, or not due yet.
    """
    runs: dict[str, _Run] = {}
    last, stop = frontier, len(events)
    for index in range(first, stop):
        attempt = events[index]
        if attempt.__class__ is not Attempt:
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
