"""Which proxy wrote a line, told by the line alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tailhealth.logs.caddy_text import console, members_of
from tailhealth.logs.nginx_names import RANKS, spelling
from tailhealth.logs.nginx_text import PREFIXES

if TYPE_CHECKING:
    from tailhealth.logs.rules import LogRules

Proxy: TypeAlias = Literal["caddy", "nginx"]

_TELLING = frozenset({"upstream", "upstream_status", "header_time", "response_time", "request_time", "connect_time"})
"""Fields of an nginx record by whose name alone it is known."""
_WEAK = frozenset({"duration", "up", "ua", "us", "ut", "rt"})
_NGINX = re.compile(
    rb'"[\w@.-]{0,40}(?:upstream|ups_|request_time|request_uri|remote_addr|msec)[\w.-]{0,40}"\s*:', re.IGNORECASE
)
_FRAGMENT = re.compile(rb'\s*"[\w@.-]{1,64}"\s*:')
"""A physical line of a record that stands over several lines."""
_CADDY_REQUEST = b'"request":{'
_CADDY_LOGGER = b'"logger":"'


def proxy_of(line: bytes, rules: LogRules) -> Proxy | None:
    """Tell which proxy wrote a line, already unwrapped; None if it could be either's or nobody's.

    What the operator mapped helps to know nginx by; `format` is not asked here.
    """
    if line.startswith(PREFIXES):
        return "nginx"
    if not line.startswith(b"{"):
        if _FRAGMENT.match(line) and _NGINX.search(line):
            return "nginx"
        return "caddy" if console(line) is not None else None
    try:
        members = members_of(line, repeated=False).members
    except ValueError:
        return quick(line)
    return _of_members(members, rules)


def quick(line: bytes) -> Proxy | None:
    """Tell it by what stands in the text, for lines that are no JSON as they are and for a first guess."""
    if _CADDY_REQUEST in line or _CADDY_LOGGER in line:
        return "caddy"
    return "nginx" if _NGINX.search(line) else None


def _of_members(members: dict[str, Any], rules: LogRules) -> Proxy | None:
    if isinstance(members.get("request"), dict) or isinstance(members.get("logger"), str):
        return "caddy"
    if {"level", "ts", "msg"} <= members.keys():
        return "caddy"
    for key, value in members.items():
        names = [(key,)] if not isinstance(value, dict) else [(key, inner) for inner in value]
        for name in names:
            spelled = spelling(name)
            if spelled in RANKS and spelled not in _WEAK and RANKS[spelled][0] in _TELLING:
                return "nginx"
    mapped = {rule.key.partition(".")[0] for rule in rules.fields.values()}
    return "nginx" if not mapped.isdisjoint(members) else None
