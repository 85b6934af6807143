"""What an upstream takes in memory (DESIGN section 10): at most 4 KB while it is idle, at most 16 KB while it is busy."""

from __future__ import annotations

import collections
import tracemalloc
from collections.abc import Iterator

import pytest

from tailhealth.core.engine import Engine
from tailhealth.core.model import Attempt, End, InFlight, Pool, PoolMember, Pools
from tailhealth.core.rules import Settings
from tailhealth.core.window import KEPT
from tests.core.harness import attempt, clock, silent

IDLE, BUSY = 4096, 16_384
PER_SECOND, FULL = 8, 320
"""So many attempts at this rate fill both parts of a window: what is kept one by one, and the seconds of `span`."""
OWN = ("*/core/*.py", collections.__file__, "<string>")
"""Where the core allocates: in its own files, in `Counter`, and in what makes named tuples."""
LOOKED_EVERY = 5
"""A look at memory takes its time; between two of them not much is added."""


@pytest.fixture
def traced() -> Iterator[None]:
    """Count what is allocated from here on."""
    tracemalloc.start(1)
    yield
    tracemalloc.stop()


def allocated() -> int:
    """Return how many bytes the core and these tests have in use; what else goes on in a test run is not theirs."""
    snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, one) for one in OWN])
    return sum(trace.size for trace in snapshot.traces)


def fleet(count: int) -> tuple[str, ...]:
    """Return addresses."""
    return tuple(f"[2001:db8:1234:5678:9abc:def0:0:{number:x}]:11434" for number in range(count))


def watching(upstreams: tuple[str, ...]) -> Engine:
    """Return an engine that knows its pool, and keeps no attempt waiting."""
    engine = Engine(Settings(lateness=0.0))
    engine.feed([Pools(clock(0.0), (Pool("pool", tuple(PoolMember(one) for one in upstreams)),))])
    return engine


@pytest.mark.usefixtures("traced")
def test_an_idle_upstream() -> None:
    """A pool of a thousand that nobody asks, polled for a while and asked once, stays small."""
    upstreams = fleet(1000)
    before = allocated()
    engine = watching(upstreams)
    for second in range(0, 300, 5):
        engine.feed([InFlight(clock(float(second)), dict.fromkeys(upstreams, 1), "1")])
    engine.feed([attempt(one, clock(300.0)) for one in upstreams])

    assert (allocated() - before) / len(upstreams) <= IDLE


def outcome(kind: str, upstream: str, number: int) -> Attempt:
    """Return an attempt of its own client, as long an address as there is."""
    at = clock(2.0 + number / PER_SECOND)
    client = f"2001:db8:1111:2222:3333:4444:5555:{number:04x}"
    match kind:
        case "good":
            return attempt(upstream, at, client=client)
        case "500":
            return attempt(upstream, at, status=500, client=client)
        case "slow":
            return attempt(upstream, at, header=121.0, client=client)
        case "refused":
            return silent(upstream, at, End.REFUSED, 2.0, client=client)
        case "timed out":
            return silent(upstream, at, End.TIMED_OUT, 60.0, client=client)
        case _:
            return silent(upstream, at, End.ABANDONED, 70.0, client=client)


FAILING = ("500", "slow", "refused", "timed out", "abandoned")


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize("kinds", [("good",), ("500",), ("refused",), ("timed out",), FAILING, ("good", "good", *FAILING)])
def test_a_busy_upstream(kinds: tuple[str, ...]) -> None:
    """Whatever fills its window and its rows, and however long it goes on, there is a limit to what it takes."""
    upstreams = fleet(8)
    before = allocated()
    engine = watching(upstreams)
    most = 0
    for number in range(2 * FULL):
        engine.feed([outcome(kinds[number % len(kinds)], upstream, number) for upstream in upstreams])
        if number >= FULL and number % LOOKED_EVERY == 0:
            most = max(most, allocated() - before)

    assert len(engine.pools["pool"].members[upstreams[0]].window) > KEPT
    assert most / len(upstreams) <= BUSY
