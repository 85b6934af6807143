"""What `replay` prints: the table, the timelines, and the sentences, at 80 columns."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import Action, Decision, Reason, Source
from tailhealth.views.tables import Period, Stage, Stretch, bar, stretches, summary, timelines, told, totals
from tests.views.build import T0, UTC_ZONE, A, B, decision, drawn, pool, upstream, view

PERIOD = Period(T0, T0 + 1000, UTC_ZONE)


def at(seconds: float, action: Action, reason: Reason, **more: object) -> Decision:
    """Make a decision so many seconds after T0."""
    return decision(action, reason, at=T0 + seconds, **more)


STORY = [
    at(100, Action.EJECT, Reason.RATIO, until=T0 + 200),
    at(200, Action.READMIT, Reason.TIMER),
    at(250, Action.WITHHELD, Reason.SETTLE),
    at(260, Action.RECOVERED, Reason.CLEARED),
    at(300, Action.RECOVERED, Reason.PROBATION),
    at(500, Action.EJECT, Reason.OPERATOR, source=Source.OPERATOR),
    at(600, Action.READMIT, Reason.OPERATOR, source=Source.OPERATOR),
]


def test_a_story_becomes_stages() -> None:
    """Out, probation, serving; what is withheld changes nothing, and an operator's readmission skips probation."""
    assert [(one.stage, one.since - T0, one.until - T0) for one in stretches(STORY, PERIOD)] == [
        (Stage.SERVING, 0, 100),
        (Stage.OUT, 100, 200),
        (Stage.PROBATION, 200, 300),
        (Stage.SERVING, 300, 500),
        (Stage.OUT, 500, 600),
        (Stage.SERVING, 600, 1000),
    ]


def test_no_decision_is_one_stage() -> None:
    """Nothing decided: serving from beginning to end."""
    assert stretches([], PERIOD) == [Stretch(T0, T0 + 1000, Stage.SERVING)]


@given(st.lists(st.sampled_from(STORY), max_size=12).map(lambda some: sorted(some, key=lambda one: one.at)))
def test_stages_cover_the_period_without_holes(decisions: list[Decision]) -> None:
    """Whatever was decided, the stages follow one another from start to end."""
    parts = stretches(decisions, PERIOD)
    assert parts[0].since == PERIOD.start
    assert parts[-1].until == PERIOD.end
    assert all(one.until == following.since for one, following in pairwise(parts))


def test_a_bar_shows_each_stage_in_its_place() -> None:
    """One column per 100 s: the first second is serving, then out, then probation."""
    assert bar(stretches(STORY, PERIOD), PERIOD, 10, plain=True).plain == "-#~--#----"


def test_a_short_ejection_is_not_lost() -> None:
    """An ejection of a second in a bar of 100 s per column shows, and one at the very end too."""
    short = [
        at(555, Action.EJECT, Reason.RATIO),
        at(556, Action.READMIT, Reason.OPERATOR),
        at(1000, Action.EJECT, Reason.RATIO),
    ]

    assert bar(stretches(short, PERIOD), PERIOD, 10, plain=True).plain == "-----#---#"


@pytest.mark.parametrize("width", [1, 7, 80])
def test_a_bar_has_its_width_even_without_time(width: int) -> None:
    """A period of no length gives a bar as well."""
    still = Period(T0, T0, UTC_ZONE)

    assert len(bar(stretches([], still), still, width).plain) == width


def test_the_table_at_80_columns() -> None:
    """Numbers stand in their columns, kinds below, and a row fits the line."""
    one = upstream(
        B, good_total=623, bad_total={"status": 1, "abandoned": 8}, ignored_total={"while_out": 162}, ejections=4,
        out_seconds=482.0, avoided_bad=35, lost_good=127,
    )  # fmt: skip
    lines = drawn(totals(view(pool(upstream(A), one)))).splitlines()

    assert lines[0].split() == [
        "upstream",
        "attempts",
        "good",
        "bad",
        "ejected",
        "out",
        "for",
        "avoided",
        "bad",
        "lost",
        "good",
    ]
    assert lines[1].split() == [A, "100", "100", "0", "-", "-", "-", "-"]
    assert lines[2].split() == [B, "794", "623", "9", "4", "8", "min", "2", "s", "35", "127"]
    assert lines[4] == f"{B} bad: 8 abandoned, 1 status; ignored: 162 while_out"
    assert all(len(line) <= 80 for line in lines)


def test_several_pools_are_named() -> None:
    """With more than one pool each has its title, and an observed one says so."""
    text = drawn(totals(view(pool(upstream(A), name="chat"), pool(upstream(B), name="embed", enforced=False))))

    assert "pool chat\n" in text.replace(" \n", "\n").replace("  ", "")
    assert "pool embed (observed only)" in text


@pytest.mark.parametrize("width", [80, 200])
def test_timelines_fill_the_width(width: int) -> None:
    """Bars end at the right edge, the moments stand below, and the legend names the signs."""
    lines = drawn(timelines(view(pool(upstream(A), upstream(B))), STORY, PERIOD, width, plain=True), width).splitlines()

    assert [len(line) for line in lines[:2]] == [width, width]
    assert set(lines[0].split()[1]) == {"-"}
    assert set(lines[1].split()[1]) == {"-", "#", "~"}
    assert lines[2].strip().startswith("2026-11-29 10:00:00")
    assert lines[2].endswith("2026-11-29 10:16:40")
    assert lines[3].split() == ["-", "serving", "~", "probation", "#", "out"]


def test_decisions_of_another_pool_do_not_show() -> None:
    """An address that stands in two pools has a timeline in each, of its own decisions."""
    two = view(pool(upstream(B), name="log"), pool(upstream(B), name="other"))
    lines = drawn(timelines(two, STORY, PERIOD, 80, plain=True)).splitlines()

    assert "#" in lines[1]
    assert "#" not in lines[3]


def test_the_first_and_last_of_many_decisions_are_told() -> None:
    """More decisions than fit are counted, none is lost silently."""
    many = [at(second, Action.READMIT, Reason.TIMER) for second in range(60)]

    assert drawn(told(many[:50], UTC_ZONE)).count("readmitted") == 50
    assert "... 10 more decisions" in drawn(told(many, UTC_ZONE))


def test_the_whole_summary() -> None:
    """Decisions, table, timelines and what the policy would have spared come in this order."""
    text = drawn(summary(view(pool(upstream(A), upstream(B, avoided_bad=3, lost_good=1)), attempts=200), STORY, PERIOD, 80))
    order = [
        "ejected for 1 min 40 s",
        "attempts",
        "█",
        "200 attempts over 16 min 40 s",
        "3 bad ones avoided",
        "1 good ones lost",
    ]
    places = [text.index(part) for part in order]

    assert places == sorted(places)
    assert "\x1b" not in text


def test_an_empty_log_says_so() -> None:
    """Nothing was found: the summary names the command that shows why."""
    assert "tailhealth parse" in drawn(summary(view(), [], PERIOD, 80))
    assert "no decision" in drawn(summary(view(pool(upstream(A))), [], PERIOD, 80))


def test_hostile_names_do_not_reach_the_terminal() -> None:
    """Names in tables and timelines are escaped, and square brackets are no markup."""
    hostile = upstream("[red]x\x1b[2J\u202e", bad_total={"status": 1}, avoided_bad=1)
    text = drawn(summary(view(pool(hostile, name="p\x07")), STORY, PERIOD, 80), color=True)

    assert "\x1b[2J" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert r"[red]x\x1b[2J\u202e" in text
