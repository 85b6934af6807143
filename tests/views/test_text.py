"""Text for people: nothing in it controls a terminal, and every decision reads as a sentence."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import Action, Counts, Decision, Evidence, Kind, Reason, Source
from tailhealth.views.text import by_kind, clock, countdown, duration, guard, harmless, moment, sentence, short, statement
from tests.views.build import T0, UTC_ZONE, decision

CASES = Path(__file__).parent.parent / "cases"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10.0.0.1:8080", "10.0.0.1:8080"),
        ("10.9.0.1:8080\x1b[5m", r"10.9.0.1:8080\x1b[5m"),
        ("\x1b]0;own\x07", r"\x1b]0;own\x07"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x9b31m", r"\x9b31m"),
        ("x\u202egnp.exe", r"x\u202egnp.exe"),
        ("\u2066a\u2069\u200f\u061c", r"\u2066a\u2069\u200f\u061c"),
        ("a\u2028b", r"a\u2028b"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("zażółć 東京", "zażółć 東京"),
        ("", ""),
    ],
)
def test_control_and_bidi_characters_are_escaped(text: str, shown: str) -> None:
    """Plain text stays as it is; whatever could control a terminal becomes its escape."""
    assert harmless(text) == shown


def test_the_terminal_case_of_the_field() -> None:
    """Nothing of case 123, a log that attacks the terminal, gets through."""
    for line in (CASES / "123-terminal-escape-in-fields.jsonl").read_bytes().splitlines():
        record = json.loads(line)
        for hostile in (record["request"]["uri"], record["upstream"], record["request"]["headers"]["User-Agent"][0]):
            assert harmless(hostile).isprintable()


@given(st.text(alphabet=st.characters(codec=None)), st.none() | st.integers(1, 20))
def test_nothing_unprintable_is_left_and_the_limit_holds(text: str, limit: int | None) -> None:
    """For any text the result is printable and no longer than asked for."""
    shown = harmless(text, limit)
    assert shown.isprintable()
    assert not any(unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for one in shown)
    assert limit is None or len(shown) <= limit


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("ab\x1b", 6, r"ab\x1b"), ("abc\x1b", 6, "abc\\x…")],
)
def test_what_is_cut_off_is_shown(text: str, limit: int, shown: str) -> None:
    """A text of just the limit stays; a longer one ends in an ellipsis, escapes counted."""
    assert harmless(text, limit) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 ms"), (0.25, "250 ms"), (0.9994, "999 ms"), (0.9995, "1 s"), (1.25, "1.2 s"), (9.94, "9.9 s"), (9.95, "10 s"),
        (33, "33 s"), (59.4, "59 s"), (59.5, "1 min"), (90, "1 min 30 s"), (3599.4, "59 min 59 s"), (3599.6, "1 h"),
        (7500, "2 h 5 min"), (86_399.6, "1 d"), (273_600, "3 d 4 h"), (-5, "-5 s"), (float("inf"), "for ever"),
    ],
)  # fmt: skip
def test_durations(seconds: float, shown: str) -> None:
    """Durations are written in the two greatest units that say something."""
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "-"), (0.0004, "0ms"), (0.085, "85ms"), (0.9994, "999ms"), (0.9996, "1.00s"), (1.25, "1.25s"), (9.996, "10.0s"),
        (33.14, "33.1s"), (99.96, "100s"), (999.4, "999s"), (999.6, "17m"), (59_969, "999m"), (59_971, "17h"), (1e12, "9999h"),
    ],
)  # fmt: skip
def test_short_latencies(seconds: float | None, shown: str) -> None:
    """Latencies fit five characters."""
    assert short(seconds) == shown
    assert len(shown) <= 5


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-1, "now"),
        (0, "now"),
        (0.2, "0:01"),
        (32.1, "0:33"),
        (60, "1:00"),
        (725, "12:05"),
        (3599.5, "1:00:00"),
        (90_061, "25:01:01"),
    ],
)
def test_countdowns(seconds: float, shown: str) -> None:
    """A countdown says `now` only when nothing is left."""
    assert countdown(seconds) == shown


def test_times_are_those_of_the_zone() -> None:
    """The zone is given and nothing of this machine's own zone shows."""
    assert clock(T0, UTC_ZONE) == "10:00:00"
    assert moment(T0, ZoneInfo("Asia/Tokyo")) == "2026-11-29 19:00:00"


def test_kinds_are_ordered_by_count() -> None:
    """The most frequent kind comes first, equal ones by name."""
    assert by_kind({"status": 1, "abandoned": 5, "refused": 1}) == "5 abandoned, 1 refused, 1 status"


def test_an_ejection_with_its_evidence() -> None:
    """The sentence of the brief: how many were bad, of which kinds, what the peers did and by what chance."""
    assert sentence(decision(Action.EJECT, Reason.RATIO, until=T0 + 38), UTC_ZONE) == (
        "10:00:05 10.0.0.2:8080 ejected for 33 s: 6 of its last 8 requests were bad (5 abandoned, 1 status); "
        "its peers: 0 of 24; p = 3.1e-5"
    )


