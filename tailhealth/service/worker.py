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
from tailhealth.service.pools import Naming
from tailhealth.service.reconcile import Reconciler, Step
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import Wish
from tailhealth.service.thinning import Outputs


class Polled(msgspec.Struct, frozen=True):
    """A look at the requests in flight, when it was done."""

    at: float
    load: Load


class Stepped(msgspec.Struct, frozen=True):
    """What a step of the reconciler brought, when it was done."""

    at: float
    step: Step


News: TypeAlias = Polled | Stepped
Job: TypeAlias = Callable[[Reconciler], None]


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
        self._jobs: list[Job] = []
        self._told: tuple[dict[tuple[str, str], float], tuple[Condition, ...], Outputs] | None = None
        self._load: Load | None = None
        self._stopping = False
        self._switched = False
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

    @property
    def died(self) -> bool:
        """It ended without having been told to: a fault of ours, which its traceback tells of."""
        return not self._stopping and not self._thread.is_alive()

    def hand(self, job: Job) -> None:
        """Hand over something to be done with the reconciler, which belongs to this thread."""
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()

    def wish(self, pool: str, upstream: str, wish: Wish) -> None:
        """Hand over how an upstream shall stand."""
        self.hand(lambda reconciler: reconciler.desire(pool, upstream, wish))

    def note_aborted(self, at: float, count: int) -> None:
        """Hand over that requests failed without an upstream, the latest at `at`."""
        self.hand(lambda reconciler: reconciler.note_aborted(at, count))

    def note_switched(self) -> None:
        """Hand over, once, that an upgraded connection was seen."""
        if not self._switched:
            self._switched = True
            self.hand(lambda reconciler: reconciler.note_switched())

    def look(self) -> None:
        """Look for drift now: something was seen that should not be."""
        self.hand(lambda reconciler: reconciler.look())

    def resume(self, pool: str | None) -> None:
        """Hand over that a pool, or with None every pool, shall be acted on again."""
        self.hand(lambda reconciler: reconciler.resume(pool))

    def renamed(self, naming: Naming, rules: ApplyRules, poll: float) -> None:
        """Take over what tailhealth's own configuration says now."""

        def take_over(reconciler: Reconciler) -> None:
            reconciler.renamed(naming, rules)
            self._next_poll = min(self._next_poll, self._next_poll - self._poll + poll)
            self._poll = poll

        self.hand(take_over)

    def shift(self, by: float) -> None:
        """The wall clock was set by so many seconds: what is due stays due in as much time as before."""

        def move(reconciler: Reconciler) -> None:
            reconciler.shift(by)
            self._next_poll += by
            self._next_step += by

        self.hand(move)

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
                jobs, self._jobs = self._jobs, []
            for job in jobs:
                job(self._reconciler)
            self._work()

    def _has_work(self) -> bool:
        return self._stopping or bool(self._jobs)

    def _pause(self) -> float:
        return max(0.0, min(self._next_poll, self._next_step) - self._clock())

    def _work(self) -> None:
        now = self._clock()
        step = self._reconciler.step(now)
        self._next_step = step.next_at
        if step.inputs or (step.confirmed, step.conditions, step.outputs) != self._told:
            self._told = (step.confirmed, step.conditions, step.outputs)
            self._tell(Stepped(self._clock(), step))
        now = self._clock()
        if now >= self._next_poll:
            load = self._proxy.load()
            self._next_poll = now + self._poll
            self._reconciler.loaded(load)
            # That a proxy counts nothing is told once.
            if load.counts is not None or load != self._load:
                self._load = load
                self._tell(Polled(self._clock(), load))

    def _tell(self, news: News) -> None:
        self._news.put(news)
        self._wake()
