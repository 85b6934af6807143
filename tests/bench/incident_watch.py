"""Who took which upstream out of rotation: Caddy's active check by its own log, its passive check by its counter of fails."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, NamedTuple

import orjson
import requests

if TYPE_CHECKING:
    from pathlib import Path

EVERY = 0.02
"""Seconds between two looks; the shortest time that the bench's passive check holds an upstream down is 0.3 s."""


class Removal(NamedTuple):
    """An upstream went out of rotation."""

    upstream: str
    at: float
    """Epoch seconds."""


def found_down(own_log: Path) -> list[Removal]:
    """Read from Caddy's own log, at level DEBUG, what its active check took out: it tells of that by an event only.

    A change of the configuration ends the old one's checks, with the error "stopping apps", and Caddy calls their nodes
    unhealthy too. That takes nobody out: the new configuration begins with all nodes healthy.
    """
    found: list[Removal] = []
    ended: dict[str, bool] = {}
    for line in own_log.read_bytes().splitlines():
        if b'"HTTP request failed"' in line:
            failed = orjson.loads(line)
            ended[failed["host"]] = failed["error"].endswith(": stopping apps")
        elif b'"unhealthy"' in line and (event := orjson.loads(line))["logger"] == "events":
            host = event["data"]["host"]
            if not ended.get(host, False):
                found.append(Removal(host, event["ts"]))
    return found


class Fails:
    """Looks again and again which upstreams have as many fails as Caddy's passive check takes.

    Args:
        admin: Where Caddy's admin interface is.
        most: Its `max_fails`.
    """

    def __init__(self, admin: str, most: int) -> None:
        self.removals: list[Removal] = []
        self._url = f"{admin}/reverse_proxy/upstreams"
        self._most = most
        self._down: set[str] = set()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        with requests.Session() as session:
            session.trust_env = False
            while not self._stop.wait(EVERY):
                counts = session.get(self._url, timeout=5).json()
                down = {one["address"] for one in counts if one["fails"] >= self._most}
                now = time.time()
                self.removals += (Removal(upstream, now) for upstream in sorted(down - self._down))
                self._down = down
