"""The types of settings: what the operator may write, and what it is read to.

Each is an annotated type; `extra["reads"]` turns the value of the file into the value of the field, and `extra["wants"]` says
what is expected. The bounds are those of `msgspec.Meta`. The walk over the schema (`walk.py`) obeys both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from tailhealth.config import durations, places, statuses
from tailhealth.config.secrets import Secret


def _kind(reads: Callable[[Any], Any], wants: str) -> dict[str, Any]:
    return {"reads": reads, "wants": wants}


_DURATION = _kind(durations.read_duration, durations.WANTED)

Seconds: TypeAlias = Annotated[float, Meta(ge=0, extra=_DURATION)]
"""A duration, zero included."""

SomeSeconds: TypeAlias = Annotated[float, Meta(gt=0, extra=_DURATION)]
"""A duration, longer than zero."""

Positive: TypeAlias = Annotated[int, Meta(ge=1)]
"""A whole number, at least 1."""

Statuses: TypeAlias = Annotated[
    frozenset[int], Meta(extra=_kind(statuses.read_statuses, 'statuses such as ["5xx", "!501", "502", "500-504"]'))
]
GrpcStatuses: TypeAlias = Annotated[
    frozenset[int], Meta(extra=_kind(statuses.read_grpc_statuses, "gRPC statuses such as [2, 4, 13, 14]"))
]
BusyStatuses: TypeAlias = Annotated[
    statuses.Busy, Meta(extra=_kind(statuses.read_busy, 'statuses such as ["429", "503+retry-after"]'))
]

Hosts: TypeAlias = Annotated[tuple[str, ...], Meta(extra=_kind(places.read_hosts, "hosts or globs"))]
Methods: TypeAlias = Annotated[tuple[str, ...], Meta(extra=_kind(places.read_methods, "request methods"))]
Paths: TypeAlias = Annotated[tuple[str, ...], Meta(extra=_kind(places.read_paths, "URL paths or globs"))]
Upstreams: TypeAlias = Annotated[tuple[str, ...], Meta(extra=_kind(places.read_upstreams, "upstreams"))]
Protected: TypeAlias = Annotated[tuple[str, ...], Meta(extra=_kind(places.read_protected, "upstreams or globs"))]

Admin: TypeAlias = Annotated[str, Meta(extra=_kind(places.read_admin, "the address of the admin interface"))]
Listen: TypeAlias = Annotated[str, Meta(extra=_kind(places.read_listen, "a loopback address with its port"))]
Zone: TypeAlias = Annotated[str, Meta(extra=_kind(places.read_zone, "a time zone"))]

FilePath: TypeAlias = Annotated[str, Meta(min_length=1, extra={"wants": "a path", "path": True})]
"""A path. A relative one is meant from the folder of the configuration file, and is made absolute when it is read."""

Command: TypeAlias = Annotated[
    tuple[str, ...], Meta(min_length=1, extra={"wants": 'a command as a list such as ["nginx", "-t"]'})
]
"""A command as a list of arguments; no shell is involved."""

Header: TypeAlias = Annotated[Secret, Meta(extra={"wants": 'a value, "env:NAME" or "file:PATH"', "secret": True})]
Webhook: TypeAlias = Annotated[
    Secret, Meta(extra={"wants": 'an address, "env:NAME" or "file:PATH"', "secret": True, "checks": places.check_webhook})
]
