"""Signs in the log itself that the setup is wrong: no upstream field, a filter by level, sampling."""

from __future__ import annotations

from itertools import groupby, pairwise
from statistics import median
from typing import TYPE_CHECKING

from msgspec import UNSET

from tailhealth.core.bulk import Bulk
from tailhealth.logs.caddy_fields import retried
from tailhealth.logs.hints import hint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tailhealth.logs.caddy_shape import Line
    from tailhealth.logs.plain import Part
    from tailhealth.logs.reading import Tally

ENOUGH = 20
"""So many records without a field are enough to say that it is missing while the log goes on."""
SERVER_ERROR = 500
FILTERED_RECORDS, FILTERED_SPAN = 200, 600.0
"""So many records over so many seconds, none below 500: a live log is filtered by level (DESIGN section 3, "Blind")."""
FINISHED_RECORDS = 10
"""In a finished file, so many are enough to warn."""

SAMPLED_RECORDS = 20_000
"""So many records at the start of a file are counted by second, to find sampling."""
SAMPLED_SECONDS, SAMPLED_SHARE, SAMPLED_LEAST, SAMPLED_GAP = 30, 0.5, 5, 5.0
"""Seconds at the ceiling, their share of all, the lowest ceiling, and the gap in mean distances that make it sampling."""


class Signs:
    """Watches the records of one file and says what they lack. Feed it every access record."""

    def __init__(self, tally: Tally) -> None:
        self.upstream_key = False
        """Some access line had an upstream field, null or not."""
        self.header_key = False
        """Some access line that names its upstream had a header time, null or not."""
        self.roundtrips = False
        """Round-trip lines come: they know what access lines lack."""
        self.below_500 = False
        """Some record has a status below 500: no filter by level."""
        self.retried = 0
        """Requests whose access line tells of retries."""
        self._records = 0
        self._without_header = 0
        self._from: float | None = None
        self._times: list[float] | None = []
        self._tally = tally

    def record(self, at: float, status: object) -> None:
        """Take one access record."""
        self._records += 1
        if isinstance(status, int) and status < SERVER_ERROR:
            self.below_500 = True
        if self._from is None:
            self._from = at
        if self._times is not None:
            self.times((at,))
        if not self.upstream_key and self._records >= ENOUGH:
            self._missing_upstream()
        self._ask_level(at)

    def attributed(self, line: Line) -> None:
        """Take one access record that names its upstream."""
        self.retried += retried(line.retries)
        if line.header_time is not UNSET:
            self.header_key = True
        elif line.upstream_status is UNSET:
            self._without_header += 1
            if not self.header_key and not self.roundtrips and self._without_header >= ENOUGH:
                self._tally.hints["no_header_time"] = hint("no_header_time")

    def plain(self, part: Part) -> None:
        """Take records that have all that is recommended."""
        self.upstream_key = self.header_key = True
        self.below_500 |= part.below_500
        self._records += part.size
        if self._from is None:
            self._from = part.first
        if self._times is not None:
            self.times(part.entry.ends if isinstance(part.entry, Bulk) else (part.entry.ended,))
        self._ask_level(part.last)

    def _ask_level(self, at: float) -> None:
        if (
            not self.below_500
            and self._records >= FILTERED_RECORDS
            and self._from is not None
            and at - self._from >= FILTERED_SPAN
        ):
            self._tally.hints["level_filter"] = hint("level_filter")

    def times(self, times: Iterable[float]) -> None:
        """Note when records stand until sampling is found or there were enough of them."""
        if self._times is not None:
            self._times.extend(times)
            if len(self._times) >= SAMPLED_RECORDS:
                self._judge_sampling()

    def finish(self) -> None:
        """The file has ended: say what few records are enough for."""
        if self._records and not self.upstream_key:
            self._missing_upstream()
        if self._without_header and not self.header_key and not self.roundtrips:
            self._tally.hints["no_header_time"] = hint("no_header_time")
        if self._records >= FINISHED_RECORDS and not self.below_500:
            self._tally.hints["level_filter"] = hint("level_filter")
        if self.retried and not self.roundtrips:
            self._tally.hints["retries"] = hint("retries", count=self.retried)
        self._judge_sampling()

    def _missing_upstream(self) -> None:
        if not self.roundtrips:
            self._tally.hints["no_upstream_field"] = hint("no_upstream_field")

    def _judge_sampling(self) -> None:
        times, self._times = self._times, None
        if times and is_sampled(sorted(times)):
            self._tally.hints["sampling"] = hint("sampling")


def is_sampled(times: list[float]) -> bool:
    """Tell whether sorted times look thinned by a sampler, which lets the first few of each second pass.

    Natural traffic has no ceiling: about as many seconds are just below its peak as at it. Traffic of a constant rate has one,
    but fills its seconds evenly, where a sampler leaves a gap after the last record that it lets pass.
    """
    seconds = [list(group) for _, group in groupby(times, key=int)]
    ceiling = max(map(len, seconds))
    full = [group for group in seconds if len(group) == ceiling]
    below = sum(len(group) == ceiling - 1 for group in seconds)
    if ceiling < SAMPLED_LEAST or len(full) < max(SAMPLED_SECONDS, SAMPLED_SHARE * len(seconds)) or below * 5 > len(full):
        return False
    uneven = [
        max(later - earlier for earlier, later in pairwise([int(group[0]), *group, int(group[0]) + 1])) * ceiling
        for group in full
    ]
    return median(uneven) >= SAMPLED_GAP
