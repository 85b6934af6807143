"""What goes into the engine: a closed union of values (DESIGN section 2).

All times are epoch seconds, all durations are seconds, and every value is frozen, so that the same inputs always give the
same decisions.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tailhealth.core.rules import Settings
from tailhealth.core.words import End, Origin, Reason, Source, Verb


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """One try of one request at one upstream, as a log line told of it."""

    ended: float
    upstream: str
    """Canonical address: `10.0.0.1:11434`, `[::1]:9000`, `unix//run/app.sock`."""
    end: End
    started: float
    status: int | None
    """The upstream's own status; None when it sent none or the log cannot tell."""
    header: float | None
    """Seconds until the response header; None when none came or the log does not say."""
    header_came: bool | None
    """False: the log proves that no header came. None: the log cannot tell."""
    duration: float | None
    """Whole duration in seconds, body included. Of an attempt without a header: how long it waited."""
    method: str = ""
    host: str = ""
    uri: str = ""
    """With its query string: never to be written anywhere, see `path`."""
    client: str = ""
    """Address of the client: to count distinct clients and to match lines, never to be written anywhere."""
    client_port: str = ""
    body_bytes: int = 0
    """Size of the client's request body: an upload is part of the header time."""
    stream: bool = False
    """An event stream: its whole duration says nothing about latency."""
    grpc_status: int | None = None
    retry_after: bool = False
    origin: Origin = Origin.ACCESS
    file: int = 0
    """Index of the input file: second key of the order (ended, file, offset)."""
    offset: int = 0
    """Byte offset of the line in its file: third key of the order."""
    own_duration: float | None = None
    """Whole duration as measured at this upstream alone, without retries and waits of the proxy (nginx:
    `$upstream_response_time`). Serves as latency where no header time is logged."""

    @property
    def path(self) -> str:
        """The URI without its query string, which may hold secrets."""
        return self.uri.partition("?")[0]


class Aborted(msgspec.Struct, frozen=True, gc=False):
    """An access record that names no upstream because the handler was cut off (Caddy: a broken body, a panic).

    It may have ended any request in flight, so it weighs against `stalled`, and it ends the streaming of the request that has
    the same client, port and URI.
    """

    ended: float
    status: int | None
    client: str = ""
    client_port: str = ""
    uri: str = ""
    file: int = 0
    offset: int = 0


class InFlight(msgspec.Struct, frozen=True):
    """The proxy's own count of requests in flight, per canonical address.

    `counts` is None when the poll failed: older samples are then no evidence any more.
    """

    at: float
    counts: dict[str, int] | None
    process: str
    """Identity of the proxy process (its start time); samples of another process are never compared with these."""


class Idle(msgspec.Struct, frozen=True):
    """Time passed and nothing came. Moves time and nothing else."""

    at: float


class PoolMember(msgspec.Struct, frozen=True):
    """One upstream of a pool as the operator configured it (our own ejections and limits do not show here)."""

    address: str
    names: tuple[str, ...] = ()
    """Canonical addresses under which the log shows it (a name that resolves to several); empty: just `address`."""
    weight: int = 1
    backup: bool = False
    held_down: bool = False
    """The proxy's own checks hold it down now."""
    shared: bool = False
    """The address stands in another handler too (Caddy counts their requests in flight together): no limit is set on it."""
    unfollowed: bool = False
    """...and that handler's log is not followed: requests in flight prove nothing."""
    actionable: bool = True
    """False: it can't be ejected (ambiguous name, placeholder, dynamic)."""


class Pool(msgspec.Struct, frozen=True):
    """The upstreams that one load balancer of the proxy chooses from."""

    name: str
    members: tuple[PoolMember, ...]
    hosts: tuple[str, ...] = ()
    """Host patterns that an attempt must match to count here; empty: any."""
    paths: tuple[str, ...] = ()
    sticky: bool = False
    """The proxy binds clients to upstreams (ip, cookie, header or URI hash)."""


class Pools(msgspec.Struct, frozen=True):
    """All pools, as the operator's configuration has them now. Pools that are no longer named are forgotten."""

    at: float
    pools: tuple[Pool, ...]


class Blind(msgspec.Struct, frozen=True):
    """The input of `source` (a file or the like) can't be trusted, or can again (`reason` None)."""

    at: float
    source: str
    reason: str | None
    pool: str | None = None
    """None: every pool is concerned."""


class Stepped(msgspec.Struct, frozen=True):
    """The wall clock jumped by `by` seconds (negative: back). Windows are emptied, running timers shifted."""

    at: float
    by: float


class Command(msgspec.Struct, frozen=True):
    """An operator's order. `pool` None: every pool of the address (for pause and resume: every pool)."""

    at: float
    verb: Verb
    upstream: str = ""
    pool: str | None = None
    duration: float | None = None
    """`--for`, in seconds; None: until the opposite order."""
    why: str = ""
    force: bool = False
    by_config: bool = False
    """The order was read off the proxy's configuration: the operator's hand by API (reason `operator_config`)."""


class Ejection(msgspec.Struct, frozen=True):
    """An upstream is out since `since`, until `until` (None: until an operator readmits it)."""

    since: float
    until: float | None
    strikes: int
    """Earlier ejections in memory when this one began; the time out grew with them."""
    source: Source
    reason: Reason
    why: str = ""


class Carried(msgspec.Struct, frozen=True):
    """What one upstream carries over a restart of the controller."""

    pool: str
    upstream: str
    ejection: Ejection | None = None
    probation_since: float | None = None
    probation_good: int = 0
    strikes: int = 0
    proof_since: float | None = None
    """Start of the running period in rotation that could forget a strike."""
    proof_good: int = 0
    pinned_in: bool = False
    pinned_until: float | None = None
    acted_at: float | None = None
    """Latest ejection or readmission: what began before it is no evidence."""
    probation_bad: int = 0
    probation_heard: float | None = None


class Paused(msgspec.Struct, frozen=True):
    """An operator's pause; `pool` None: every pool. `until` None: until `resume`."""

    pool: str | None
    until: float | None
    why: str = ""


class Started(msgspec.Struct, frozen=True):
    """A run of the controller begins. Attempts that ended before `at` are history: they fill windows and trip nothing."""

    at: float
    carried: tuple[Carried, ...] = ()
    paused: tuple[Paused, ...] = ()


class Reconfigured(msgspec.Struct, frozen=True):
    """The operator's configuration of tailhealth was reread, and other rules hold from here on.

    It takes effect only where the rules before it hold: so a replay with the configuration that the run began with repeats the
    run, and one with other rules keeps those all the way.
    """

    at: float
    before: Settings
    settings: Settings


Input: TypeAlias = Attempt | Aborted | InFlight | Idle | Pools | Blind | Stepped | Command | Started | Reconfigured
