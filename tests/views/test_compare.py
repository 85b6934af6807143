"""Two policies side by side, at 80 columns and for scripts."""

from __future__ import annotations

import pytest

from tailhealth.core.model import Action, Kind, Outcome, Reason, Verdict
from tailhealth.core.rules import BadRules, PoolRules, Settings, Yardstick
from tailhealth.views.compare import Missed, Side, comparison, comparison_record, judge_differently, sums
from tailhealth.views.tables import Period
from tests.views.build import T0, UTC_ZONE, A, B, attempt, decision, drawn, pool, upstream, view

PERIOD = Period(T0, T0 + 1000, UTC_ZONE)
OUT = decision(Action.EJECT, Reason.RATIO, at=T0 + 100, until=T0 + 200)
BACK = decision(Action.READMIT, Reason.TIMER, at=T0 + 200)
KEPT = decision(Action.WITHHELD, Reason.SETTLE, at=T0 + 150, upstream=A)
FIRST = Side(
    "a.toml", view(pool(upstream(A), upstream(B, ejections=1, out_seconds=100.0, avoided_bad=7, lost_good=2))), [OUT, BACK]
)
SECOND = Side(
    "b.toml", view(pool(upstream(A), upstream(B, ejections=1, out_seconds=900.0, avoided_bad=9, lost_good=30))), [OUT, KEPT]
)
BOTH = (FIRST, SECOND)


def test_a_policy_in_numbers() -> None:
    """Everything over all pools; without another yardstick the policy's own counts."""
    found = sums(SECOND)

    assert (found.decisions, found.ejections, found.upstreams_ejected, found.withheld) == (2, 1, 1, 1)
    assert (found.out_seconds, found.avoided_bad, found.lost_good) == (900.0, 9, 30)
    assert (found.avoided_bad_by_a, found.lost_good_by_a) == (9, 30)


def test_the_difference_is_b_minus_a() -> None:
    """For scripts: both in numbers, the difference, and each upstream in both."""
    found = comparison_record(BOTH)["comparison"]

    assert found["difference"]["out_seconds"] == 800.0
    assert found["difference"]["lost_good"] == 28
    assert found["policies"]["B"]["least_serving"] == {"log": {"serving": 1, "of": 2}}
    assert found["upstreams"][1]["A"] == {"ejections": 1, "out_seconds": 100.0, "avoided_bad": 7, "lost_good": 2}


def test_side_by_side_in_a_terminal() -> None:
    """What both decided stands once, the rest with its policy; then tables, bars and the difference, all within 80 columns."""
    text = drawn(comparison(BOTH, PERIOD, 80, plain=True))
    lines = text.splitlines()

    assert lines[:2] == ["A: a.toml", "B: b.toml"]
    starts = [line.split()[0] for line in lines if " ejected for" in line or "readmitted" in line or "kept in" in line]
    assert starts == ["both", "B", "A"]  # in the order of time
    assert ["good", "ones", "lost", "2", "30", "+28"] in [line.split() for line in lines]
    assert ["least", "serving", "1", "of", "2", "1", "of", "2", "="] in [line.split() for line in lines]
    assert "by A's [bad]" not in text
    assert all(len(line) <= 80 for line in lines)
    bars = [line for line in lines if "-" * 6 in line]
    assert len(bars) == 4
    assert bars[3].count("#") > bars[2].count("#") > 0


def test_another_yardstick_has_rows_of_its_own() -> None:
    """A policy that calls healthy answers bad is measured by the other one's rules too."""
    missed = Missed(Settings())
    missed.lost_good = 99
    text = drawn(comparison((FIRST, SECOND._replace(missed=missed)), PERIOD, 80))

    assert ["good", "ones", "lost,", "by", "A's", "[bad]", "2", "99", "+97"] in [line.split() for line in text.splitlines()]


def test_what_was_missed_is_judged_by_the_first_policy() -> None:
    """Only what began while the upstream was out counts, as good or bad by those rules."""
    missed = Missed(Settings())
    out = Outcome(Verdict.IGNORED, Kind.WHILE_OUT)
    for one, outcome in [
        (attempt(T0, 119.0), out),
        (attempt(T0, 121.0), out),
        (attempt(T0, 121.0), Outcome(Verdict.BAD, Kind.SLOW)),
        (attempt(T0, 121.0), Outcome(Verdict.IGNORED, Kind.BEFORE_ACTION)),
    ]:
        missed.observe(one, "log", A, outcome)

    assert (missed.avoided_bad, missed.lost_good) == (1, 1)


@pytest.mark.parametrize(
    ("other", "differ"),
    [
        (Settings(), False),
        (Settings(default=PoolRules(enforce=False)), False),
        (Settings(default=PoolRules(bad=BadRules(Yardstick(slower_than=10.0)))), True),
        (Settings(pools={"a": PoolRules(bad=BadRules(Yardstick(refused=False)))}), True),
        (Settings(pools={"a": PoolRules()}), False),
    ],
)
def test_whether_two_policies_judge_differently(other: Settings, differ: bool) -> None:
    """Only what counts as bad matters, wherever it stands."""
    assert judge_differently(Settings(), other) is differ
    assert judge_differently(other, Settings()) is differ


def test_pools_that_only_one_policy_has() -> None:
    """An upstream that the other policy does not know has no figures there."""
    other = SECOND._replace(view=view(pool(upstream(A), name="chat")), decisions=[])
    text = drawn(comparison((FIRST, other), PERIOD, 100))

    assert f"{A} (chat)" in text
    assert comparison_record((FIRST, other))["comparison"]["upstreams"][0]["B"] is None


def test_nothing_found_and_nothing_decided() -> None:
    """An empty log names the command that shows why; a calm one says so."""
    empty, calm = Side("a", view(), []), Side("a", view(pool(upstream(A))), [])

    assert "tailhealth parse" in drawn(comparison((empty, empty), PERIOD, 80))
    assert "no decision by either" in drawn(comparison((calm, calm), PERIOD, 80))


def test_many_decisions_are_counted() -> None:
    """The first and the last are told, the number of the others stands between."""
    many = [decision(Action.READMIT, Reason.TIMER, at=T0 + second) for second in range(100)]
    text = drawn(comparison((FIRST._replace(decisions=many), SECOND._replace(decisions=[])), PERIOD, 80))

    assert "... 40 more decisions" in text


def test_hostile_names_stay_text() -> None:
    """Names of files, pools and upstreams can't control the terminal."""
    hostile = Side("x\x1b[2J", view(pool(upstream("y\u202e:1"), name="z\x07")), [])
    text = drawn(comparison((hostile, FIRST), PERIOD, 80), color=True)

    assert "\x1b[2J" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
