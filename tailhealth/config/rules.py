"""The schema of the rules: `[bad]`, `[window]`, `[eject]`, `[probation]`, `[guard]` (DESIGN sections 4 to 7).

A field that is absent keeps its default; `false` turns a rule off where its type has `None`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tailhealth.config.durations import format_duration
from tailhealth.config.errors import KeyPath
from tailhealth.config.kinds import (
    BusyStatuses,
    GrpcStatuses,
    Hosts,
    Methods,
    Paths,
    Positive,
    Protected,
    Seconds,
    SomeSeconds,
    Statuses,
)
from tailhealth.config.statuses import Busy
from tailhealth.core.rules import SERVER_ERRORS


@dataclass(frozen=True, slots=True)
class Clash:
    """Settings that are right one by one and contradict each other, or one that is missing beside another."""

    text: str
    at: KeyPath = ()
    """The key that is reported, from its table on; empty: the table itself."""
    others: tuple[str, ...] = ()
    """The other keys of the table that are involved."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """What every table of the file has."""

    note: str = ""
    """Free text: why a value is what it is, which option was rejected and why. `explain` shows it. Default: none."""

    def clashes(self, given: Collection[str]) -> Iterable[Clash]:  # noqa: ARG002 - a table without contradictions
        """Find contradictions; `given` are the keys that stand in the file, in this table or the one it inherits from."""
        return ()


class BadRoute(Table, frozen=True, kw_only=True):
    """`[[bad.route]]`: other rules for some requests. The first route that matches wins, and inherits from `[bad]`."""

    path: Paths = ()
    """URL paths or globs, without the query, case-sensitive: `"/api/*"`, or a list. Default: every path."""
    method: Methods = ()
    """Request methods: `"POST"`, or a list. Default: every method."""
    host: Hosts = ()
    """Hosts or globs: `"*.example.com"`, or a list. Default: every host."""
    ignore: bool = False
    """Count nothing on this route: probe paths dilute. Default: false."""
    status: Statuses | UnsetType = UNSET
    """As in `[bad]`. Default: inherited. Off: `false`."""
    grpc_status: GrpcStatuses | UnsetType = UNSET
    """As in `[bad]`. Default: inherited. Off: `false`."""
    slower_than: SomeSeconds | UnsetType | None = UNSET
    """As in `[bad]`. Default: inherited. Off: `false`."""
    total_slower_than: SomeSeconds | UnsetType | None = UNSET
    """As in `[bad]`. Default: inherited. Off: `false`."""
    refused: bool | UnsetType = UNSET
    """As in `[bad]`. Default: inherited. Off: `false`."""
    timed_out: bool | UnsetType = UNSET
    """As in `[bad]`. Default: inherited. Off: `false`."""
    abandoned_after: Seconds | UnsetType | None = UNSET
    """As in `[bad]`. Default: inherited if `[bad]` sets it, else half of the route's own `slower_than`. Off: `false`."""
    truncated: bool | UnsetType = UNSET
    """As in `[bad]`. Default: inherited. Off: `false`."""
    busy: BusyStatuses | UnsetType = UNSET
    """As in `[bad]`. Default: inherited. Off: `false`."""
    uploads: bool | UnsetType = UNSET
    """As in `[bad]`. Default: inherited."""

    def clashes(self, given: Collection[str]) -> Iterable[Clash]:
        """A route needs a pattern, and an ignored one needs nothing else."""
        patterns = {"path", "method", "host"}
        if not patterns & set(given):
            yield Clash("needs path, method or host; what holds for every request stands in [bad]")
        rest = sorted(set(given) - patterns - {"ignore", "note"})
        if self.ignore and rest:
            yield Clash(f"nothing is judged on this route, so {', '.join(rest)} must not stand there", ("ignore",), tuple(rest))


class Bad(Table, frozen=True, kw_only=True):
    """`[bad]`: what counts as bad. All comparisons are `>=`; the first kind that fits wins."""

    status: Statuses = SERVER_ERRORS
    """The upstream answered with one of these: `"502"`, `"5xx"`, `"500-504"`, `"!501"` excludes.
    Default: `["5xx", "!501", "!505"]`. Off: `false`."""
    grpc_status: GrpcStatuses = frozenset()
    """The logged gRPC status is one of these numbers (1 to 16); a gRPC failure is an HTTP 200. Default: off."""
    slower_than: SomeSeconds | None = 120.0
    """Duration: the response header took at least this long. Default: "120s". Off: `false`."""
    total_slower_than: SomeSeconds | None = None
    """Duration: the whole answer took at least this long. Default: off."""
    refused: bool = True
    """The connection failed or broke before a header. Default: true. Off: `false`."""
    timed_out: bool = True
    """The proxy gave up waiting. Default: true. Off: `false`."""
    abandoned_after: Seconds | UnsetType | None = UNSET
    """Duration: the client gave up without a header after at least this long; before that its request is ignored.
    Default: half of the route's effective `slower_than`, off if that is off. Off: `false`."""
    stalled_after: SomeSeconds | UnsetType | None = UNSET
    """Duration, per pool: in flight at least this long without a header. Default: the greatest effective `slower_than` of the
    pool's routes, off if one is off or a route is ignored. Off: `false`."""
    truncated: bool = True
    """The upstream broke the body off. Default: true. Off: `false`."""
    busy: BusyStatuses = Busy()
    """Statuses that say "busy", neither good nor bad; `+retry-after`: only with that response header.
    Default: `["429", "503+retry-after"]`. Off: `false`."""
    uploads: bool = False
    """Judge requests with a body of at least 1 MiB by latency too; the header time includes the upload. Default: false."""
    route: tuple[BadRoute, ...] = ()
    """`[[bad.route]]`: other rules for some requests. A pool's own list replaces this one. Default: none."""


