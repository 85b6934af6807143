"""The thread that talks to the proxy: what is handed to it, what it brings, and how it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from tailhealth.core.model import Pools
from tailhealth.proxies.base import Load, UpstreamState
from tailhealth.service.pools import NamedPool, plain_naming
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import Wish
from tailhealth.service.worker import News, Polled, Stepped, Worker
from tests.service.bench import POOL, Bench

DEADLINE = 10.0
QUICK = ApplyRules(coalesce=0.0, min_apply_interval=0.0)
Kind = TypeVar("Kind", Polled, Stepped)


class Desk:
    """A worker over a Caddy in memory, with whoever waits for its news."""

    def __init__(self, folder: Path, poll: float = 0.01) -> None:
        self.bench = Bench(folder)
        self.bench.reconciler.renamed(plain_naming, QUICK)
        self.rung = threading.Event()
        self.offset = 0.0
        self.worker = Worker(self.bench.caddy, self.bench.reconciler, poll=poll, clock=self.clock, wake=self.rung.set)
        self.news: list[News] = []

    def clock(self) -> float:
        """Tell a wall clock that can be set."""
        return time.time() + self.offset

    def find(self, kind: type[Kind], count: int = 1) -> list[Kind]:
        """Wait for so many news of a kind."""
        end = time.monotonic() + DEADLINE
        while True:
            self.news += self.worker.news()
            found = [one for one in self.news if isinstance(one, kind)]
            if len(found) >= count:
                return found
            assert self.rung.wait(end - time.monotonic()), f"only {found}"
            self.rung.clear()

    def until_listed(self, *dials: str) -> None:
        """Wait until the proxy lists these."""
        end = time.monotonic() + DEADLINE
        while self.bench.caddy.listed() != list(dials):
            assert self.rung.wait(end - time.monotonic()), self.bench.caddy.listed()
            self.rung.clear()

    def until_named(self, name: str) -> None:
        """Wait until the pools that are told are this one."""
        count = 1
        while True:
            told = [one for news in self.find(Stepped, count) for one in news.step.inputs if isinstance(one, Pools)]
            if told and [pool.name for pool in told[-1].pools] == [name]:
                return
            count = 1 + sum(isinstance(one, Stepped) for one in self.news)

    def close(self) -> None:
        """End everything."""
        self.worker.stop(DEADLINE)
        self.bench.close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A worker that runs, and polls a hundred times a second."""
    one = Desk(tmp_path)
    one.worker.start()
    yield one
    one.close()


def test_it_tells_the_pools_and_polls(desk: Desk) -> None:
    """The pools come at once, and a look at the requests in flight at every poll; each wakes whoever waits."""
    (pools,) = desk.find(Stepped)[0].step.inputs
    assert isinstance(pools, Pools)
    assert [one.load for one in desk.find(Polled, 3)[:3]] == [Load({}, "1", frozenset())] * 3


def test_a_wish_is_carried_out(desk: Desk) -> None:
    """An upstream leaves, and comes back when nothing else is wished."""
    desk.worker.wish(POOL, "a:1", Wish(UpstreamState.OUT, time.time()))
    desk.until_listed("b:1", "c:1")
    desk.worker.wish(POOL, "a:1", Wish(UpstreamState.SERVING, time.time()))
    desk.until_listed("a:1", "b:1", "c:1")


def test_names_and_times_change(desk: Desk) -> None:
    """Other names bring other pools, and polls come at the new pace, counted from the last one."""
    desk.find(Stepped)
    desk.worker.renamed(lambda pool: [NamedPool("chat", frozenset(one.key for one in pool.places))], QUICK, 3600.0)
    desk.until_named("chat")
    polls = len(desk.find(Polled))
    desk.worker.renamed(plain_naming, QUICK, 0.01)
    desk.find(Polled, polls + 2)


def test_a_clock_that_is_set_back_stops_no_poll(tmp_path: Path) -> None:
    """An hour less on the clock is no hour without looking."""
    desk = Desk(tmp_path)
    desk.worker.start()
    polls = len(desk.find(Polled, 2))
    desk.offset = -3600.0
    desk.worker.shift(-3600.0)
    desk.find(Polled, polls + 2)
    desk.close()


def test_a_stop_waits_for_what_is_on_its_way(tmp_path: Path) -> None:
    """With patience it ends in order; without, it says that it did not."""
    desk = Desk(tmp_path)
    asked, answer = threading.Event(), threading.Event()

    def slow() -> Load:
        asked.set()
        answer.wait(DEADLINE)
        return Load({}, "1", frozenset())

    desk.bench.caddy.load = slow  # type: ignore[method-assign] # a proxy that takes its time
    desk.worker.start()
    assert asked.wait(DEADLINE)
    assert not desk.worker.stop(0.0)
    answer.set()
    assert desk.worker.stop(DEADLINE)
    assert not desk.worker.died
    desk.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_fault_of_ours_is_noticed(tmp_path: Path) -> None:
    """What nobody foresaw ends the thread, and whoever relies on it can tell."""
    desk = Desk(tmp_path)
    over = threading.Event()

    def broken() -> Load:
        over.set()
        raise ZeroDivisionError

    desk.bench.caddy.load = broken  # type: ignore[method-assign] # a fault
    desk.worker.start()
    assert over.wait(DEADLINE)
    desk.worker._thread.join(DEADLINE)
    assert desk.worker.died
    desk.close()
