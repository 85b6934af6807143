"""Can the input be trusted? Per log, with the numbers of DESIGN section 3, Blind. Silence alone is never blind."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from tailhealth.core.model import Blind

UNREADABLE_LINES, UNREADABLE_LEAST, UNREADABLE_SHARE = 200, 20, 0.5
"""More than this share of the last lines can't be read."""
NAMELESS_RECORDS, NAMELESS_SECONDS = 20, 60.0
"""So many access records in this time, and none names an upstream."""
LOOK_EVERY = 1.0
"""Seconds between the looks that are remembered of that time: a busy log is looked at fifty times a second."""
BEHIND_SECONDS, BEHIND_LOOKS = 60.0, 3
"""The newest line is older than this at so many looks in a row at which the log had grown."""
SILENT_SECONDS = 300.0
"""Requests in flight end, one by one for this long, and no line comes. Those that only begin and hang owe none yet."""
GOOD_LINES = 20
"""After so many good lines the log can be trusted again."""
THINNED = ("level_filter", "sampling")
"""Hints of the readers that tell of a log without an honest ratio."""


class Look(NamedTuple):
    """What a log shows at a moment; counts are totals since the start."""

    at: float
    lines: int
    skipped: int
    records: int
    attributed: int
    """Access records that name an upstream."""
    late_by: float | None
    """Age of the newest line when it was read, in seconds."""
    unreadable: str
    """Why the file can't be read; empty: it can."""
    hints: frozenset[str]
    heard: int = 0
    """Lines of all logs together: a request may be another log's."""


class Blindness:
    """Watches one log.

    Args:
        source: Its name.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.reason: str | None = None
        """Why it can't be trusted; None: it can."""
        self._before: Look | None = None
        self._recent: deque[Look] = deque()
        """From the newest on since which the last 200 lines came; one for each count of lines."""
        self._minute: deque[Look] = deque()
        self._behind = 0
        self._good = 0
        self._ends: tuple[float, float] | None = None
        """When requests were first and last seen to end, since a line came."""
        self._counts: dict[str, int] | None = None

    def look(self, look: Look) -> Blind | None:
        """Take a look; return a change between trusting and not."""
        before = self._before
        if before is None:
            before = look._replace(lines=0, skipped=0, records=0, attributed=0, heard=0)
            self._begin(before)
        self._before = look
        if look.heard > before.heard or look.lines > before.lines:
            self._ends = None
        if look.lines > before.lines:
            self._behind = self._behind + 1 if look.late_by is not None and look.late_by > BEHIND_SECONDS else 0
        self._remember(look)
        cause = self._cause(look)
        self._good += max(0, look.lines - before.lines - (look.skipped - before.skipped))
        if cause is not None:
            self._good = 0
            if self.reason is None:
                self.reason = cause
                return Blind(look.at, self.source, cause)
        elif self.reason is not None and self._good >= GOOD_LINES:
            self.reason = None
            self._begin(look)
            return Blind(look.at, self.source, None)
        return None

    def note_in_flight(self, at: float, counts: dict[str, int] | None) -> None:
        """Take the proxy's count of requests in flight: when requests end, lines must come."""
        before, self._counts = self._counts, counts
        if counts is not None and before is not None and any(counts.get(one, 0) < count for one, count in before.items()):
            self._ends = (at if self._ends is None else self._ends[0], at)

    def _begin(self, look: Look) -> None:
        """What was before does not count."""
        self._recent = deque([look])
        self._minute = deque([look])

    def _remember(self, look: Look) -> None:
        """Keep what is needed of this look, and forget what no later one will ask for: each costs the same, however many."""
        recent, minute = self._recent, self._minute
        if look.lines > recent[-1].lines:
            recent.append(look)
        while len(recent) > 1 and look.lines - recent[1].lines >= UNREADABLE_LINES:
            recent.popleft()
        while minute and not 0.0 <= look.at - minute[0].at <= NAMELESS_SECONDS:
            minute.popleft()
        if not minute or look.at - minute[-1].at >= LOOK_EVERY:
            minute.append(look)

    def _cause(self, look: Look) -> str | None:
        if look.unreadable:
            return look.unreadable
        then, minute = self._recent[0], self._minute[0]
        lines, skipped = look.lines - then.lines, look.skipped - then.skipped
        if lines >= UNREADABLE_LEAST and skipped > UNREADABLE_SHARE * lines:
            return f"{skipped} of the last {lines} lines could not be read"
        records = look.records - minute.records
        if records >= NAMELESS_RECORDS and look.attributed == minute.attributed:
            return f"none of the last {records} access records names an upstream"
        if self._behind >= BEHIND_LOOKS:
            return f"the newest line is {look.late_by:.0f} s old: the log is written with a delay (a buffer?)"
        if self._ends is not None and self._ends[1] - self._ends[0] >= SILENT_SECONDS:
            return "requests end at the proxy and no line comes: is this the log of that proxy?"
        return next((f"the log is thinned ({code})" for code in THINNED if code in look.hints), None)
