"""Attempts in bulk count exactly as they do one by one (DESIGN section 2, Order)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import inf, nextafter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.bulk import Bulk, Share, joined, merged
from tailhealth.core.engine import Engine
from tailhealth.core.model import Attempt, Decision, End, Pools
from tailhealth.core.order import Buffer, Entry, one_by_one
from tailhealth.core.rules import BadRules, GuardRules, PoolRules, ProbationRules, Settings, WindowRules, Yardstick
from tailhealth.core.view import view
from tests.core.harness import attempt, clock, pool, silent

NODES = ("a:1", "b:1", "c:1")


def bulk(attempts: Sequence[Attempt]) -> Bulk:
    """Sum up answered attempts of one file."""
    shares: dict[str, Share] = {}
    for one in attempts:
        share = Share()
        share.ends, share.header, share.duration = [one.ended], one.header or 0.0, one.duration or 0.0
        shares = joined([*shares.items(), (one.upstream, share)])
    return Bulk(shares, frozenset(one.status or 0 for one in attempts), attempts[0].file, lambda: list(attempts))


def in_bulks(attempts: Sequence[Attempt], is_plain: Callable[[Attempt], bool]) -> list[Entry]:
    """Sum up each stretch of plain attempts, as the reader of a file does."""
    entries: list[Entry] = []
    stretch: list[Attempt] = []
    for one in attempts:
        if is_plain(one):
            stretch.append(one)
            continue
        entries += [bulk(stretch)] if stretch else []
        entries.append(one)
        stretch = []
    return [*entries, bulk(stretch)] if stretch else entries


def place(one: Attempt) -> tuple[float, int, int]:
    """Where an attempt stands."""
    return one.ended, one.file, one.offset


@st.composite
def lines(draw: st.DrawFn, *, most: int = 40) -> list[Attempt]:
    """Draw the attempts of one or two files, nearly in order, most of them good; several may end at one moment."""
    found: list[Attempt] = []
    for number in range(draw(st.integers(1, most))):
        ended = clock((number + draw(st.integers(-3, 3))) / 4)
        kind, node = draw(st.integers(0, 9)), draw(st.sampled_from(NODES))
        where: dict[str, Any] = {"file": draw(st.integers(0, 1)), "offset": number}
        if kind == 0:
            found.append(silent(node, ended, draw(st.sampled_from([End.REFUSED, End.TIMED_OUT])), 1.0, **where))
        elif kind == 1:
            found.append(attempt(node, ended, status=500, **where))
        else:
            header = draw(st.sampled_from([0.0, 0.1, 6.0]))
            found.append(attempt(node, ended, status=draw(st.sampled_from([200, 200, 404, 429])), header=header, **where))
    return sorted(found, key=lambda one: (one.file, one.offset))


def is_answer(one: Attempt) -> bool:
    """What the readers sum up."""
    return one.header is not None and one.status is not None and 200 <= one.status < 499


@given(lines(), st.lists(st.integers(0, 12), max_size=4))
def test_the_order_is_that_of_single_attempts(attempts: list[Attempt], moments: list[int]) -> None:
    """Whatever is summed up, every attempt comes out once, at its place, and none before what ended earlier."""
    buffer: Buffer[None] = Buffer()
    newest = buffer.add_events(in_bulks(attempts, is_answer))
    out: list[Attempt] = []
    for limit in [*sorted(clock(float(moment)) for moment in moments), inf]:
        whole = buffer.whole_until(limit)
        assert whole <= limit
        for entry in buffer.events_until(whole):
            singles = entry.in_order() if isinstance(entry, Bulk) else one_by_one([entry])
            assert all(one.ended <= whole for one in singles)
            out += [one for one in singles if isinstance(one, Attempt)]

    assert out == sorted(attempts, key=place)
    assert newest == max(one.ended for one in attempts)
    assert buffer.is_empty()


RULES = st.builds(
    lambda limit, status, probation: PoolRules(
        bad=BadRules(Yardstick(slower_than=limit, status=status)),
        window=WindowRules(last=6, within=20.0, min_requests=3),
        probation=probation,
        guard=GuardRules(common_cause=False),
    ),
    st.sampled_from([None, 6.0, 0.1]),
    st.sampled_from([frozenset({500}), frozenset({404, 500})]),
    st.sampled_from([None, ProbationRules()]),
)


def decided(settings: Settings, batches: Sequence[Sequence[Entry]], *, named: bool) -> tuple[list[Decision], object, int]:
    """Return what an engine decides, all that it knows in the end, and how many lines came late."""
    engine = Engine(settings, discover=not named)
    if named:
        engine.feed([Pools(-inf, (pool(*NODES),))])
    decisions = list(chain.from_iterable([*(engine.read(batch) for batch in batches), engine.finish()]))
    return decisions, view(engine, engine.now), engine.attempts


@given(lines(most=80), RULES, st.booleans(), st.integers(1, 80))
def test_an_engine_decides_alike(attempts: list[Attempt], rules: PoolRules, named: bool, portion: int) -> None:
    """Decisions, windows, totals and states are the same for attempts in bulk and for the same ones by themselves."""
    attempts.sort(key=place)
    portions = [attempts[start : start + portion] for start in range(0, len(attempts), portion)]
    settings = Settings(lateness=3.0, default=rules)

    bulky = decided(settings, [in_bulks(one, is_answer) for one in portions], named=named)

    assert bulky == decided(settings, portions, named=named)


def test_a_bulk_that_reaches_over_the_limit_waits_whole() -> None:
    """A bulk from 10:00:01 to 10:00:03 is not cut at 10:00:02: nothing moves past its beginning until all of it is due."""
    buffer: Buffer[None] = Buffer()
    buffer.add_events([bulk([attempt("a:1", clock(1.0)), attempt("a:1", clock(3.0))])])

    assert buffer.whole_until(clock(2.0)) == nextafter(clock(1.0), -inf)
    assert buffer.whole_until(clock(3.0)) == clock(3.0)


def test_bulks_of_two_files_become_one() -> None:
    """Overlapping bulks keep every attempt, the longest times and all statuses."""
    first = bulk([attempt("a:1", 1.0, header=0.5), attempt("b:1", 3.0)])
    second = bulk([attempt("a:1", 2.0, header=2.0, status=404, file=1)])
    both = merged([first, second])

    assert (both.ended, both.last, both.count, both.file) == (1.0, 3.0, 3, None)
    assert (both.shares["a:1"].ends, both.shares["a:1"].header, both.statuses) == ([1.0, 2.0], 2.0, frozenset({200, 404}))
    assert [one.ended for one in both.in_order()] == [1.0, 2.0, 3.0]


def test_a_cut_bulk_keeps_its_attempts_apart() -> None:
    """What ended before the cut is in the first part, the rest in the second."""
    whole = bulk([attempt("a:1", 1.0), attempt("b:1", 2.0), attempt("a:1", 3.0)])
    before, after = whole.split(2.0)

    assert before is not None
    assert after is not None
    assert [one.ended for one in before.attempts()] == [1.0]
    assert [one.ended for one in after.attempts()] == [2.0, 3.0]
    assert (after.ended, after.last, after.count) == (2.0, 3.0, 2)
    assert whole.split(1.0) == (None, whole)
    assert whole.split(nextafter(3.0, inf)) == (whole, None)
