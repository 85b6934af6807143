"""Two reasons to stop acting on a pool: others keep rewriting it, or our own change broke it (DESIGN section 8). Pure."""

from __future__ import annotations

from collections import deque

REWRITES, REWRITES_WITHIN = 3, 600.0
"""More than this many rewrites of a list in so many seconds are a generator at work."""

BROKEN, BROKEN_WITHIN = 3, 10.0
"""This many requests that fail without an upstream within so many seconds after an apply are its doing..."""

QUIET_BEFORE = 60.0
"""...if there was none in so many seconds before it."""


class Rewrites:
    """Counts how often others rewrite a place's list."""

    def __init__(self) -> None:
        self._times: dict[str, deque[float]] = {}

    def note(self, key: str, at: float) -> None:
        """A list was rewritten."""
        self._times.setdefault(key, deque(maxlen=REWRITES + 1)).append(at)

    def calm_at(self, key: str, now: float) -> float | None:
        """Tell until when a place is not to be acted on; None: it may be acted on now."""
        times = self._times.get(key)
        if times is None or len(times) <= REWRITES or times[0] <= now - REWRITES_WITHIN:
            return None
        return times[0] + REWRITES_WITHIN


class Aftermath:
    """Watches what happens right after an apply. Times may come out of order by a few seconds, as log lines do."""

    def __init__(self) -> None:
        self._failed: deque[float] = deque(maxlen=1000)
        self._applied: float | None = None

    def note(self, at: float, count: int = 1) -> None:
        """Requests failed without an upstream: aborted, panicked, or answered 500 by the proxy itself."""
        self._failed.extend([at] * min(count, BROKEN))

    def applied(self, at: float) -> None:
        """A change was confirmed."""
        self._applied = at

    def forget(self) -> None:
        """The change was dealt with."""
        self._applied = None

    def broke(self) -> bool:
        """Tell whether the latest change broke the proxy."""
        if self._applied is None:
            return False
        before = sum(self._applied - QUIET_BEFORE <= one < self._applied for one in self._failed)
        after = sum(self._applied <= one <= self._applied + BROKEN_WITHIN for one in self._failed)
        return before == 0 and after >= BROKEN
