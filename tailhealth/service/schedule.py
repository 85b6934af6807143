"""When to read the proxy and when to change it: coalescing, the pause between changes, growing pauses after failures. Pure."""

from __future__ import annotations

from math import inf

import msgspec
from msgspec import UNSET

from tailhealth.config import Proxy

LOOK_EVERY = 1.0
"""Seconds between two looks for drift, however many attempts ask for one."""
FIRST_RETRY, LONGEST_RETRY = 0.1, 60.0
"""A change's own reload may cut its answer off: the first read back comes soon, later ones in doubled pauses."""
LIFTS_WAIT = 10
"""Lifting a limit waits for another change, at most this many times the pause between changes."""

SWITCHED_INTERVAL = 30.0
"""Each change closes websockets unless `stream_close_delay` is set: fewer changes, in seconds, where there are some."""


class ApplyRules(msgspec.Struct, frozen=True):
    """Settings of `[proxy]`, in seconds."""

    coalesce: float = 0.25
    min_apply_interval: float = 2.0
    drift_poll: float = 60.0
    switched_interval: float | None = None
    """Least pause between changes where each one closes websockets, once some were seen; None: no other than usual."""

    @classmethod
    def of(cls, table: Proxy) -> ApplyRules:
        """Return the settings of a `[proxy]` table; a pause that the operator chose is never made longer."""
        chosen = table.min_apply_interval is not UNSET
        return cls(table.coalesce, table.apply_interval, table.drift_poll, None if chosen else SWITCHED_INTERVAL)


class Schedule:
    """Knows what is due when. Starts with everything due."""

    def __init__(self, rules: ApplyRules) -> None:
        self.rules = rules
        self.cuts_streams = False
        """A change closes upgraded connections somewhere."""
        self.switched = False
        """Upgraded connections were seen."""
        self._wanted: float | None = None
        self._lifting: float | None = None
        self._looking = True
        self._read = -inf
        self._applied = -inf
        self._retry = -inf
        self._failures = 0

    @property
    def interval(self) -> float:
        """The least pause between two changes, in seconds (DESIGN section 8, Caddy)."""
        longer = self.rules.switched_interval if self.cuts_streams and self.switched else None
        return max(self.rules.min_apply_interval, longer or 0.0)

    def want(self, at: float) -> None:
        """Something was desired at `at`."""
        self._wanted = at if self._wanted is None else min(self._wanted, at)

    def look(self) -> None:
        """Read as soon as that is sensible."""
        self._looking = True

    def due(self) -> float:
        """Tell when to work next."""
        rules = self.rules
        times = [self._read + rules.drift_poll]
        if self._looking:
            times.append(self._read + min(LOOK_EVERY, rules.drift_poll))
        if self._wanted is not None:
            times.append(max(self._wanted + rules.coalesce, self._applied + self.interval))
        if self._lifting is not None:
            times.append(self._lifts_at())
        return max(min(times), self._retry)

    def may_apply(self, now: float, *, urgent: bool) -> bool:
        """Tell whether a change may be made now; if not, it becomes due later."""
        if not urgent:
            self._lifting = now if self._lifting is None else self._lifting
            return now >= self._lifts_at()
        if now >= self._applied + self.interval:
            return True
        self.want(now)
        return False

    def _lifts_at(self) -> float:
        since = -inf if self._lifting is None else self._lifting
        return max(since + LIFTS_WAIT * self.rules.min_apply_interval, self._applied + self.interval)

    def read(self, now: float) -> None:
        """The proxy was read, and what was wanted is looked at."""
        self._read = now
        self._looking = False
        self._wanted = None

    def nothing_to_lift(self) -> None:
        """No limit waits to be lifted."""
        self._lifting = None

    def applied(self, now: float) -> None:
        """A change was sent and answered."""
        self._applied = now
        self._lifting = None

    def shift(self, by: float) -> None:
        """The wall clock was set by so many seconds: what is due stays due in as much time as before."""
        self._read += by
        self._applied += by
        self._retry += by
        self._wanted = None if self._wanted is None else self._wanted + by
        self._lifting = None if self._lifting is None else self._lifting + by

    def well(self) -> None:
        """All went well: the next failure is the first again."""
        self._failures = 0
        self._retry = -inf

    def failed(self, now: float) -> None:
        """Something failed that may go better next time."""
        pause = FIRST_RETRY if self._failures == 0 else min(2.0 ** (self._failures - 1), LONGEST_RETRY)
        self._failures += 1
        self._again(now, now + pause)

    def hopeless(self, now: float) -> None:
        """Something failed that only people can mend: look again at the pace of the drift poll."""
        self._again(now, now + self.rules.drift_poll)

    def _again(self, now: float, retry: float) -> None:
        self._retry = retry
        self._looking = True
        self._read = min(self._read, now - LOOK_EVERY)