ONE_BAD = Evidence(1, 1, {"status": 1})
NOTHING = Evidence(0, 0, {})


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (
            decision(
                Action.EJECT, Reason.CONSECUTIVE_REFUSED, until=T0 + 35, evidence=Evidence(3, 2, {"slow": 2}, Counts(8, 0))
            ),
            "ejected for 30 s: connections to it fail in a row; 2 of its last 3 requests were bad (2 slow); its peers: 0 of 8",
        ),
        (
            decision(Action.EJECT, Reason.CONSECUTIVE_UNANSWERED, until=T0 + 35, evidence=NOTHING),
            "ejected for 30 s: it leaves request after request unanswered",
        ),
        (
            decision(Action.EJECT, Reason.PROBATION, until=T0 + 65, strikes=1, evidence=ONE_BAD),
            "ejected for 1 min (1 strike before): bad again on probation; its last request was bad (1 status)",
        ),
        (
            decision(
                Action.EJECT, Reason.RATIO, until=T0 + 125, strikes=2, evidence=Evidence(5, 5, {"slow": 5}, Counts(3, 0), 0.018)
            ),
            "ejected for 2 min (2 strikes before): 5 of its last 5 requests were bad (5 slow); its peers: 0 of 3; p = 0.02",
        ),
        (
            decision(Action.EJECT, Reason.OPERATOR, source=Source.OPERATOR, evidence=NOTHING, why="new\x1bdriver"),
            r"ejected by the operator until readmitted (new\x1bdriver)",
        ),
        (
            decision(Action.EJECT, Reason.RATIO, until=T0 + 35, enforced=False, evidence=ONE_BAD),
            "ejected for 30 s: its last request was bad (1 status) [observed only, not applied]",
        ),
        (decision(Action.READMIT, Reason.TIMER, evidence=NOTHING), "readmitted: its time out is over"),
        (decision(Action.READMIT, Reason.RELIEF, evidence=NOTHING), "readmitted early: too many of its pool would be out"),
        (decision(Action.READMIT, Reason.OPERATOR, source=Source.OPERATOR, evidence=NOTHING), "readmitted by the operator"),
        (
            decision(Action.READMIT, Reason.OPERATOR_CONFIG, source=Source.OPERATOR, evidence=NOTHING),
            "readmitted: the operator put it back in the proxy's configuration",
        ),
        (
            decision(Action.WITHHELD, Reason.COMMON_CAUSE, evidence=Evidence(8, 4, {"slow": 4}, Counts(24, 8))),
            "kept in, it is not clearly worse than its peers: 4 of its last 8 requests were bad (4 slow); its peers: 8 of 24",
        ),
        (
            decision(Action.WITHHELD, Reason.MIN_SERVING, source=Source.OPERATOR, evidence=NOTHING),
            "not ejected: nothing would be left serving in its pool; --force does it all the same",
        ),
        (decision(Action.RECOVERED, Reason.PROBATION), "recovered: it answers well on probation"),
        (
            decision(Action.RECOVERED, Reason.UNTESTED, evidence=NOTHING),
            "is off probation without having been tested: no traffic came",
        ),
        (
            decision(Action.RECOVERED, Reason.CLEARED, evidence=Evidence(8, 0, {})),
            "no longer needs to leave: none of its last 8 requests were bad",
        ),
        (
            decision(Action.RECOVERED, Reason.CLEARED, evidence=NOTHING),
            "no longer needs to leave: its bad requests are too old to count",
        ),
    ],
)
def test_decisions_as_sentences(made: Decision, said: str) -> None:
    """Each action and reason has its own words."""
    assert statement(made) == said


REASONS = {
    Action.EJECT: (Reason.RATIO, Reason.CONSECUTIVE_REFUSED, Reason.CONSECUTIVE_UNANSWERED, Reason.PROBATION, Reason.OPERATOR),
    Action.READMIT: (Reason.TIMER, Reason.RELIEF, Reason.OPERATOR, Reason.OPERATOR_CONFIG),
    Action.WITHHELD: (
        Reason.PAUSED, Reason.BLIND, Reason.PINNED, Reason.PROTECTED, Reason.MAX_EJECTED, Reason.MIN_SERVING,
        Reason.COMMON_CAUSE, Reason.SETTLE,
    ),
    Action.RECOVERED: (Reason.PROBATION, Reason.UNTESTED, Reason.CLEARED),
}  # fmt: skip


def test_no_two_reasons_read_the_same() -> None:
    """Every action and reason of DESIGN section 7 is told, each in its own words, kinds included."""
    assert {one for reasons in REASONS.values() for one in reasons} == set(Reason)
    made = [decision(action, reason, until=T0 + 60) for action, reasons in REASONS.items() for reason in reasons]
    told = [statement(one) for one in made if one.reason is not Reason.OPERATOR]
    assert len(set(told)) == len(told)
    for kind in Kind:
        assert f"3 {kind}" in statement(decision(Action.EJECT, Reason.RATIO, until=T0 + 60, evidence=Evidence(4, 3, {kind: 3})))


def test_a_hostile_upstream_name_stays_harmless() -> None:
    """The upstream's name comes from a log."""
    assert "\x1b" not in sentence(decision(Action.READMIT, Reason.TIMER, upstream="10.0.0.1:80\x1b[2J"), UTC_ZONE)


def test_the_date_is_told_where_asked_for() -> None:
    """A report over days dates its sentences."""
    assert sentence(decision(Action.READMIT, Reason.TIMER), UTC_ZONE, dated=True).startswith("2026-11-29 10:00:05 ")


def test_unknown_guards_are_shown_as_they_are() -> None:
    """A newer controller may name a guard that this program does not know."""
    assert guard("settle") == "the pool has just lost another and needs to settle"
    assert guard("new\x07") == r"new\x07"
