"""What the reconciler and a proxy say to each other, whatever the proxy (DESIGN section 8).

A proxy's configuration is read as places: one per load balancer, each with the upstreams it lists. A change names the list that
a place shall have. All durations are seconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import UNSET, UnsetType

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = "tailhealth-"
"""Begins every mark of ours in a proxy's configuration."""


class UpstreamState(StrEnum):
    """How an upstream stands in a place."""

    SERVING = "serving"
    LIMITED = "limited"
    """Listed, with a limit of ours on its requests in flight."""
    OUT = "out"


class Entry(msgspec.Struct, frozen=True):
    """One upstream as one place lists it."""

    address: str
    """Canonical address; of an upstream that can't be acted on: the proxy's own text."""
    raw: dict[str, Any]
    """The proxy's own object without limit and mark: nobody but the adapter looks inside."""
    limit: int | None = None
    """Most requests in flight as the proxy has it now, the operator's or ours; None: the key is absent."""
    weights: tuple[int, ...] = ()
    """Its weight in each list of weights that goes by position; empty: the place has none."""
    out: bool = False
    """Listed, but taken out of rotation (proxies that can mark an upstream down)."""
    names: tuple[str, ...] = ()
    """Canonical addresses under which the log shows it, where they differ from `address`."""
    backup: bool = False
    held_down: bool = False
    """The proxy's own checks hold it down, where its configuration interface tells."""
    own_id: bool = False
    """Its object has an id of the operator's: no mark can stand there."""
    problem: str = ""
    """Why it can't be acted on: a placeholder in its dial, a name that is ambiguous."""
    own_limit: int | UnsetType | None = UNSET
    """The operator's own limit, where the proxy's configuration keeps it beside ours; unset: it has room for one only."""

    @property
    def weight(self) -> int:
        """The weight that people mean: that of the first list of weights, else 1."""
        return self.weights[0] if self.weights else 1


class Place(msgspec.Struct, frozen=True):
    """One load balancer in the proxy's configuration."""

    key: str
    """Where it stands: Caddy's path of the handler, nginx's block name. Not stable over a change by the operator."""
    entries: tuple[Entry, ...]
    version: str
    """Digest of all that a change of it replaces: a change planned on another version is a `Conflict`."""
    handler_id: str | None = None
    hosts: tuple[str, ...] = ()
    """Host matchers above it; empty: none, or not to be told."""
    paths: tuple[str, ...] = ()
    sticky: bool = False
    marks: tuple[str, ...] = ()
    """Marks that begin with `MARK`, ours or another controller's."""
    removes: bool = True
    """Taking an upstream out removes it from the list (Caddy); False: it stays listed with `out` (nginx)."""
    logged: bool = True
    """Its server writes an access log."""
    cuts_streams: bool = False
    """A change closes upgraded connections (websockets) at once."""
    problem: str = ""
    """Why nothing of it can be changed: dynamic upstreams, weights that do not fit."""
    generation: str = ""
    """Which load of the configuration it is from, where a load drops our changes without a trace (NGINX Plus): what was lost
    since another one was lost by the load. Empty: nobody but the operator's hand takes our changes away, or a mark tells."""


class LogOutput(msgspec.Struct, frozen=True):
    """A log that gets access lines, as the proxy's configuration has it."""

    name: str
    path: str
    """The file's name, in the proxy's own spelling; empty: it is no file."""
    level: str = ""
    """The level to which it is filtered, where that leaves out requests that went well; empty: none are left out."""
    sampled: bool = False
    """Only some of its lines are written."""


class Snapshot(msgspec.Struct, frozen=True):
    """The proxy's configuration as far as it matters here."""

    places: tuple[Place, ...]
    token: str
    """Digest over all places: equal tokens, equal configuration."""
    outputs: tuple[LogOutput, ...] = ()
    """Its logs, where its configuration tells of them; not part of the token."""


class Load(msgspec.Struct, frozen=True):
    """What the proxy counts and checks by itself, read without touching an upstream."""

    counts: dict[str, int] | None
    """Requests in flight per canonical address; an address that is missing is unknown, None: all of them are."""
    process: str
    """Identity of the proxy process, `""` where unknown."""
    held_down: frozenset[str] = frozenset()
    """Canonical addresses that the proxy's own checks hold down."""
    problem: str = ""
    """Why `counts` is None, in the proxy's own words."""


class Change(msgspec.Struct, frozen=True):
    """What a place shall list: `wanted` in this order, with these limits and weights, and marked with `mark`."""

    place: Place
    wanted: tuple[Entry, ...]
    mark: str | None = None
    """Mark to carry on the first listed upstream that has no id of its own; None: no mark of ours."""


class Applied(msgspec.Struct, frozen=True):
    """The proxy took a change."""

    answer: str
    """Its answer, for the journal: `PATCH /config/... 200`."""
    seconds: float


class ProxyError(Exception):
    """The proxy could not be read or changed; the text holds its own words and, where there is one, the remedy."""


class Retryable(ProxyError):  # noqa: N818 - the word of DESIGN section 8
    """Unreachable, slow or cut off. The outcome of a change is unknown: read back before anything else."""


class CutOff(Retryable):
    """The connection was refused, reset or closed: one such is normal while a proxy takes up a new configuration."""


class Unloadable(Retryable):
    """The proxy does not take its own configuration as it stands: nothing was changed, nothing can be until that is mended."""


class Conflict(ProxyError):  # noqa: N818 - the word of DESIGN section 8
    """The configuration is not what the change was planned on: read again, plan again."""


class Fatal(ProxyError):  # noqa: N818 - the word of DESIGN section 8
    """Trying the same again can't help."""


class Forbidden(Fatal):
    """The proxy's admin interface turns us away; its words say why."""


class Refused(Fatal):
    """The proxy would not take this configuration."""


class Proxy(Protocol):
    """A proxy that can be read and changed. Every call ends within a few timeouts."""

    def read(self) -> Snapshot:
        """Read the configuration.

        Raises:
            Retryable, Forbidden, Fatal: As they say.
        """
        ...

    def load(self) -> Load:
        """Read requests in flight and the proxy's own checks; a failure is told in the value, never raised."""
        ...

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Make all changes, or none where the proxy can. There is at least one.

        Raises:
            Conflict: A place is not at the version that its change was planned on.
            Retryable, Forbidden, Refused, Fatal: As they say.
        """
        ...
