"""Other judges of the same upstreams: the health checks that a proxy makes by itself, whatever the proxy (DESIGN section 8)."""

from __future__ import annotations

import msgspec


class OwnCheck(msgspec.Struct, frozen=True):
    """One check, as the proxy's configuration has it. All durations are seconds."""

    place: str
    """Key of the place whose upstreams it judges."""
    active: bool
    """True: it sends requests of its own. False: it judges those of the clients."""
    words: str
    """Its settings in the proxy's own words."""
    path: str = ""
    """What an active check asks for, without its query."""
    limit: float | None = None
    """An answer that takes this long is a failure; None: no answer is too slow."""
    statuses: tuple[int, ...] = ()
    """Statuses that are failures of a passive check; 5 means all of 500-599."""
    upstreams: tuple[str, ...] = ()
    """Canonical addresses that it judges; empty: all of the place."""

    def fails(self, status: int | None, seconds: float | None) -> bool:
        """Tell whether a passive check counts an answer as a failure."""
        slow = self.limit is not None and seconds is not None and seconds >= self.limit
        return slow or (status is not None and (status in self.statuses or status // 100 in self.statuses))
