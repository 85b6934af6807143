"""Caddy's configuration as places: every `reverse_proxy` handler, wherever it stands (DESIGN section 8, Caddy)."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import msgspec
import orjson

from tailhealth.core.address import canonical
from tailhealth.proxies.base import MARK, Entry, Place, Snapshot
from tailhealth.proxies.caddy_logs import outputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STICKY = frozenset({"ip_hash", "client_ip_hash", "uri_hash", "query", "header", "cookie"})
"""Selection policies that bind clients to upstreams."""

KNOWN = STICKY | {"random", "random_choose", "least_conn", "round_robin", "first", "weighted_round_robin"}
"""Selection policies whose settings are known not to go by position, `weights` apart."""

SERVERS = ("apps", "http", "servers")


class Where(msgspec.Struct, frozen=True):
    """What stands above a handler."""

    path: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    logged: bool = True

    def down(self, *steps: str | int) -> Where:
        """Go down in the configuration."""
        return msgspec.structs.replace(self, path=(*self.path, *map(str, steps)))

    def matched(self, route: Mapping[str, Any]) -> Where:
        """Add the matchers of a route. They count only if every alternative of the route has one; the innermost wins."""
        match = route.get("match")
        if not isinstance(match, list) or not match or not all(isinstance(one, dict) for one in match):
            return self
        hosts, paths = ([one.get(kind) or [] for one in match] for kind in ("host", "path"))
        return msgspec.structs.replace(
            self,
            hosts=tuple(host for each in hosts for host in each) if all(hosts) else self.hosts,
            paths=tuple(path for each in paths for path in each) if all(paths) else self.paths,
        )


def snapshot(config: Any) -> Snapshot:
    """Find all places of a configuration, as `GET /config/` returns it (None: nothing is loaded)."""
    servers = config
    for step in SERVERS:
        servers = (servers or {}).get(step)
    places = tuple(
        place(handler, where)
        for name, server in (servers or {}).items()
        for handler, where in handlers(server, Where((*SERVERS, name), logged=server.get("logs") is not None))
    )
    token = digest([(one.key, one.version, one.hosts, one.paths, one.logged) for one in places])
    return Snapshot(places, token, outputs(config))


def handlers(node: Any, where: Where) -> Iterator[tuple[dict[str, Any], Where]]:
    """Walk a part of the configuration for `reverse_proxy` handlers.

    Routes stand in servers, subroutes, error routes, named routes and responses that a handler treats; modules of others may
    hold more. So everything is looked at, and nothing is known about who may hold what.
    """
    if isinstance(node, dict):
        if node.get("handler") == "reverse_proxy":
            yield node, where
        below = where.matched(node) if "handle" in node else where
        for key, value in node.items():
            if isinstance(value, dict | list):
                yield from handlers(value, below.down(key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from handlers(value, where.down(index))


def place(handler: dict[str, Any], where: Where) -> Place:
    """Read one handler."""
    listed = handler.get("upstreams") or []
    slots = [policy["weights"] for policy in policies(handler) if policy.get("weights")]
    problem = _problem(handler, len(listed), slots)
    weights: list[tuple[int, ...]] = [() for _ in listed] if problem else list(zip(*slots, strict=True)) or [()] * len(listed)
    return Place(
        key="/".join(quote(step, safe="") for step in where.path),
        entries=tuple(entry(raw, weights[index]) for index, raw in enumerate(listed)),
        version=digest(handler),
        handler_id=handler.get("@id"),
        hosts=where.hosts,
        paths=where.paths,
        sticky=any(policy.get("policy") in STICKY for policy in policies(handler)),
        marks=tuple(raw["@id"] for raw in listed if str(raw.get("@id", "")).startswith(MARK)),
        logged=where.logged,
        cuts_streams=not handler.get("stream_close_delay"),
        problem=problem,
    )


def steps(key: str) -> tuple[str, ...]:
    """Take a place's key apart into the steps of its path."""
    return tuple(unquote(step) for step in key.split("/"))


def policies(handler: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Name the selection policy of a handler and, nested in it, its fallbacks."""
    policy = (handler.get("load_balancing") or {}).get("selection_policy")
    while policy:
        yield policy
        policy = policy.get("fallback")


def entry(raw: Mapping[str, Any], weights: tuple[int, ...]) -> Entry:
    """Read one upstream object."""
    dial = str(raw.get("dial", ""))
    address, problem = dial, ""
    try:
        address = canonical(dial)
    except ValueError as error:
        problem = f"the dial address {dial!r} can't be acted on: {error}"
    marked = str(raw.get("@id", "")).startswith(MARK)
    return Entry(
        address=address,
        raw={key: value for key, value in raw.items() if key != "max_requests" and not (marked and key == "@id")},
        limit=raw.get("max_requests"),
        weights=weights,
        own_id="@id" in raw and not marked,
        problem=problem,
    )


def _problem(handler: Mapping[str, Any], count: int, slots: list[list[int]]) -> str:
    if handler.get("dynamic_upstreams"):
        return "it has dynamic upstreams, which can't be ejected: list them as static `upstreams`"
    for weights in slots:
        if len(weights) != count:
            return f"{len(weights)} weights stand beside {count} upstreams: give each upstream its weight"
    for policy in policies(handler):
        by_position = [key for key, value in policy.items() if isinstance(value, list) and len(value) == count]
        if policy.get("policy") not in KNOWN and by_position:
            return f"the selection policy {policy.get('policy')!r} is unknown, and its {by_position[0]!r} may go by position"
    return ""


def digest(value: Any) -> str:
    """Tell two JSON values apart, whatever the order of their keys."""
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()
