"""The demo's clients: they ask through Caddy, one question after the other, and give up when it takes too long."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from tailhealth.cli._demo_nodes import AGENT

PATIENCE = 1.5
"""Seconds after which a client gives up: 150 s, a hundred times faster."""
_PAUSE = 0.15


class Result(StrEnum):
    """What a client got."""

    ANSWERED = "answered"
    GAVE_UP = "gave up"
    FAILED = "failed"


class Seen(NamedTuple):
    """One request as its client saw it."""

    started: float
    """Epoch seconds."""
    ended: float
    result: Result


class Clients:
    """Clients in threads of this process.

    Args:
        port: Where Caddy listens.
        count: How many of them there are.
        clock: Wall clock in epoch seconds.
    """

    def __init__(self, port: int, count: int, clock: Callable[[], float] = time.time) -> None:
        self._port = port
        self._clock = clock
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self._threads = [threading.Thread(target=self._run, args=(number / count,), daemon=True) for number in range(count)]

    def start(self) -> None:
        """Begin to ask."""
        for thread in self._threads:
            thread.start()

    def seen(self) -> list[Seen]:
        """Return what they saw up to now, in the order in which the requests ended."""
        with self._lock:
            return list(self._seen)

    def close(self) -> None:
        """Let them finish their last request and stop."""
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(PATIENCE + 1)

    def _run(self, phase: float) -> None:
        self._stop.wait(phase * _PAUSE)
        while not self._stop.is_set():
            started = self._clock()
            result = self._ask()
            with self._lock:
                self._seen.append(Seen(started, self._clock(), result))
            self._stop.wait(_PAUSE)

    def _ask(self) -> Result:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request("POST", "/api/chat", b'{"prompt":"?"}', {"User-Agent": AGENT})
            answer = connection.getresponse()
            answer.read()
        except TimeoutError:
            return Result.GAVE_UP
        except (OSError, http.client.HTTPException):
            return Result.FAILED
        finally:
            connection.close()
        return Result.ANSWERED if answer.status == http.client.OK else Result.FAILED
