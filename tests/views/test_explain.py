"""What `explain` says of an upstream, in each of its states."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tailhealth.core.model import Action, Decision, Ejection, Reason, Source
from tailhealth.core.rules import GuardRules, PoolRules, ProbationRules, WindowRules
from tailhealth.core.view import PoolView, Standing, UpstreamView
from tailhealth.views.explain import Event, Explanation, Facts, Live, explain
from tests.views.build import T0, UTC_ZONE, A, B, decision, pool, upstream

EJECTED = decision(Action.EJECT, Reason.RATIO, until=T0 + 35.0)
WITHHELD = decision(Action.WITHHELD, Reason.SETTLE, at=T0)
BACK = decision(Action.READMIT, Reason.TIMER, at=T0 + 35)


def told(*decisions: Decision, **more: Any) -> Explanation:
    """Explain B in the pool `log` at 10:00:23."""
    facts = Facts(upstream=B, pool="log", now=T0 + 23, rules=PoolRules(), decisions=decisions)
    return explain(msgspec.structs.replace(facts, **more), UTC_ZONE)


def live(*, conditions: tuple[str, ...] = (), within: PoolView | None = None, **more: Any) -> Live:
    """Make what a controller says of B."""
    one: UpstreamView = upstream(B, **more)
    return Live(msgspec.structs.replace(within or pool(), upstreams=(one,)), one, conditions)


def out(until: float | None = T0 + 35, source: Source = Source.POLICY, why: str = "") -> dict[str, Any]:
    """Make the fields of an upstream that is out since 10:00:05."""
    return {"standing": Standing.OUT, "ejection": Ejection(T0 + 5, until, 0, source, Reason.RATIO, why)}


def test_out() -> None:
    """Since when and until when, what was counted, by which rule, and how it comes back."""
    said = told(WITHHELD, EJECTED, live=live(**out()))
    assert said.where == f"{B} in pool log: out since 2026-11-29 10:00:05, until 2026-11-29 10:00:35 (0:12 left)"
    assert said.why == (
        (
            "2026-11-29 10:00:05: ejected for 30 s: 6 of its last 8 requests were bad (5 abandoned, 1 status); "
            "its peers: 0 of 24; p = 3.1e-5"
        ),
        "the rule: at least 4 counted, and 60% of them bad or more (window.min_requests, window.ratio)",
        "no guard objected",
    )
    assert said.change == (
        "it comes back by itself 2026-11-29 10:00:35; then 3 good answers will end its probation",
        f"`tailhealth readmit {B}` brings it back now, without probation",
    )
    assert [line[20:] for line in said.history] == [
        (
            f"{B} kept in, the pool has just lost another and needs to settle: 6 of its last 8 requests were bad "
            "(5 abandoned, 1 status); its peers: 0 of 24; p = 3.1e-5"
        ),
        f"{B} ejected for 30 s: 6 of its last 8 requests were bad (5 abandoned, 1 status); its peers: 0 of 24; p = 3.1e-5",
    ]


def test_out_by_an_operator() -> None:
    """Nothing but an order brings it back, and his reason is told."""
    ordered = decision(Action.EJECT, Reason.OPERATOR, source=Source.OPERATOR, why="new driver")
    said = told(ordered, live=live(**out(None, Source.OPERATOR)))
    assert said.where.endswith("out since 2026-11-29 10:00:05, until an operator readmits it")
    assert "new driver" in said.why[0]
    assert "no guard objected" not in said.why
    assert said.change == (f"`tailhealth readmit {B}` brings it back now, without probation",)


def test_out_since_before_the_journal_begins() -> None:
    """A decision that was rotated away is named as that, with the reason that the controller remembers."""
    said = told(live=live(**out(why="new driver")))
    assert said.why == ("the decision is no longer in the journal: new driver",)


def test_out_in_an_observed_pool() -> None:
    """It would be out; it serves."""
    said = told(EJECTED, live=live(within=pool(enforced=False), **out()))
    assert "would be out (the pool is only observed, so it serves)" in said.where
    assert said.why[-1] == 'mode = "observe": decisions are recorded and not applied'


@pytest.mark.parametrize(
    ("counted", "bad", "more"),
    [
        (8, 0, "12 more bad requests"),
        (8, 4, "2 more bad requests"),
        (10, 5, "3 more bad requests"),
        (0, 0, "4 more bad requests"),
    ],
)
def test_how_far_it_is_from_a_trip(counted: int, bad: int, more: str) -> None:
    """So many more bad ones in a row reach both `min_requests` and `ratio`."""
    said = told(live=live(counted=counted, bad=bad))
    assert said.where == f"{B} in pool log: in"
    assert said.change == (f"at most {more} in a row will trip it", "its next ejection would last 30 s")


def test_one_more_bad_request() -> None:
    """One is never written as several, and a window that tripped already needs a bad one to be asked about."""
    assert told(live=live(counted=8, bad=6)).change[0] == "at most 1 more bad request in a row will trip it"


def test_without_a_ratio() -> None:
    """Where the rule is off, or only a window that is bad altogether trips, no number is promised."""
    for ratio in (None, 1.0):
        said = told(live=live(strikes=2), rules=PoolRules(window=WindowRules(ratio=ratio)))
        assert said.change == ("its next ejection would last 2 min (2 strikes in memory)",)


def test_in_flight_and_stuck() -> None:
    """What hangs is told beside what ended."""
    said = told(live=live(counted=0, bad=0, in_flight=5, stalled=3))
    assert said.why == ("nothing was counted within 10 min", "5 requests are in flight at it, 3 of them stuck for certain")


def test_probation() -> None:
    """How many good answers are needed, and what one bad one does."""
    said = told(EJECTED, BACK, live=live(standing=Standing.PROBATION, strikes=1, probation_good=2, counted=2))
    assert said.where.endswith("in, on probation: it has 2 of the 3 good answers that it needs")
    assert said.why[0].startswith("2026-11-29 10:00:05: ejected")
    assert said.change == ("1 more good answer will end the probation", "1 bad in it: ejected again, for 1 min")


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        (Reason.PAUSED, "`tailhealth resume`"),
        (Reason.BLIND, "20 good lines"),
        (Reason.PINNED, f"`tailhealth unpin {B}`"),
        (Reason.PROTECTED, "guard.protected"),
        (Reason.MAX_EJECTED, "guard.max_ejected is 25%"),
        (Reason.MIN_SERVING, "guard.min_serving is 2"),
        (Reason.COMMON_CAUSE, "p at most 0.0001"),
        (Reason.SETTLE, "10 s after the pool's last ejection"),
    ],
)
def test_withheld(reason: Reason, remedy: str) -> None:
    """Which guard keeps it in, on what evidence, and what would make that guard think otherwise."""
    held = decision(Action.WITHHELD, reason)
    rules = PoolRules(guard=GuardRules(max_ejected=0.25, min_serving=2))
    said = told(held, live=live(withheld=reason.value, bad=6), rules=rules)
    assert "although it tripped" in said.where
    assert said.why[-1].startswith("2026-11-29 10:00:05: kept in")
    assert remedy in said.change[0]


def test_what_is_around_it() -> None:
    """A pause, blindness, the proxy's own checks and what keeps the controller from acting are told."""
    around = pool(paused=True, blind={"access.log": "level filter\x1b[2J"})
    said = told(live=live(within=around, standing=Standing.HELD_DOWN, conditions=("admin: refused",)))
    assert said.where.endswith("in the list, and held down by the proxy's own checks")
    assert said.why[-3:] == (
        "decisions are paused: nothing is ejected, readmissions go on",
        "blind, so nothing is ejected: level filter\\x1b[2J (access.log)",
        "admin: refused",
    )
    assert said.change == ()


