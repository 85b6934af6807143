"""Addresses behind the names in `server` lines: nginx looks them up when it loads, and logs the address (case 33)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import TypeAlias

from tailhealth.core.address import canonical

LookUp: TypeAlias = Callable[[str, str], Iterable[str]]
"""Finds the IP addresses of a host for a port; raises `OSError` where there are none."""


def look_up(host: str, port: str) -> list[str]:
    """Ask the system, as nginx does."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(one[4][0]) for one in found]


class Names:
    """Looks names up, and keeps the last answer where the name server gives none: a pause of it must move no upstream."""

    def __init__(self, find: LookUp = look_up) -> None:
        self._find = find
        self._last: dict[str, tuple[str, ...]] = {}

    def of(self, address: str) -> tuple[str, ...]:
        """Name the canonical addresses under which the log shows one; empty: it is an address itself, or was never found."""
        host, _, port = address.rpartition(":")
        if address.startswith("unix/") or _is_ip(host.strip("[]")):
            return ()
        try:
            found = self._find(host, port)
            self._last[address] = tuple(
                sorted({canonical(f"[{one}]:{port}" if ":" in one else f"{one}:{port}") for one in found})
            )
        except OSError:
            # Kept, or unknown as yet: it is asked again at the next read.
            self._last.setdefault(address, ())
        return self._last[address]


def _is_ip(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
