"""What is shown of the engine's state."""

from __future__ import annotations

import pytest

from tailhealth.core.model import Origin, Pool, PoolMember, Reason, Verb
from tailhealth.core.rules import BadRules, GuardRules
from tailhealth.core.view import PoolView, Standing, UpstreamView, view
from tests.core.harness import Story, attempt, clock, rules

UNGUARDED = GuardRules(common_cause=False, protected=("b",))


def story(*nodes: str | PoolMember | Pool) -> Story:
    """Return a pool without a common cause guard, `b` protected."""
    return Story(*(nodes or ("a", "b")), settings=rules(guard=UNGUARDED))


def shown(told: Story) -> PoolView:
    """Return the only pool as it is shown now."""
    (one,) = view(told.engine, told.now).pools
    return one


def upstream(told: Story, name: str = "a") -> UpstreamView:
    """Return an upstream as it is shown now."""
    return next(one for one in shown(told).upstreams if one.address == name)


def test_standings() -> None:
    """Serving, out with its ejection, on probation with its progress, held down by the proxy."""
    told = story("a", "b", PoolMember("c", held_down=True), "d").fails("a", times=4).skips()
    assert (upstream(told).standing, upstream(told, "c").standing) == (Standing.OUT, Standing.HELD_DOWN)
    ejection = upstream(told).ejection
    assert ejection is not None
    assert (Reason.RATIO, clock(30.0)) == (ejection.reason, ejection.until)

    told.at(30.0).skips().answers("a", times=2)
    assert (
        upstream(told).standing, upstream(told).probation_good, upstream(told).probation_needs, upstream(told).strikes,
    ) == (Standing.PROBATION, 2, 3, 1)  # fmt: skip
    told.answers("a").skips()
    assert Standing.SERVING is upstream(told).standing


def test_counts_and_times() -> None:
    """Totals by kind, the window as it is now, seconds out up to now."""
    told = story().answers("a", times=2).fails("a", times=3).skips().at(10.0).answers("a").fails("a").is_left("a", waited=0.5)

    one = upstream(told)
    assert (one.good_total, one.bad_total, one.ignored_total) == (2, {"status": 3}, {"while_out": 3})
    assert (one.ejections, one.out_seconds, one.avoided_bad, one.lost_good) == (1, 10.0, 1, 1)
    told.at(50.0).skips()
    assert (upstream(told).counted, upstream(told).out_seconds) == (0, 30.0)


def test_withheld_pinned_protected() -> None:
    """What keeps an upstream in is shown."""
    told = story().orders(Verb.PIN_IN, "a").fails("a", "b", times=4).skips()

    assert (upstream(told).withheld, upstream(told).pinned, upstream(told).protected) == ("pinned", True, False)
    assert (upstream(told, "b").withheld, upstream(told, "b").pinned, upstream(told, "b").protected) == (
        "protected",
        False,
        True,
    )


def test_paused_and_blind() -> None:
    """A pool says why it takes no decisions."""
    told = story().orders(Verb.PAUSE).goes_blind("x.log", reason="unreadable")

    assert (shown(told).paused, shown(told).blind) == (True, {"x.log": "unreadable"})


def test_in_flight() -> None:
    """In flight, streaming and stalled, as far as the proxy tells."""
    told = story()
    assert upstream(told).in_flight is None
    told.sees(attempt("a", told.now, origin=Origin.ROUNDTRIP)).polls(a=4).at(120.0).polls(a=4)

    assert (upstream(told).in_flight, upstream(told).streaming, upstream(told).stalled) == (4, 1, 3)
    told.skips()


@pytest.mark.parametrize(
    ("bad", "status", "polled", "word"),
    [
        (BadRules(stalled_after=None), 200, True, "off"),
        (BadRules(), 200, False, "does not tell"),
        (BadRules(), 101, True, "long bodies"),
        (BadRules(), 200, True, None),
    ],
)
def test_why_stalled_is_off(bad: BadRules, status: int, polled: bool, word: str | None) -> None:
    """A reason in words, or none."""
    told = Story("a", settings=rules(bad=bad)).answers("a", status=status)
    if polled:
        told.polls(a=1)

    found = shown(told).stalled_off
    assert (word is None) is (found is None)
    assert (word or "") in (found or "")


def test_strangers_and_late_lines() -> None:
    """What no pool has is counted and named, a few of them."""
    told = story().fails(*(f"x{i}" for i in range(30))).at(10.0).sees(attempt("a", clock(1.0)))

    found = view(told.engine, told.now)
    assert (found.attempts, found.late_lines, found.unmanaged_attempts, len(found.unmanaged)) == (31, 1, 30, 20)