def test_pinned_and_protected() -> None:
    """Both are told, with the way out."""
    said = told(live=live(pinned=True, protected=True))
    assert said.where.endswith("in, pinned by the operator")
    assert said.change == (
        f"`tailhealth unpin {B}` lets it be ejected again",
        "guard.protected names it: it is never ejected",
    )


def test_nobody_runs_and_it_is_out() -> None:
    """A controller that was killed left it out: what puts it back, at once or in time."""
    said = told(EJECTED)
    assert said.where == (
        f"{B} in pool log: no controller runs; by its journal it is out since 2026-11-29 10:00:05, "
        "until 2026-11-29 10:00:35 (0:12 left), and is still out of the proxy's list"
    )
    assert said.change == (
        "`tailhealth restore` puts it back into the proxy at once",
        "the next `tailhealth run` puts it back when its time is over",
    )


def test_nobody_runs_and_its_time_is_over() -> None:
    """From the end of its time on, the next start puts it back at once."""
    assert "until 2026-11-29 10:00:35 (0:01 left)" in told(EJECTED, now=T0 + 34.5).where
    said = told(EJECTED, now=T0 + 35)
    assert said.where.endswith("it was out until 2026-11-29 10:00:35, and is still out of the proxy's list")
    assert said.change[1] == "the next `tailhealth run` puts it back"


