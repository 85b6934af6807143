"""Which `[pool]` table means a pool of the proxy, and what a pool is called (DESIGN sections 1 and 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from hashlib import blake2b

import msgspec

from tailhealth.config.errors import dotted
from tailhealth.config.schema import PoolTable

NAME_LENGTH = 60
"""A pool's name is at most this long where it is made of its upstreams."""

_HASH_BYTES = 4


class Handler(msgspec.Struct, frozen=True):
    """A load balancer of the proxy, as far as a `[pool]` table can tell it from others."""

    upstreams: tuple[str, ...]
    """Canonical addresses, backups included."""
    hosts: tuple[str, ...] = ()
    """Hosts that the proxy sends to it; empty: every host."""
    paths: tuple[str, ...] = ()
    """Paths that the proxy sends to it, as globs (an nginx prefix ends with `*`); empty: every path."""
    id: str | None = None
    """Its `@id` in Caddy, or the name of the upstream block in nginx."""
    backups: tuple[str, ...] = ()
    """Those of `upstreams` that are backups: a table may leave them out."""


def matching(tables: Mapping[str, PoolTable], handler: Handler) -> list[str]:
    """Name the tables that mean this handler. More than one is an error of the configuration."""
    return [name for name, table in tables.items() if _matches(table, handler)]


def clash_text(names: list[str], handler: Handler) -> str:
    """Say that several tables match one pool."""
    tables = " and ".join(dotted(("pool", name)) for name in names)
    return f"{tables} match the same pool, {joined(handler.upstreams)}: tell them apart by upstreams, host, path or id"


def joined(upstreams: Iterable[str]) -> str:
    """Make a name of a set of upstreams: sorted, joined by `+`, cut at 60 characters with a hash of the whole."""
    name = "+".join(sorted(set(upstreams)))
    if len(name) <= NAME_LENGTH:
        return name
    digest = blake2b(name.encode(), digest_size=_HASH_BYTES).hexdigest()
    return f"{name[: NAME_LENGTH - len(digest) - 1]}~{digest}"


def _matches(table: PoolTable, handler: Handler) -> bool:
    """All match keys of the table must fit.

    A handler that serves every host (or path) fits a table with `host` (or `path`) only if the table also names it by its
    upstreams or its `@id`: the patterns then pick out attempts (`Pool.hosts`, `Pool.paths`). By a pattern alone a catch-all
    handler is not meant.
    """
    if table.upstreams and set(table.upstreams) not in (set(handler.upstreams), set(handler.upstreams) - set(handler.backups)):
        return False
    if table.id is not None and table.id != handler.id:
        return False
    named = bool(table.upstreams) or table.id is not None
    return _overlap(table.host, handler.hosts, named) and _overlap(table.path, handler.paths, named)


def _overlap(patterns: tuple[str, ...], served: tuple[str, ...], named: bool) -> bool:
    """Tell whether something served fits a pattern, or a pattern lies within something served."""
    if not patterns:
        return True
    if not served:
        return named
    pairs = ((pattern.lower(), one.lower()) for pattern in patterns for one in served)
    return any(fnmatchcase(one, pattern) or fnmatchcase(pattern, one) for pattern, one in pairs)
