"""Which key of an nginx line is which field: variable names, their well-known aliases, and what the operator mapped.

nginx has no names of its own in a JSON `log_format`: operators write them. Most use the variable's name, many one of a few
short forms, some nest objects as another product wants them (DESIGN section 3).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tailhealth.logs.rules import LogRules

Key: TypeAlias = tuple[str, ...]
"""Where a value stands: one name per level of nested objects."""

DEPTH = 4
"""Objects nested deeper than this hold nothing of an access record."""

ALIASES: dict[str, tuple[str, ...]] = {
    "time": (
        *("msec", "ts", "time_iso8601", "time", "timestamp", "datetime", "date_time", "time_local", "dt", "date"),
        *("log_time", "local_time", "request_timestamp"),
    ),
    "upstream": (
        *("upstream_addr", "ups_addr", "upstreamaddr", "upstream_address", "upstream_host", "upstreamhost", "upstream_server"),
        *("upstream", "backend_addr", "proxy_upstream_addr", "up", "ua"),
    ),
    "upstream_status": ("upstream_status", "ups_status", "upstreamstatus", "upstream_status_code", "us"),
    "header_time": ("upstream_header_time", "ups_header_time", "upstreamheadertime", "uht", "header_time"),
    "response_time": (
        *("upstream_response_time", "ups_time", "ups_response_time", "upstreamtime", "upstream_time", "upstreamresponsetime"),
        *("upstream_latency", "urt", "ut", "response_time", "http_request_latency", "duration"),
    ),
    "connect_time": ("upstream_connect_time", "ups_connect_time", "upstreamconnecttime", "uct", "connect_time"),
    "request_time": ("request_time", "rt", "responsetime", "resp_time", "requesttime", "req_time", "request_duration"),
    "status": (
        *("status", "status_code", "statuscode", "http_status", "response_status", "response_code", "response_status_code"),
        *("http_request_status", "http_status_code"),
    ),
    "method": ("request_method", "method", "http_method", "http_request_request_method", "verb"),
    "path": ("request_uri", "uri", "url", "path", "request_url", "request_path", "http_request_request_url", "document_uri"),
    "request": ("request", "request_line"),
    "host": ("host", "http_host", "vhost", "request_host", "domain", "server_name", "authority"),
    "client": (
        *("remote_addr", "client_ip", "clientip", "remote_ip", "client_addr", "client_address", "remote_address"),
        *("http_request_remote_ip", "client", "ip"),
    ),
    "forwarded": ("http_x_forwarded_for", "x_forwarded_for", "xff", "forwarded_for", "proxy_add_x_forwarded_for"),
    "client_port": ("remote_port", "client_port"),
    "body_bytes": ("request_length", "http_content_length", "content_length", "request_size", "http_request_request_size"),
    "grpc_status": ("grpc_status", "upstream_http_grpc_status", "sent_http_grpc_status", "http_grpc_status"),
    "grpc_trailer": ("upstream_trailer_grpc_status", "sent_trailer_grpc_status", "grpc_trailer"),
    "content_type": ("sent_http_content_type", "upstream_http_content_type", "response_content_type", "content_type"),
    "retry_after": ("upstream_http_retry_after", "sent_http_retry_after", "retry_after"),
}
"""The names of each field in the order in which they are believed: the exact variable first."""

FIELD_NAMES = tuple(ALIASES)

RANKS: dict[str, tuple[str, int]] = {
    alias: (name, rank) for name, aliases in ALIASES.items() for rank, alias in enumerate(aliases)
}

ABOUT_ANSWER = frozenset({"grpc_status", "grpc_trailer", "content_type", "retry_after"})
"""Fields that say more about the last answer than its status."""

WEAK = frozenset({"ua", "up"})
"""`ua` is more often the user agent: these need one of `COMPANIONS` beside them to be the upstream's address."""
COMPANIONS = frozenset({"us", "ut", "urt", "uht", "uct"})

_ALONE = frozenset({"request_time", "request_method", "request_uri", "request_length", "time_iso8601", "time_local", "msec"})
"""Names that mean the nginx variable wherever they are nested; so do those that begin with `upstream_`."""
_CONTAINERS = frozenset({"nginx", "access", "http", "fields", "json", "log", "data", "payload", "json_payload"})
"""Objects that only hold the others: they are no part of a name."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KEPT_SPELLINGS = 4096
_spelled: dict[Key, str] = {}


class Choice(NamedTuple):
    """The key that a field is read from in lines of one shape."""

    field: str
    key: Key
    rank: int


def spelling(key: Key) -> str:
    """Return a key in the form of `ALIASES`: `upstreamAddr`, `upstream-addr` and `upstream.addr` are `upstream_addr`."""
    known = _spelled.get(key)
    if known is None:
        parts = [_HUMP.sub("_", part).lower().lstrip("$@_").translate(_SEPARATORS) for part in key]
        while len(parts) > 1 and parts[0] in _CONTAINERS:
            del parts[0]
        known = "_".join(parts)
        if known not in RANKS and (parts[-1] in _ALONE or (parts[-1].startswith("upstream_") and parts[-1] in RANKS)):
            known = parts[-1]
        if len(_spelled) < _KEPT_SPELLINGS:
            _spelled[key] = known
    return known


_SEPARATORS = str.maketrans("-. ", "___")


def mapped(rules: LogRules, keys: Iterable[Key]) -> dict[str, Key]:
    """Return where the fields that the operator mapped stand in a line with these keys.

    A dotted name is looked for as it is first, then as a way into nested objects.
    """
    present = set(keys)
    found = {}
    for name, rule in rules.fields.items():
        for key in ((rule.key,), tuple(rule.key.split("."))):
            if key in present:
                found[name] = key
                break
    return found


def choose(keys: Iterable[Key], rules: LogRules) -> list[Choice]:
    """Choose the key of each field among the keys of a line: the operator's, else the best known name."""
    keys = list(keys)
    chosen = {name: Choice(name, key, -1) for name, key in mapped(rules, keys).items()}
    spelled = {key: spelling(key) for key in keys}
    companions = not COMPANIONS.isdisjoint(spelled.values())
    for key, name in spelled.items():
        if name not in RANKS or (name in WEAK and not companions):
            continue
        field, rank = RANKS[name]
        if field in rules.fields:
            continue
        best = chosen.get(field)
        if best is None or rank < best.rank:
            chosen[field] = Choice(field, key, rank)
    return list(chosen.values())


def recognised(key: Key, rules: LogRules) -> bool:
    """Tell whether a key may be read as a field: seen twice in one line, it makes the line ambiguous."""
    dotted = ".".join(key)
    return spelling(key) in RANKS or any(rule.key == dotted for rule in rules.fields.values())


class Pairs(list[tuple[str, Any]]):
    """An object of a line with its members as they stand, repeated ones included."""


class Flat(NamedTuple):
    """The values of a line by their keys, and the keys of which it has more than one."""

    values: dict[Key, Any]
    repeated: frozenset[Key]


def flatten(members: Pairs) -> Flat:
    """List the values of an object with those of the objects in it."""
    values: dict[Key, Any] = {}
    repeated: set[Key] = set()
    pending: list[tuple[Key, Pairs, bool]] = [((), members, False)]
    while pending:
        above, pairs, doubtful = pending.pop()
        counts = Counter(name for name, _ in pairs)
        for name, value in pairs:
            key = (*above, name)
            twice = doubtful or counts[name] > 1
            if twice:
                repeated.add(key)
            if isinstance(value, Pairs):
                if len(key) < DEPTH:
                    pending.append((key, value, twice))
            else:
                values[key] = value
    return Flat(values, frozenset(repeated))