def test_stopped_in_order() -> None:
    """The list was restored; a start within its time takes it out again, unless that is forgotten."""
    said = told(EJECTED, stopped=T0 + 10, restored=T0 + 10)
    assert "no controller runs (it stopped 2026-11-29 10:00:10); by its journal it is out since" in said.where
    assert said.where.endswith("and is in the proxy's list again, which was restored")
    assert said.change == (
        "a `tailhealth run` that starts before then takes it out again; `tailhealth restore --forget` drops that",
    )
    assert told(EJECTED, restored=T0 + 10, now=T0 + 40).change == ()


def test_restored_before_it_was_ejected() -> None:
    """What was restored earlier says nothing about a later ejection; in the same moment it does."""
    assert "still out of" in told(EJECTED, restored=T0 + 4.9).where
    assert "which was restored" in told(EJECTED, restored=T0 + 5).where


def test_nobody_runs_and_it_is_in() -> None:
    """In since its readmission, or never out."""
    assert told(EJECTED, BACK).where.endswith("by its journal it is in since 2026-11-29 10:00:35")
    assert told(WITHHELD).where.endswith("by its journal it is in")
    assert told(WITHHELD).change == ()


def test_nobody_runs_and_it_was_only_observed() -> None:
    """An ejection that was never applied leaves nothing to put back."""
    said = told(msgspec.structs.replace(EJECTED, enforced=False))
    assert said.where.endswith("it would be out, but the pool was only observed")
    assert said.change == ()


@pytest.mark.parametrize(
    ("reason", "rules", "rule"),
    [
        (Reason.CONSECUTIVE_REFUSED, PoolRules(), "2 connection failures in a row"),
        (Reason.CONSECUTIVE_UNANSWERED, PoolRules(), "8 requests in a row that nobody answered, each after at least 1 s"),
        (Reason.PROBATION, PoolRules(probation=ProbationRules(bad=2)), "2 bad on probation"),
        (Reason.PROBATION, PoolRules(probation=None), ""),
    ],
)
def test_rules(reason: Reason, rules: PoolRules, rule: str) -> None:
    """The rule is told with the value that holds; one that is off now is not."""
    why = told(decision(Action.EJECT, reason), rules=rules).why
    assert (rule in why[1]) if rule else (why[1] == "no guard objected")


def test_text_and_limits() -> None:
    """At most twelve decisions and twelve events are told, the latest; what is hostile in them is made harmless."""
    many = [decision(Action.WITHHELD, Reason.SETTLE, at=T0 + number) for number in range(20)]
    events = [Event(T0 + number, f"taken out\u202e {number}") for number in range(20)]
    said = told(*many, events=events, notes=["guard: H100s are reserved"], live=live())
    assert len(said.history) == len(said.events) == 12
    assert said.events[-1] == "2026-11-29 10:00:19 taken out\\u202e 19"
    lines = list(said.lines())
    assert lines[-2:] == ["notes:", "  guard: H100s are reserved"]
    assert "decisions:" in lines
    assert "in the proxy:" in lines
    assert A not in "".join(lines)
