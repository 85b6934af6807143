"""The one thread that talks to the proxy. It may wait there as long as it must: reading and deciding go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Condition as Variable
from threading import Thread
from typing import TypeAlias

import msgspec

from tailhealth.proxies.base import Load, Proxy
from tailhealth.service.conditions import Condition
from tailhealth.service.reconcile import Reconciler, Step
from tailhealth.service.state import Wish


class Polled(msgspec.Struct, frozen=True):
    """A look at the requests in flight, when it was done."""

    at: float
    load: Load


class Stepped(msgspec.Struct, frozen=True):
    """What a step of the reconciler brought, when it was done."""

    at: float
    step: Step


News: TypeAlias = Polled | Stepped


class Worker:
    """Polls the proxy and brings it to what is wished, in a thread of its own.

    Args:
        proxy: The proxy.
        reconciler: Knows what is wished.
        poll: Seconds between two looks at the requests in flight.
        clock: Wall clock in epoch seconds.
        wake: Called when there is news.
    """

    def __init__(
        self, proxy: Proxy, reconciler: Reconciler, *, poll: float, clock: Callable[[], float], wake: Callable[[], None]
    ) -> None:
        self._proxy = proxy
        self._reconciler = reconciler
        self._poll = poll
        self._clock = clock
        self._wake = wake
        self._news: SimpleQueue[News] = SimpleQueue()
        self._changed = Variable()
        self._wishes: list[tuple[str, str, Wish]] = []
        self._aborted: list[tuple[float, int]] = []
        self._told: tuple[dict[tuple[str, str], float], tuple[Condition, ...]] | None = None
        self._look_now = False
        self._stopping = False
        self._next_poll = clock()
        self._next_step = clock()
        self._thread = Thread(target=self._run, name="proxy", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, patience: float) -> bool:
        """End after the request that is on its way; tell whether it ended within `patience` seconds."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(patience)
        return not self._thread.is_alive()

    def wish(self, pool: str, upstream: str, wish: Wish) -> None:
        """Hand over how an upstream shall stand."""
        with self._changed:
            self._wishes.append((pool, upstream, wish))
            self._changed.notify()

    def note_aborted(self, at: float, count: int) -> None:
        """Hand over that requests failed without an upstream, the latest at `at`."""
        with self._changed:
            self._aborted.append((at, count))
            self._changed.notify()

    def look(self) -> None:
        """Look for drift now: something was seen that should not be."""
        with self._changed:
            self._look_now = True
            self._changed.notify()

    def news(self) -> list[News]:
        """Take what has come since the last call."""
        found = []
        while True:
            try:
                found.append(self._news.get_nowait())
            except Empty:
                return found

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._has_work, timeout=self._pause())
                if self._stopping:
                    return
                wishes, self._wishes = self._wishes, []
                look, self._look_now = self._look_now, False
                aborted, self._aborted = self._aborted, []
            for pool, upstream, wish in wishes:
                self._reconciler.desire(pool, upstream, wish)
            for at, count in aborted:
                self._reconciler.note_aborted(at, count)
            if look:
                self._reconciler.look()
            self._work()

    def _has_work(self) -> bool:
        return self._stopping or bool(self._wishes) or bool(self._aborted) or self._look_now

    def _pause(self) -> float:
        return max(0.0, min(self._next_poll, self._next_step) - self._clock())

    def _work(self) -> None:
        now = self._clock()
        step = self._reconciler.step(now)
        self._next_step = step.next_at
        if step.inputs or (step.confirmed, step.conditions) != self._told:
            self._told = (step.confirmed, step.conditions)
            self._tell(Stepped(self._clock(), step))
        now = self._clock()
        if now >= self._next_poll:
            load = self._proxy.load()
            self._next_poll = now + self._poll
            self._reconciler.loaded(load)
            self._tell(Polled(self._clock(), load))

    def _tell(self, news: News) -> None:
        self._news.put(news)
        self._wake()
