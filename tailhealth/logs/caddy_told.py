"""What round-trip lines and the lines between them told together."""

from __future__ import annotations

from tailhealth.core.bulk import Bulk, Share
from tailhealth.core.model import Attempt
from tailhealth.logs.caddy_twice import Key
from tailhealth.logs.plain import Part


class Told:
    """What lines that stand together tell.

    Args:
        has_upstream_key: Some access line before them has a field for its upstream, be it null.
    """

    __slots__ = ("answered", "attempts", "has_upstream_key", "last", "others", "records", "size", "unattributed")

    def __init__(self, *, has_upstream_key: bool) -> None:
        self.size = 0
        """How many lines they are."""
        self.attempts: list[Attempt] = []
        """In the order of the lines."""
        self.answered: list[Attempt] = []
        """Those of plain access lines that are not summed up yet."""
        self.records: list[Part | Key] = []
        """The access lines as the rest of the file has to know of them: summed up, or as what they may have in common."""
        self.unattributed = 0
        """How many access lines name no upstream, and no round-trip line names it for them."""
        self.has_upstream_key = has_upstream_key
        """The same after them."""
        self.others = 0
        """How many lines tell of no request."""
        self.last: float | None = None
        """Time of the last line that tells of a request; None if there is none."""

    @property
    def roundtrips(self) -> int:
        """How many are round-trip lines."""
        return self.size - self.others - sum(one.size if isinstance(one, Part) else 1 for one in self.records)

    def sum_up(self) -> None:
        """Sum up what was answered so far."""
        if not self.answered:
            return
        attempts, self.answered = self.answered, []
        by_upstream: dict[str, list[Attempt]] = {}
        for one in attempts:
            by_upstream.setdefault(one.upstream, []).append(one)
        shares = {upstream: _share(its) for upstream, its in by_upstream.items()}
        statuses = frozenset([one.status for one in attempts if one.status is not None])
        bulk = Bulk(shares, statuses, attempts[0].file, lambda: attempts)
        self.records.append(Part(bulk, len(attempts), attempts[0].ended, attempts[-1].ended, below_500=True))


def _share(attempts: list[Attempt]) -> Share:
    share = Share()
    share.ends = sorted([one.ended for one in attempts])
    share.header = max([one.header or 0.0 for one in attempts])
    share.duration = max([one.duration or 0.0 for one in attempts])
    return share
