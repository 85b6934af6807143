"""The hot path: attempts that are good whatever else is known, and change nothing but their window. Nearly all are like that.

What is taken here is judged exactly as `Engine` judges it one by one; a test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailhealth.core import judge
from tailhealth.core.model import Attempt, End, Origin
from tailhealth.core.order import Event
from tailhealth.core.registry import Registry

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
    places = registry.plain
    for index in range(first, len(events)):
        attempt = events[index]
        if attempt.__class__ is not Attempt:
            return index
        place = places.get(attempt.upstream)
        ended, header = attempt.ended, attempt.header
        if place is None or header is None or not frontier <= ended < until:
            return index
        pool, member = place
        if (
            header >= pool.plain_below
            or member.attentive
            or attempt.status in pool.not_plain
            or attempt.end is not _ANSWERED
            or attempt.started < member.acted_at
            or attempt.origin is not _ACCESS
        ):
            return index
        member.flights.ended += 1
        member.window.add(ended)
        member.totals.good += 1
        if (attempt.duration or 0.0) >= pool.long_body:
            pool.note_body(attempt, judge.GOOD)
    return len(events)
