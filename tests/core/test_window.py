"""The window (DESIGN section 5): its edges, what it keeps, and that it equals a naive list."""

from __future__ import annotations

from collections import Counter
from math import floor, inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import Kind
from tailhealth.core.window import KEPT, Mark, Seen, Window

BAD = Mark(Kind.STATUS, "192.0.2.1", answered=True)
LEFT = Mark(Kind.ABANDONED, "192.0.2.2", answered=False)


def filled(*ends: float, last: int = 8, span: float = 30.0, within: float = 600.0) -> Window:
    """Return a window of bad outcomes that ended at these times."""
    window = Window(last, span, within)
    for ended in ends:
        window.add(ended, BAD)
    return window


@pytest.mark.parametrize(("number", "counted"), [(7, 7), (8, 8), (9, 8)])
def test_a_quiet_upstream_is_judged_on_its_last(number: int, counted: int) -> None:
    """Outcomes older than `span` count as long as they are among the newest `last`."""
    window = filled(*(float(i) for i in range(number)))

    assert counted == window.seen(100.0).counted


@pytest.mark.parametrize(("at", "counted"), [(39.9375, 10), (40.0, 10), (40.0625, 9), (41.0625, 8), (500.0, 8)])
def test_all_within_the_span_count(at: float, counted: int) -> None:
    """A busy upstream is judged on all that ended at most `span` ago, the edge included."""
    window = filled(*(10.0 + i for i in range(10)))

    assert counted == window.seen(at).counted


@pytest.mark.parametrize(("at", "counted"), [(600.0, 2), (600.0625, 1), (601.0, 1), (601.0625, 0)])
def test_nothing_older_than_within_counts(at: float, counted: int) -> None:
    """What ended more than `within` ago is out, however few there are."""
    assert counted == filled(0.0, 1.0).seen(at).counted


def test_stalled_ones_are_the_newest_and_are_never_stored() -> None:
    """They stand in the place of older outcomes, dated now, each a client of its own."""
    window = Window(8, 30.0, 600.0)
    for i in range(8):
        window.add(float(i))

    seen = window.seen(100.0, stalled=3)

    assert (seen.counted, seen.bad, seen.unanswered, seen.clients, dict(seen.kinds)) == (8, 3, 3, 3, {"stalled": 3})
    assert seen.oldest == 3.0
    assert window.seen(100.0).bad == 0
    assert Window(8, 30.0, 600.0).seen(100.0, stalled=1).oldest == 100.0


def test_clients_and_kinds() -> None:
    """Distinct clients among the bad outcomes are counted; those without a client are one together."""
    window = Window(8, 30.0, 600.0)
    for ended, mark in enumerate(
        [BAD, BAD, LEFT, Mark(Kind.STATUS, "", answered=True), Mark(Kind.SLOW, "", answered=True), None]
    ):
        window.add(float(ended), mark)

    assert Seen(6, 5, Counter(status=3, abandoned=1, slow=1), 1, 3, 0.0) == window.seen(10.0)


def test_late_outcomes_take_their_place() -> None:
    """The latest outcome is the one that ended last, not the one that came last."""
    window = filled(5.0)
    window.add(6.0)
    window.add(4.0, LEFT)

    assert window.latest is None
    assert window.newest == 6.0
    assert window.seen(10.0).oldest == 4.0


def test_empty() -> None:
    """An empty window shows nothing and has no oldest outcome."""
    window = filled(1.0)
    window.clear()

    assert Seen(0, 0, Counter(), 0, 0, inf) == window.seen(2.0)
    assert window.seen(2.0).share == 0.0
    assert -inf == window.newest


def test_take_back() -> None:
    """A later line can take back exactly one outcome: of that time and that kind."""
    window = filled(1.0, 1.0)
    window.add(1.0)

    assert window.take_back(1.0, None)
    assert not window.take_back(1.0, None)
    assert not window.take_back(2.0, BAD)
    assert window.take_back(1.0, BAD)
    assert (window.seen(1.0).counted, window.seen(1.0).bad) == (1, 1)


