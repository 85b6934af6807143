"""Where round-trip lines come, attempts that the hot path takes count exactly as they do one by one (DESIGN section 3)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailhealth.core import join
from tailhealth.core.engine import Engine
from tailhealth.core.model import Aborted, Attempt, Command, End, InFlight, Input, Origin, Pools, Verb
from tailhealth.core.rules import BadRules, GuardRules, PoolRules, ProbationRules, Settings, WindowRules, Yardstick
from tailhealth.core.view import view
from tests.core.harness import attempt, clock, pool, silent

NODES = ("a", "b", "c")
HEADERS = st.sampled_from([0.0, 0.1, 0.1, 0.1, 6.0])
STATUSES = st.sampled_from([200, 200, 200, 200, 404, 429, 500, 503, 101])
FAILURES = st.sampled_from([End.REFUSED, End.TIMED_OUT, End.ABANDONED])
BODIES = st.sampled_from([0.1, 0.1, 2.0, 30.0])


def endings(node: str, at: float, whole: dict[str, Any], whose: dict[str, Any]) -> list[list[Attempt | Aborted]]:
    """Return the ways in which the end of a request is told: by its access line, by others, or not at all."""
    ended = attempt(node, at, **whole, **whose)
    aborted = Aborted(at, 200, whose["client"], whose["client_port"])
    body: dict[str, Any] = {"origin": Origin.BROKEN_BODY, "status": None, "header": 0.1, "duration": None, **whose}
    return [
        [],
        [ended],
        [ended, attempt(node, at + 1.0, **whole, **whose)],
        [attempt(node, at, end=End.CUT, **whole, **whose)],
        [attempt(node, at, body_bytes=1 << 21, retry_after=True, grpc_status=14, stream=True, **whole, **whose)],
        [attempt("stranger", at, **whole, **whose)],
        [attempt("b", at, **whole, **whose)],
        [silent(node, at, End.ABANDONED, whole["took"], **whose)],
        [aborted],
        [attempt(node, at, end=End.TRUNCATED, **body), aborted],
        [attempt(node, at, end=End.CUT, **body), aborted],
    ]


@st.composite
def request(draw: st.DrawFn, begin: float, debug: int) -> list[Attempt | Aborted]:
    """Draw the lines of one request: tries in `debug` of ten, and an end. Clients are few, so requests get mixed up."""
    node = draw(st.sampled_from(NODES))
    whose = {"client": draw(st.sampled_from(["192.0.2.1", "192.0.2.2"])), "client_port": draw(st.sampled_from("123"))}
    tried: dict[str, Any] = {**whose, "origin": Origin.ROUNDTRIP}
    told: list[Attempt | Aborted] = []
    if draw(st.integers(0, 9)) < debug and draw(st.integers(0, 4)) == 0:
        told.append(silent(draw(st.sampled_from(NODES)), begin, draw(FAILURES), draw(st.sampled_from([0.0, 9.0])), **tried))
    header, status, body = draw(HEADERS), draw(STATUSES), draw(BODIES)
    if draw(st.integers(0, 9)) < debug:
        told.append(attempt(node, begin + 0.1, header=header, status=status, **{**tried, "duration": None}))
    ways = endings(node, begin + 0.1 + body, {"header": header, "status": status, "took": header + body}, whose)
    return told + (ways[1] if draw(st.booleans()) else draw(st.sampled_from(ways)))


def comes_at(one: Input, late: float) -> float:
    """Return when a line comes: those of one upstream `late` seconds after the others."""
    if isinstance(one, Attempt):
        return one.ended + late * (one.upstream == "c")
    return one.ended if isinstance(one, Aborted) else one.at


@st.composite
def traffic(draw: st.DrawFn) -> list[Input]:
    """Draw what a log tells while DEBUG goes on and off, in order but for some late lines, with polls and orders between."""
    told: list[Input] = []
    debug = 9
    for number in range(draw(st.integers(1, 40))):
        debug = draw(st.sampled_from([debug, debug, debug, 9, 0]))
        told += draw(request(clock(number / 2), debug))
        match draw(st.integers(0, 19)):
            case 0 | 1:
                told.append(InFlight(clock(number / 2), {"a": draw(st.integers(0, 9))}, "1"))
            case 2:
                verb = draw(st.sampled_from([Verb.EJECT, Verb.READMIT]))
                told.append(Command(clock(number / 2), verb, draw(st.sampled_from(NODES))))
    late = draw(st.sampled_from([0.0, 0.5, 3.0]))
    return sorted(told, key=lambda one: comes_at(one, late))


RULES = st.builds(
    lambda limit, total, status, stalled, probation: PoolRules(
        bad=BadRules(Yardstick(slower_than=limit, total_slower_than=total, status=status), stalled_after=stalled),
        window=WindowRules(last=6, within=20.0, min_requests=3),
        probation=probation,
        guard=GuardRules(common_cause=False),
    ),
    st.sampled_from([None, 6.0, 0.1]),
    st.sampled_from([None, None, None, 30.0]),
    st.sampled_from([frozenset({500, 503}), frozenset({404, 500})]),
    st.sampled_from([None, 2.0, 20.0]),
    st.sampled_from([None, ProbationRules()]),
)
POOLS = st.sampled_from(
    [
        None,
        Pools(-1e9, (pool(*NODES),)),
        Pools(-1e9, (pool("a", name="one"), pool("a", "b", name="two"))),
        Pools(-1e9, (pool(*NODES, paths=("/",)),)),
    ]
)


def known(inputs: Sequence[Input], portion: int, rules: PoolRules, pools: Pools | None, *, careful: bool) -> list[object]:
    """Return what an engine decides and all that it knows in the end. One that is observed takes every line by itself."""
    settings = Settings(lateness=1.0, default=rules)
    engine = Engine(settings, discover=pools is None, observe=(lambda *_: None) if careful else None)
    decisions = [] if pools is None else engine.feed([pools])
    for start in range(0, len(inputs), portion):
        decisions += engine.feed(inputs[start : start + portion])
    decisions += engine.finish()
    members = [member for one in engine.pools.values() for member in one.members.values()]
    return [
        decisions,
        view(engine, engine.now),
        engine.frontier,
        engine.join.state(),
        engine.join.duplicates,
        [(one.flights.ended, one.window._times, one.window._sorts, one.window._clients, one.proof_good) for one in members],
        [one.streamed_at for one in engine.pools.values()],
    ]


@settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "60")), deadline=None)
@given(traffic(), st.sampled_from([1, 7, 1000]), RULES, POOLS)
def test_the_hot_path_is_the_careful_one(told: list[Input], portion: int, rules: PoolRules, pools: Pools | None) -> None:
    """Decisions, windows, totals and running requests are the same, with failures, retries, broken bodies and duplicates."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(join, "UNMATCHED", 4)
        patch.setattr(join, "OPEN_REQUESTS", 8)
        careful = known(told, portion, rules, pools, careful=True)

        assert careful == known(told, portion, rules, pools, careful=False)


