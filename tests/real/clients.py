"""Clients that send requests through a proxy, each with patience of its own, and count what they saw."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

PAUSE = 0.005
"""Seconds between an answer and the next request: people and programs do not ask again in the same moment."""


class Clients:
    """Some clients that ask again as soon as they were answered or gave up.

    Args:
        url: What they ask for.
        count: How many ask at a time.
        patience: Seconds until one gives up.
    """

    def __init__(self, url: str, count: int, patience: float) -> None:
        self.seen: Counter[str] = Counter()
        self._url = url
        self._patience = patience
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(count)]

    @property
    def failed(self) -> int:
        """Count requests without a good answer."""
        return sum(count for what, count in self.seen.items() if what != "200")

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End, once the requests that are on their way have ended."""
        self._stop.set()
        for thread in self._threads:
            thread.join(self._patience + 10)

    def _ask(self) -> None:
        with requests.Session() as session:
            session.trust_env = False
            while not self._stop.is_set():
                what = self._once(session)
                with self._lock:
                    self.seen[what] += 1
                self._stop.wait(PAUSE)

    def _once(self, session: requests.Session) -> str:
        try:
            return str(session.get(self._url, timeout=self._patience).status_code)
        except requests.Timeout:
            return "gave up"
        except requests.ConnectionError:
            return "cut off"


@contextmanager
def asking(url: str, count: int = 8, patience: float = 1.5) -> Iterator[Clients]:
    """Let clients ask for the length of a `with` block."""
    clients = Clients(url, count, patience)
    clients.start()
    try:
        yield clients
    finally:
        clients.stop()
