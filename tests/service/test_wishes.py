"""What the proxy shall look like, from what was decided."""

from __future__ import annotations

import pytest

from tailhealth.core.model import Action, Carried, Decision, Ejection, Evidence, PoolMember, Reason, Source
from tailhealth.core.pool import PoolState
from tailhealth.core.rules import GuardRules, PoolRules, ProbationRules
from tailhealth.proxies.base import UpstreamState
from tailhealth.service.state import Contents, Wish, Wished
from tailhealth.service.wishes import concerned, still_wished, wish_for
from tests.core.harness import Story, clock, rules

SERVING, LIMITED, OUT = UpstreamState.SERVING, UpstreamState.LIMITED, UpstreamState.OUT
UNGUARDED = GuardRules(common_cause=False)


def wish(told: Story, upstream: str = "a") -> Wish:
    """Return the wish for an upstream of the story's pool."""
    state: PoolState = told.engine.pools["pool"]
    return wish_for(state, state.members[upstream], 5.0)


def back(settings: PoolRules | None = None, *nodes: str | PoolMember) -> Story:
    """Tell of a node that failed four times and came back by the timer."""
    told = Story(*(nodes or ("a", "b", "c")), settings=settings or rules(guard=UNGUARDED))
    return told.fails("a", times=4).skips().at("10:00:30").skips()


def test_whoever_does_nothing_special_serves() -> None:
    """Without an ejection or a probation there is nothing to wish."""
    assert wish(Story("a", "b")) == Wish(SERVING, 5.0)


def test_out() -> None:
    """Dated by the decision, with its end and its reason."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED)).fails("a", times=4).skips()
    assert wish(told) == Wish(OUT, clock("10:00:00"), clock("10:00:30"), "ratio")


def test_limited_on_probation() -> None:
    """To the configured number in flight; peers whose latest outcome is bad carry no load for it."""
    told = back()
    assert wish(told) == Wish(LIMITED, 5.0, max_in_flight=1, good_peers=("b", "c"))
    told.fails("b").answers("c")
    assert wish(told).good_peers == ("c",)
    told.answers("b")
    assert wish(told).good_peers == ("b", "c")


@pytest.mark.parametrize("probation", [None, ProbationRules(max_in_flight=None)])
def test_no_limit_where_there_is_none(probation: ProbationRules | None) -> None:
    """Without probation, or with its limit off, it serves at once."""
    assert wish(back(rules(guard=UNGUARDED, probation=probation))) == Wish(SERVING, 5.0)


def test_no_limit_on_what_is_shared() -> None:
    """The proxy would count the requests of another handler too."""
    assert wish(back(None, PoolMember("a", shared=True), "b")) == Wish(SERVING, 5.0)


def test_nothing_is_wanted_in_an_observed_pool() -> None:
    """Whatever was decided, it serves."""
    told = Story("a", "b", settings=rules(guard=UNGUARDED, enforce=False))
    assert wish(told.fails("a", times=4).skips()) == Wish(SERVING, 5.0)


def test_concerned() -> None:
    """Each pair once, in order."""

    def decision(upstream: str, name: str = "p") -> Decision:
        nothing = Evidence(0, 0, {})
        why = Action.EJECT, Reason.RATIO, Source.POLICY
        return Decision(1.0, name, upstream, *why, enforced=True, until=None, strikes=0, evidence=nothing)

    assert concerned([decision("b"), decision("a"), decision("b"), decision("b", "q")]) == [("p", "b"), ("p", "a"), ("q", "b")]


def carried(until: float | None = 130.0, probation: float | None = None, *, out: bool = True) -> Carried:
    """What a restart knows of `a`."""
    ejection = Ejection(100.0, until, 0, Source.POLICY, Reason.RATIO) if out else None
    return Carried("p", "a", ejection, probation_since=probation)


@pytest.mark.parametrize(
    ("state", "knows", "now", "stands"),
    [
        (OUT, carried(), 129.9, True),
        (OUT, carried(), 130.0, False),
        (OUT, carried(None), 1e9, True),
        (OUT, carried(out=False, probation=120.0), 125.0, False),
        (OUT, None, 110.0, False),
        (LIMITED, carried(out=False, probation=120.0), 125.0, True),
        (LIMITED, carried(out=False), 125.0, False),
        (LIMITED, carried(probation=120.0), 125.0, False),
    ],
)
def test_stale_wishes(state: UpstreamState, knows: Carried | None, now: float, stands: bool) -> None:
    """At a start only those stand that the engine will have again: running ejections, and limits of running probations."""
    one = Wished("p", "a", Wish(state))
    contents = Contents("token", wished=(one,), carried=() if knows is None else (knows,))
    assert still_wished(contents, now) == ((one,) if stands else ())