class Window(Table, frozen=True, kw_only=True):
    """`[window]`: how much bad is too much."""

    last: Annotated[int, Meta(ge=1, le=64)] = 8
    """Number of outcomes: at least the newest this many are judged, if there are (1 to 64). Default: 8."""
    span: Seconds = 30.0
    """Duration: and all that ended within this. Default: "30s". `0`: only the `last`."""
    within: SomeSeconds = 600.0
    """Duration: nothing older than this is judged. Default: "10m"."""
    min_requests: Positive = 4
    """Number of outcomes: with fewer counted, nothing is judged by ratio. Default: 4."""
    ratio: Annotated[float, Meta(gt=0, le=1)] | None = 0.6
    """Share, above 0 and up to 1: trips when bad / counted reaches it. Default: 0.6. Off: `false`."""
    consecutive_refused: Positive | None = 2
    """Number of attempts: trips at once after this many connection failures in a row. Default: 2. Off: `false`."""
    consecutive_unanswered: Positive | None = 8
    """Number of attempts: trips after this many in a row that ended with no header. Default: 8. Off: `false`."""
    unanswered_after: Seconds = 1.0
    """Duration: only attempts that waited at least this long count as unanswered. Default: "1s"."""
    clients: Positive | UnsetType = UNSET
    """Number of clients that the bad outcomes must come from. Default: 1, or 2 where the proxy binds clients to upstreams."""

    def clashes(self, given: Collection[str]) -> Iterable[Clash]:  # noqa: ARG002 - the values tell
        """The span lies within `within`."""
        if self.span > self.within:
            span, within = format_duration(self.span), format_duration(self.within)
            yield Clash(f'is "{span}" and must not be longer than within, which is "{within}"', ("span",), ("within",))


class Eject(Table, frozen=True, kw_only=True):
    """`[eject]`: how long an upstream stays out: min(`for` x `backoff`^strikes, `max`), and the jitter."""

    for_: SomeSeconds = msgspec.field(default=30.0, name="for")
    """Duration of the first ejection. Default: "30s"."""
    backoff: Annotated[float, Meta(ge=1)] = 2.0
    """Factor per strike, at least 1: the next ejection is that much longer. Default: 2.0. `1`: always the same."""
    max: SomeSeconds = 600.0
    """Duration: no ejection is longer than this, before jitter. Default: "10m"."""
    jitter: Annotated[float, Meta(ge=0, le=1)] = 0.1
    """Share, 0 to 1: up to this much is added, so that not all come back at once. Default: 0.1. `0`: none."""

    def clashes(self, given: Collection[str]) -> Iterable[Clash]:  # noqa: ARG002 - the values tell
        """The longest ejection is at least as long as the first."""
        if self.max < self.for_:
            cap, base = format_duration(self.max), format_duration(self.for_)
            yield Clash(f'is "{cap}" and must not be shorter than for, which is "{base}"', ("max",), ("for",))


class Probation(Table, frozen=True, kw_only=True):
    """`[probation]`: the time after a readmission. `probation = false`: a readmitted upstream is serving at once."""

    requests: Positive = 3
    """Number of good outcomes that end it. Default: 3."""
    bad: Positive = 1
    """Number of bad outcomes in it that eject again. Default: 1."""
    max_in_flight: Positive | None = 1
    """Number of requests that the upstream may have in flight meanwhile, where the proxy can. Default: 1. Off: `false`."""


class Guard(Table, frozen=True, kw_only=True):
    """`[guard]`: what can object to an ejection."""

    protected: Protected = ()
    """Upstreams or globs that are never ejected. Default: none."""
    max_ejected: Annotated[float, Meta(ge=0, le=1)] | None = 0.5
    """Share of the pool's primaries, 0 to 1, that may be out. Default: 0.5. `0`: eject nothing. Off: `false`."""
    min_serving: Positive = 1
    """Number of upstreams that must stay; the last one of a pool is never taken out. Default: 1."""
    common_cause: bool = True
    """Hold when the whole pool is as bad as this upstream. Default: true. Off: `false`."""
    chance: Annotated[float, Meta(gt=0, le=1)] = 1e-4
    """Probability, above 0 and up to 1: above this the difference to its peers may be chance, and it stays. Default: 1e-4."""
    settle: Seconds = 10.0
    """Duration after an ejection in which the pool is not judged: the load redistributes. Default: "10s". `0`: none."""

    def clashes(self, given: Collection[str]) -> Iterable[Clash]:
        """Without the guard its limit means nothing."""
        if not self.common_cause and "chance" in given:
            yield Clash("has no meaning while common_cause is false", ("chance",), ("common_cause",))