def test_take_back_of_an_old_second() -> None:
    """Also an outcome of which only its second is remembered can be taken back."""
    window = Window(8, 30.0, 600.0)
    for i in range(KEPT + 10):
        window.add(1.0 + i / 128)
    assert window.seen(2.0).counted == KEPT + 10

    assert window.take_back(1.0, None)
    assert window.seen(2.0).counted == KEPT + 9


def test_memory_is_bounded_for_late_outcomes_too() -> None:
    """Thousands of outcomes from long ago leave no more than the newest and the seconds of the span."""
    window = filled(*(1000.0 + i / 64 for i in range(KEPT)))
    for i in range(5000):
        window.add(500.0 + i / 64)

    assert len(window) < 2 * KEPT


def naive(outcomes: list[tuple[float, Mark | None]], at: float, window: tuple[int, float, float], stalled: int) -> Seen:
    """Say from the plain list, in the order of arrival, what a window must show: beyond the newest 64 the edge is a second."""
    last, span, within = window
    known = sorted(outcomes, key=lambda one: one[0])
    kept, older = known[-KEPT:], known[:-KEPT]
    first = len(kept) - max(0, last - stalled)
    chosen = [one for i, one in enumerate(kept) if one[0] >= at - within and (i >= first or one[0] >= at - span)]
    if len(chosen) == len(kept):
        chosen += [(float(floor(one[0])), one[1]) for one in older if floor(one[0]) >= floor(at - span)]
    marks = [mark for _, mark in chosen if mark is not None]
    kinds = Counter(mark.kind.value for mark in marks)
    if stalled:
        kinds["stalled"] = stalled
    oldest = min([ended for ended, _ in chosen], default=at if stalled else inf)
    unanswered = sum(not mark.answered for mark in marks) + stalled
    return Seen(len(chosen) + stalled, len(marks) + stalled, kinds, unanswered, 0, oldest)


@given(
    data=st.data(),
    window=st.sampled_from([(8, 30.0, 600.0), (1, 0.0, 60.0), (4, 2.0, 2.0), (64, 10.0, 100.0)]),
    gaps=st.lists(st.integers(0, 8), max_size=12) | st.lists(st.integers(0, 8), min_size=60, max_size=110),
    stalled=st.integers(0, 10),
)
def test_a_window_equals_a_naive_list(
    data: st.DataObject, window: tuple[int, float, float], gaps: list[int], stalled: int
) -> None:
    """Whatever the order of arrival, a window shows what a list of all would; of one moment, the last to arrive is newest."""
    scale = data.draw(st.sampled_from([8, 64, 1]))
    times = [100.0]
    for gap in gaps:
        times.append(times[-1] + gap / scale)
    marks = data.draw(st.lists(st.sampled_from([None, BAD, LEFT]), min_size=len(times), max_size=len(times)))
    outcomes = list(zip(times, marks, strict=True))
    late = data.draw(st.lists(st.sampled_from(range(len(outcomes))), max_size=5, unique=True))
    arriving = [one for i, one in enumerate(outcomes) if i not in late] + [outcomes[i] for i in late]
    real = Window(*window)
    for ended, mark in arriving:
        real.add(ended, mark)
    at = times[-1] + data.draw(st.integers(0, 64)) / 2

    seen = real.seen(at, stalled)

    assert naive(arriving, at, window, stalled)[:4] == seen[:4]
    assert naive(arriving, at, window, stalled).oldest == seen.oldest


@given(st.lists(st.tuples(st.integers(0, 200), st.booleans()), max_size=60), st.integers(0, 200))
def test_since_counts_what_ended_in_a_time(outcomes: list[tuple[int, bool]], start: int) -> None:
    """A peer is shown over the suspect's time, whatever its own window holds."""
    window = Window(8, 10.0, 50.0)
    for ended, is_bad in outcomes:
        window.add(float(ended), BAD if is_bad else None)

    seen = window.since(float(start), 200.0, stalled=1)

    inside = [is_bad for ended, is_bad in outcomes if ended >= start]
    assert (len(inside) + 1, sum(inside) + 1) == (seen.counted, seen.bad)
