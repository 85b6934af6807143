"""The screen of `top`: right at 80x24 and 200 columns, complete, and out of a log's control."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tailhealth.core.model import Action, Ejection, Kind, Reason, Source
from tailhealth.core.view import Standing
from tailhealth.views.frame import Frame, Look, Sort
from tailhealth.views.stats import Stats, StatsView
from tailhealth.views.top import HELP, render, still
from tests.views.build import GOOD, T0, A, B, Input, attempt, bad, decision, drawn, frame, pool, upstream, view

SIZES = [(80, 24), (200, 50), (100, 30)]
ORDERED = Ejection(T0, None, 0, Source.OPERATOR, Reason.OPERATOR, "new driver")
OUT = Ejection(T0 - 10, T0 + 23, 0, Source.POLICY, Reason.RATIO)


def screen(shown: Frame, width: int = 80, height: int = 24, look: Look | None = None, *, color: bool = False) -> list[str]:
    """Draw a screen and return its lines."""
    lines = drawn(render(shown, look or Look(), width, height), width, height, color=color).split("\n")
    assert lines.pop() == ""
    return lines


def line_of(lines: list[str], name: str) -> str:
    """Return the line of an upstream."""
    return next(line for line in lines if line.startswith(name))


def numbers() -> StatsView:
    """Make numbers of two upstreams: A answers in 0.2 s, B is abandoned or fails."""
    stats = Stats()
    for index in range(90):
        stats.observe(attempt(T0 - 30 + index / 3), "log", A, GOOD)
        kind = Kind.ABANDONED if index % 3 else Kind.STATUS
        stats.observe(attempt(T0 - 30 + index / 3, None, B), "log", B, bad(kind) if index % 2 else GOOD)
    return stats.snapshot(T0)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({}, "serving"),
        ({"standing": Standing.PROBATION, "probation_good": 1}, "probation 1/3"),
        ({"standing": Standing.OUT, "ejection": OUT, "in_flight": 0}, "out 0:23"),
        ({"standing": Standing.OUT, "ejection": OUT, "in_flight": 2}, "out 0:23, 2 draining"),
        ({"standing": Standing.OUT, "ejection": ORDERED}, "out by operator, 2 draining"),
        ({"standing": Standing.HELD_DOWN}, "held down"),
        ({"withheld": "settle"}, "withheld settle"),
        ({"protected": True}, "serving, protected"),
        ({"pinned": True}, "serving, pinned"),
        ({"backup": True}, "serving, backup"),
    ],
)
def test_every_state_has_its_words(state: dict[str, Any], said: str) -> None:
    """Each state of DESIGN section 1 is told, at 80 columns already."""
    lines = screen(frame(view(pool(upstream(A, **state)))))

    assert line_of(lines, A)[len(A) :].split("  ")[0].strip() == said


def test_an_observed_ejection_says_that_it_is_none() -> None:
    """In observe mode nothing is out, and the screen does not claim it."""
    lines = screen(frame(view(pool(upstream(A, standing=Standing.OUT, ejection=OUT), enforced=False))))

    assert "would be out 0:23" in line_of(lines, A)
    assert "observed only" in "\n".join(lines)


def test_the_numbers_of_an_upstream() -> None:
    """Rate, in flight, percentiles, share of bad ones, kinds and sparkline stand in the row or right below."""
    lines = screen(frame(view(pool(upstream(A), upstream(B, in_flight=None))), numbers()))
    a, b = line_of(lines, A), line_of(lines, B)

    assert a.split()[2:8] == ["3.0", "2", "198ms", "214ms", "215ms", "0%"]
    assert b.split()[2:8] == ["3.0", "-", "-", "-", "-", "50%"]
    assert lines[lines.index(b) + 1].strip() == "bad: 30 abandoned, 15 status"
    assert a.rstrip().endswith("▄▄▄▄▄▄")


def test_kinds_get_a_column_where_there_is_room() -> None:
    """At 200 columns the kinds stand in the row itself."""
    lines = screen(frame(view(pool(upstream(A), upstream(B))), numbers()), 200, 50)

    assert "30 abandoned, 15 status" in line_of(lines, B)
    assert not any(line.strip().startswith("bad:") for line in lines)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_decisions_read_as_sentences_the_latest_first(width: int, height: int) -> None:
    """The last decisions stand below the table with their time."""
    made = (decision(Action.EJECT, Reason.RATIO, until=T0 + 38), decision(Action.READMIT, Reason.TIMER, at=T0 + 38))
    text = " ".join(part.strip() for part in screen(frame(view(pool(upstream(A))), decisions=made), width, height))

    assert text.index("10:00:38 10.0.0.2:8080 readmitted") < text.index("10:00:05 10.0.0.2:8080 ejected for 33 s")
    assert "its peers: 0 of 24; p = 3.1e-5" in text


def test_the_health_of_the_input() -> None:
    """Lag, skipped lines, unreadable logs, hints, late lines, strangers and blind pools are all told."""
    inputs = (
        Input(path="good.log", late_by=7.0, skipped={"invalid_json": 2, "no_time": 1}, newest=T0 - 3),
        Input(
            path="bad.log", state="unreadable", why="permission denied: add the user to group caddy", newest=None, late_by=None
        ),
    )
    hinted = Input(path="hint.log", hints={"no_upstream": "the log names no upstream: add log_append"})
    shown = frame(
        view(pool(upstream(A), blind={"good.log": "54 % unreadable"}, paused=True), late_lines=4, unmanaged_attempts=9,
             unmanaged=("10.9.9.9:1",)),
        inputs=(*inputs, hinted), notes=("the proxy's admin interface does not answer",),
    )  # fmt: skip
    text = "\n".join(screen(shown, 120))

    assert "the proxy's admin interface does not answer" in text
    assert "good.log: following, 1234 lines, 7 s behind, the last 3 s ago, 3 skipped (2 invalid_json, 1 no_time)" in text
    assert text.index("bad.log: unreadable: permission denied") < text.index("good.log")
    assert "hint: the log names no upstream: add log_append" in text
    assert "4 lines came late; 9 attempts at addresses that no pool has: 10.9.9.9:1" in text
    assert "BLIND: 54 % unreadable (good.log)" in text
    assert "decisions paused" in text


def test_a_log_without_attempts_is_not_silent() -> None:
    """Where nothing was seen the screen says so instead of staying empty."""
    assert any("no attempt at any upstream" in line for line in screen(frame(view())))


def test_details_name_the_guard_and_the_operators_reason() -> None:
    """Why it was kept in, why the operator took it out, and what is stuck are told below the row."""
    ups = (upstream(A, withheld="common_cause", stalled=3), upstream(B, standing=Standing.OUT, ejection=ORDERED))
    text = "\n".join(screen(frame(view(pool(*ups)))))

    assert "kept in: it is not clearly worse than its peers; 3 stuck in flight" in text
    assert "why: new driver" in text


def many(count: int) -> Frame:
    """Make a frame with many upstreams in two pools, the last one out."""
    ups = [upstream(f"10.0.{index // 200}.{index % 200}:8080", counted=8) for index in range(count)]
    ups.append(upstream("10.9.9.9:1", standing=Standing.OUT, ejection=OUT))
    half = len(ups) // 2
    made = tuple(decision(Action.READMIT, Reason.TIMER, at=T0 + one) for one in range(30))
    return frame(view(pool(*ups[:half], name="one"), pool(*ups[half:], name="two")), decisions=made)


@pytest.mark.parametrize("count", [0, 5, 18, 300])
@pytest.mark.parametrize(("width", "height"), [*SIZES, (80, 10), (40, 12), (20, 5), (10, 1)])
def test_every_screen_fits(count: int, width: int, height: int) -> None:
    """No line is longer than the terminal is wide, and there are as many lines as it is high."""
    for look in (Look(), Look(help=True), Look(typing=True, filter="x" * 300), Look(plain=True, paused=True)):
        lines = screen(many(count), width, height, look)
        assert len(lines) == height
        assert max(map(cell_len, lines)) <= width


def test_what_does_not_fit_is_counted_and_the_urgent_stay() -> None:
    """Of 301 upstreams the one that is out is on the screen of 24 lines, the others are counted."""
    lines = screen(many(300))

    assert "out 0:23" in line_of(lines, "10.9.9.9:1")
    shown = sum(line.startswith("10.") and ":8080" in line and "readmitted" not in line for line in lines)
    assert any(f"... {300 - shown} more upstreams" in line for line in lines)


@pytest.mark.parametrize(
    ("sort", "first"),
    [(Sort.POOL, A), (Sort.URGENCY, B), (Sort.RATE, A), (Sort.SLOWEST, A), (Sort.BAD, B)],
)
def test_sorting(sort: Sort, first: str) -> None:
    """Each order puts its own upstream on top."""
    ups = (upstream(A), upstream(B, standing=Standing.OUT, ejection=OUT))
    stats = Stats()
    for index in range(30):
        stats.observe(attempt(T0 - index, 9.0), "log", A, GOOD)
    stats.observe(attempt(T0, None, B), "log", B, bad(Kind.ABANDONED))
    lines = screen(frame(view(pool(*ups)), stats.snapshot(T0)), look=Look(sort=sort))

    assert min(lines.index(line_of(lines, name)) for name in (A, B)) == lines.index(line_of(lines, first))
    assert f"s sort: {sort}" in lines[-1]


def test_the_orders_go_in_a_circle() -> None:
    """Pressing `s` as often as there are orders comes back to the first."""
    order = Sort.POOL
    seen = []
    for _ in Sort:
        seen.append(order)
        order = order.following

    assert set(seen) == set(Sort)
    assert order is Sort.POOL


@pytest.mark.parametrize(("wanted", "found"), [("0.2:", [B]), ("OUT", [B]), ("log", [A, B]), ("zzz", [])])
def test_filtering(wanted: str, found: list[str]) -> None:
    """The filter looks at name, state and pool, whatever the case."""
    ups = (upstream(A), upstream(B, standing=Standing.OUT, ejection=OUT))
    lines = screen(frame(view(pool(*ups))), look=Look(filter=wanted))

    assert [name for name in (A, B) if any(line.startswith(name) for line in lines)] == found
    assert wanted in lines[-1]
    assert found or any("no upstream matches" in line for line in lines)


def test_help_pause_and_typing_show() -> None:
    """The help explains the keys; a pause and a filter being typed are visible."""
    assert all(
        any(line.rstrip() == wanted for line in screen(frame(view()), look=Look(help=True))) for wanted in HELP if wanted
    )
    assert "PAUSED" in screen(frame(view()), look=Look(paused=True))[0]
    assert screen(frame(view()), look=Look(typing=True, filter="ab"))[-1].startswith("filter: ab_")


def test_colour_carries_no_meaning_of_its_own() -> None:
    """Without colour the text is the same, letter for letter."""
    shown = frame(view(pool(upstream(A), upstream(B, standing=Standing.OUT, ejection=OUT))), numbers())
    plain, colored = screen(shown), screen(shown, color=True)

    assert "\x1b[" in "".join(colored)
    assert [_without_colour(line) for line in colored] == plain


def _without_colour(line: str) -> str:
    head, *rest = line.split("\x1b[")
    return head + "".join(part.partition("m")[2] for part in rest)


@given(st.text(alphabet=st.characters(codec=None), min_size=1, max_size=30))
def test_nothing_from_a_log_controls_the_terminal(hostile: str) -> None:
    """Hostile names, reasons, hints and notes reach the terminal as plain characters, on screens of the right size."""
    ups = (
        upstream(hostile, withheld=hostile),
        upstream(B, ejection=Ejection(T0, None, 0, Source.OPERATOR, Reason.OPERATOR, hostile)),
    )
    shown = frame(
        view(pool(*ups, name=hostile, blind={hostile: hostile}), unmanaged=(hostile,), unmanaged_attempts=1),
        inputs=(Input(hostile, hostile, hostile, skipped={hostile: 1}, hints={hostile: hostile}),),
        decisions=(decision(Action.EJECT, Reason.OPERATOR, upstream=hostile, why=hostile),),
        notes=(hostile,),
    )
    lines = screen(shown, look=Look(filter="", mode=hostile))
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 24
    assert max(map(cell_len, lines)) <= 80


def test_decisions_that_are_all_only_observed_are_not_marked_one_by_one() -> None:
    """Where nothing at all is enforced the pool's title says so once; in a mixed view each sentence does."""
    observed = decision(Action.READMIT, Reason.TIMER, enforced=False)
    alone = frame(view(pool(upstream(A), enforced=False)), decisions=(observed,))
    mixed = frame(view(pool(upstream(A), enforced=False), pool(upstream(B), name="other")), decisions=(observed,))

    assert "[observed only" not in "\n".join(screen(alone))
    assert "[observed only" in "\n".join(screen(mixed))


def test_a_still_is_as_high_as_it_needs_to_be() -> None:
    """One printed picture holds every upstream and every decision, and no keys."""
    text = drawn(still(many(300), Look(), 80))

    assert all(one in text for one in ("10.0.0.0:8080", "10.0.1.99:8080", "10.9.9.9:1"))
    assert "q quit" not in text
    assert "more upstreams" not in text


def test_the_caption_stands_first_and_whole() -> None:
    """What whoever shows the screen wants to say is wrapped, not cut."""
    lines = screen(frame(view(pool(upstream(A))), caption="word " * 30))

    assert " ".join(lines[1:4]).count("word") == 30