def test_what_began_before_a_readmission_is_not_plain() -> None:
    """A header that took from before it until after it says nothing about the time after it, on the hot path either."""
    orders: list[Input] = [Command(clock(10.0), Verb.EJECT, "a"), Command(clock(11.0), Verb.READMIT, "a")]
    answers: list[Input] = [
        attempt("a", clock(at), header=header, origin=Origin.ROUNDTRIP, client_port=str(at))
        for at, header in ((1.0, 0.1), (12.0, 0.1), (13.0, 0.1), (14.0, 5.0), (15.0, 0.1))
    ]
    told = sorted([*answers, *orders], key=lambda one: comes_at(one, 0.0))
    careful, fast = (known(told, 1, PoolRules(), Pools(-1e9, (pool(*NODES),)), careful=careful) for careful in (True, False))

    assert careful == fast
    assert [clock(at) for at in (12.0, 13.0, 15.0)] == list(careful[5][0][1])  # type: ignore[index]  # times in the window of `a`


def never(*_: object) -> None:
    """Stand in for what must not be called."""
    raise AssertionError("a plain line was judged on its own")


def test_the_hot_path_takes_plain_round_trips() -> None:
    """Good round began, and access lines that only confirm them, are not judged one by one once the first one was."""
    began = [attempt("a", clock(float(second)), origin=Origin.ROUNDTRIP, client_port=str(second)) for second in range(40)]
    ends = [attempt("a", one.ended + 0.5, took=0.5, client_port=one.client_port) for one in began]
    engine = Engine(Settings(lateness=0.0), discover=True)
    engine.read(began[:1])
    engine._event = never  # type: ignore[method-assign, assignment]  # it must not be called
    engine.read(sorted([*began[1:], *ends], key=lambda one: one.ended))

    assert (engine.attempts, engine.join.duplicates, engine.join.streaming(["a"])) == (40, 40, 0)
