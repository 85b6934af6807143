"""The settings of the core as resolved values: defaults filled in, `false` turned to None, routes compiled.

`tailhealth.config` makes them from TOML; the core never sees text. All durations are seconds. None means: this rule is off.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import msgspec

SERVER_ERRORS = frozenset(range(500, 600)) - {501, 505}
"""`["5xx", "!501", "!505"]`: a method or a protocol version that is not supported is the client's matter."""


class Yardstick(msgspec.Struct, frozen=True):
    """What counts as bad on one route (DESIGN section 4). All comparisons are `>=`."""

    status: frozenset[int] = SERVER_ERRORS
    grpc_status: frozenset[int] = frozenset()
    slower_than: float | None = 120.0
    total_slower_than: float | None = None
    refused: bool = True
    timed_out: bool = True
    abandoned_after: float | None = 60.0
    truncated: bool = True
    busy: frozenset[int] = frozenset({429})
    busy_with_retry_after: frozenset[int] = frozenset({503})
    uploads: bool = False
    """Judge requests with a large body by latency too."""
    ignore: bool = False
    """Probe paths dilute: nothing on this route is counted."""


class Route(msgspec.Struct, frozen=True):
    """Where a yardstick applies. Patterns are shell globs, matched case-sensitively against the path without its query."""

    yardstick: Yardstick
    methods: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def matches(self, method: str, host: str, path: str) -> bool:
        """Tell whether an attempt belongs to this route; an empty list of patterns matches all."""
        return (
            (not self.methods or method.upper() in self.methods)
            and (not self.hosts or any(fnmatchcase(host.lower(), one) for one in self.hosts))
            and (not self.paths or any(fnmatchcase(path, one) for one in self.paths))
        )


class BadRules(msgspec.Struct, frozen=True):
    """`[bad]` with its routes: the first route that matches judges, else `default`."""

    default: Yardstick = Yardstick()
    routes: tuple[Route, ...] = ()
    stalled_after: float | None = 120.0

    def yardstick(self, method: str, host: str, path: str) -> Yardstick:
        """Return the yardstick of a route."""
        for route in self.routes:
            if route.matches(method, host, path):
                return route.yardstick
        return self.default


class WindowRules(msgspec.Struct, frozen=True):
    """`[window]`: how much is too much (DESIGN section 5)."""

    last: int = 8
    span: float = 30.0
    within: float = 600.0
    min_requests: int = 4
    ratio: float | None = 0.6
    consecutive_refused: int | None = 2
    consecutive_unanswered: int | None = 8
    unanswered_after: float = 1.0
    clients: int | None = None
    """None: 1, or 2 where the proxy binds clients to upstreams."""


class EjectRules(msgspec.Struct, frozen=True):
    """`[eject]`: how long (DESIGN section 6). `base` is the key `for`, `cap` the key `max`."""

    base: float = 30.0
    backoff: float = 2.0
    cap: float = 600.0
    jitter: float = 0.1


class ProbationRules(msgspec.Struct, frozen=True):
    """`[probation]`: the time after a readmission."""

    requests: int = 3
    bad: int = 1
    max_in_flight: int | None = 1


class GuardRules(msgspec.Struct, frozen=True):
    """`[guard]`: what can object to an ejection (DESIGN section 7)."""

    protected: tuple[str, ...] = ()
    """Addresses or globs that are never ejected."""
    max_ejected: float | None = 0.5
    min_serving: int = 1
    common_cause: bool = True
    chance: float = 1e-4
    settle: float = 10.0


class PoolRules(msgspec.Struct, frozen=True):
    """All settings of one pool."""

    enforce: bool = True
    bad: BadRules = BadRules()
    window: WindowRules = WindowRules()
    eject: EjectRules = EjectRules()
    probation: ProbationRules | None = ProbationRules()
    """None: a readmitted upstream is serving at once."""
    guard: GuardRules = GuardRules()
    backups: frozenset[str] = frozenset()
    """Backups that the pool's own table lists in `upstreams`, and which may therefore be ejected."""


class Settings(msgspec.Struct, frozen=True):
    """What the engine needs to know."""

    lateness: float = 1.0
    default: PoolRules = PoolRules()
    pools: dict[str, PoolRules] = {}
    """Settings of pools that have a table of their own, by pool name."""

    def rules(self, pool: str) -> PoolRules:
        """Return the settings of a pool."""
        return self.pools.get(pool, self.default)
