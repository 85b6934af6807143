"""Many plain attempts at once: what has to be known of them together, and the attempts themselves when someone asks.

Nearly all attempts are good whatever else is known, and change nothing but their upstream's window. To make a value of each
of them would cost more than to read its line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from math import inf
from operator import attrgetter

from tailhealth.core.model import Attempt

_place = attrgetter("ended", "file", "offset")


class Share:
    """One upstream's part of a bulk."""

    __slots__ = ("duration", "ends", "header")

    def __init__(self) -> None:
        self.ends: list[float] = []
        """When its attempts ended, in order."""
        self.header = 0.0
        """No header took longer, in seconds."""
        self.duration = 0.0
        """No attempt took longer, in seconds."""


class Bulk:
    """Attempts that were answered with a header and told of by access lines. Treat it as frozen.

    Args:
        shares: Their upstreams' parts, none of them empty.
        statuses: Each of their statuses is among these.
        file: Index of their file; None if they are of several.
        make: Makes the attempts, in the order of their lines.
    """

    __slots__ = ("_made", "_make", "count", "ended", "file", "last", "shares", "statuses")

    def __init__(
        self, shares: dict[str, Share], statuses: frozenset[int], file: int | None, make: Callable[[], list[Attempt]]
    ) -> None:
        self.shares = shares
        self.statuses = statuses
        self.file = file
        self.count = 0
        self.ended = inf
        """When the first one ended: a bulk's place in the order is that of its first attempt."""
        self.last = -inf
        """When the last one ended."""
        for share in shares.values():
            ends = share.ends
            self.count += len(ends)
            self.ended = min(self.ended, ends[0])
            self.last = max(self.last, ends[-1])
        self._make = make
        self._made: list[Attempt] | None = None

    @property
    def ends(self) -> list[float]:
        """Return when each ended, in any order."""
        return [end for share in self.shares.values() for end in share.ends]

    def attempts(self) -> list[Attempt]:
        """Return the attempts one by one, as their lines stand."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def in_order(self) -> list[Attempt]:
        """Return the attempts one by one, in the order of their ends."""
        return sorted(self.attempts(), key=_place)

    def split(self, at: float) -> tuple[Bulk | None, Bulk | None]:
        """Return the part that ended before `at` and the one that did not; None for an empty one."""
        if self.last < at:
            return self, None
        if self.ended >= at:
            return None, self
        before: dict[str, Share] = {}
        after: dict[str, Share] = {}
        for upstream, share in self.shares.items():
            cut = bisect_left(share.ends, at)
            for part, ends in ((before, share.ends[:cut]), (after, share.ends[cut:])):
                if ends:
                    part[upstream] = _part(ends, share)
        return (
            Bulk(before, self.statuses, self.file, lambda: [one for one in self.attempts() if one.ended < at]),
            Bulk(after, self.statuses, self.file, lambda: [one for one in self.attempts() if one.ended >= at]),
        )


def _part(ends: list[float], share: Share) -> Share:
    part = Share()
    part.ends, part.header, part.duration = ends, share.header, share.duration
    return part


def joined(parts: Iterable[tuple[str, Share]]) -> dict[str, Share]:
    """Put shares together that belong to one upstream."""
    shares: dict[str, Share] = {}
    for upstream, share in parts:
        whole = shares.setdefault(upstream, Share())
        whole.ends += share.ends
        whole.header = max(whole.header, share.header)
        whole.duration = max(whole.duration, share.duration)
    for share in shares.values():
        share.ends.sort()
    return shares


def merged(bulks: Sequence[Bulk]) -> Bulk:
    """Make one bulk of several that overlap."""
    if len(bulks) == 1:
        return bulks[0]
    shares = joined(part for bulk in bulks for part in bulk.shares.items())
    statuses = frozenset[int]().union(*(bulk.statuses for bulk in bulks))
    files = {bulk.file for bulk in bulks}
    file = files.pop() if len(files) == 1 else None
    return Bulk(shares, statuses, file, lambda: [one for bulk in bulks for one in bulk.attempts()])
