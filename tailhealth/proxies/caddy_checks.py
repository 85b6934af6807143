"""Caddy's own health checks, active and passive, of every `reverse_proxy` handler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from tailhealth.core.address import canonical
from tailhealth.proxies.caddy_config import SERVERS, Where, handlers
from tailhealth.proxies.own_checks import OwnCheck

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART = re.compile(r"([0-9]*\.?[0-9]+)(ns|us|µs|μs|ms|s|m|h|d)")
_ACTIVE_INTERVAL, _ACTIVE_TIMEOUT = 30.0, 5.0
"""Caddy's defaults."""


def own_checks(config: Any) -> tuple[OwnCheck, ...]:
    """Find the checks of a configuration, as `GET /config/` tells (None: nothing is loaded)."""
    return tuple(check for handler, where in _handlers(config) for check in _of(handler, where))


def stream_delays(config: Any) -> dict[str, float]:
    """Return for each place the seconds that upgraded connections get at a change; 0: they are closed at once."""
    return {_key(where): seconds(handler.get("stream_close_delay")) or 0.0 for handler, where in _handlers(config)}


def portless(config: Any) -> tuple[tuple[str, str], ...]:
    """Name the places and dial addresses without a port: Caddy dials port 0 then, and every request fails."""
    dials = (
        (_key(where), str(one.get("dial", "")))
        for handler, where in _handlers(config)
        for one in handler.get("upstreams") or ()
    )
    return tuple((key, dial) for key, dial in dials if _lacks_port(dial))


def _handlers(config: Any) -> Iterator[tuple[dict[str, Any], Where]]:
    servers = config
    for step in SERVERS:
        servers = (servers or {}).get(step)
    return handlers(servers or {}, Where(SERVERS))


def _lacks_port(dial: str) -> bool:
    try:
        return canonical(dial, port="") != canonical(dial)
    except ValueError:
        return False


def seconds(value: Any) -> float | None:
    """Read a duration: a number counts nanoseconds, a string is Go's, with days; None: absent, or not to be read."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value * 1e-9
    if not isinstance(value, str) or not value or _PART.sub("", value):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value))


def _of(handler: Mapping[str, Any], where: Where) -> Iterator[OwnCheck]:
    checks = handler.get("health_checks") or {}
    active, passive = (checks.get(kind) or {} for kind in ("active", "passive"))
    if active.get("uri") or active.get("path") or active.get("port") or active.get("upstream"):
        yield _active(active, _key(where))
    if seconds(passive.get("fail_duration")) or passive.get("unhealthy_request_count"):
        yield _passive(passive, _key(where))


def _active(check: Mapping[str, Any], key: str) -> OwnCheck:
    uri = str(check.get("uri") or check.get("path") or "/")
    interval = seconds(check.get("interval")) or _ACTIVE_INTERVAL
    timeout = seconds(check.get("timeout")) or _ACTIVE_TIMEOUT
    words = f"health_uri {uri.partition('?')[0]}, health_interval {interval:g}s, health_timeout {timeout:g}s"
    return OwnCheck(key, active=True, words=words, path=uri.partition("?")[0], limit=timeout)


def _passive(check: Mapping[str, Any], key: str) -> OwnCheck:
    latency = seconds(check.get("unhealthy_latency"))
    statuses = tuple(check.get("unhealthy_status") or ())
    words = [f"fail_duration {seconds(check.get('fail_duration')) or 0:g}s", f"max_fails {check.get('max_fails') or 1}"]
    words += [f"unhealthy_latency {latency:g}s"] if latency else []
    words += [f"unhealthy_status {' '.join(map(str, statuses))}"] if statuses else []
    words += [f"unhealthy_request_count {check['unhealthy_request_count']}"] if check.get("unhealthy_request_count") else []
    return OwnCheck(key, active=False, words=", ".join(words), limit=latency or None, statuses=statuses)


def _key(where: Where) -> str:
    """Name the place as `caddy_config.place` does."""
    return "/".join(quote(step, safe="") for step in where.path)
