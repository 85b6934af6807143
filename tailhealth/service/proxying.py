"""The proxy that a configuration names, with what it must know of our state."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, Protocol

from tailhealth.config import Config
from tailhealth.proxies.admin import Access
from tailhealth.proxies.base import Proxy, UpstreamState
from tailhealth.proxies.caddy import Caddy
from tailhealth.proxies.nginx import Nginx
from tailhealth.proxies.nginx_plus import NginxPlus
from tailhealth.proxies.nginx_reload import Setup
from tailhealth.service.state import Contents, Wish


class Memory(Protocol):
    """A state file: what it holds now."""

    @property
    def contents(self) -> Contents:
        """What it holds."""
        ...


def access_of(config: Config) -> Access:
    """Return how to reach the admin interface that a configuration names.

    Raises:
        ConfigError: A header's value can't be read.
    """
    table = config.proxy
    headers = tuple(config.admin_headers().items())
    return Access(table.admin, headers, ca=table.ca, cert=table.cert, key=table.key, timeout=table.timeout)


def setup_of(config: Config) -> Setup:
    """Return how to reach the nginx that a configuration names."""
    table = config.proxy
    return Setup(table.include, table.test, table.reload, table.pid, table.timeout)


def proxy_of(config: Config, state: Memory | None = None, *, dry_run: bool = False) -> Proxy:
    """Return the proxy that a configuration names.

    Args:
        config: Its `[proxy]` table counts.
        state: What is out, and why: some proxies are told, or can't tell it from what the operator did. None: nothing is out.
        dry_run: Reading it never writes anything.

    Raises:
        ConfigError: A header's value can't be read.
    """
    table = config.proxy

    def contents() -> Contents:
        return Contents("") if state is None else state.contents

    if table.kind == "nginx":
        return Nginx(setup_of(config), lambda place, address: why(contents(), place, address), heals=not dry_run)
    if table.kind == "nginx-plus":
        how: Literal["drain", "down"] = "drain" if table.drain else "down"
        return NginxPlus(access_of(config), how, lambda place, address: is_ours(contents(), place, address))
    return Caddy(access_of(config))


def why(contents: Contents, place: str, address: str) -> str:
    """Say in one line why an upstream of a place is out or limited; empty: it is not known."""
    pools = {one.pool for one in contents.kept if one.key == place}
    found = [one.wish for one in contents.wished if one.upstream == address and (one.pool in pools or not pools)]
    return _said(found[0]) if found else ""


def is_ours(contents: Contents, place: str, address: str) -> bool:
    """Tell whether the record of a place has an upstream out, or was to have it out when a change was cut off."""
    kept = next((one for one in contents.kept if one.key == place), None)
    if kept is None:
        return False
    indexes = {index for index, entry in enumerate(kept.original) if entry.address == address}
    lists = [kept.left] if kept.aim is None else [kept.left, kept.aim]
    return any(indexes - {index for index, _ in one} for one in lists)


def _said(wish: Wish) -> str:
    """Say in one line what is wanted, why and until when."""
    if wish.state is UpstreamState.LIMITED:
        return f"on probation, {wish.max_in_flight} at a time"
    end = "readmitted by hand" if wish.until is None else f"{datetime.fromtimestamp(wish.until, UTC):%Y-%m-%dT%H:%M:%SZ}"
    return f"ejected until {end}: {wish.why}"
