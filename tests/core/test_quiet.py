"""Pools that are too quiet to be judged by ratio, and the `within` that is proposed (DESIGN section 5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import PoolMember
from tailhealth.core.quiet import LONGEST, MARGIN, TooQuiet, proposed_within, too_quiet
from tailhealth.core.rules import GuardRules, WindowRules
from tests.core.harness import Story, clock, rules

BEGAN = clock("09:50:00")
WINDOW = WindowRules(within=600.0, min_requests=4)


def quiet(told: Story, since: float = BEGAN) -> tuple[TooQuiet, ...]:
    """Ask at the story's time, of all that was read since ten minutes before it began."""
    return too_quiet(told.engine.pools.values(), told.now, since)


def test_enough_is_enough() -> None:
    """Four counted ones can be judged, three can't; the proposal holds twice as many at the rate that was seen."""
    told = Story("a", "b").answers("a", times=4).answers("b", times=3)
    assert quiet(told) == (TooQuiet("pool", ("b",), 4, 600.0, 1800.0),)
    told.answers("b")
    assert quiet(told) == ()


def test_what_was_not_read_long_enough() -> None:
    """Before `within` has passed, nothing can be said."""
    told = Story("a", "b")
    assert quiet(told, clock("09:50:00.1")) == ()
    assert quiet(told) == (TooQuiet("pool", ("a", "b"), 4, 600.0, None),)


def test_what_is_too_old_does_not_count() -> None:
    """Only what lies within `within` is there to be judged."""
    told = Story("a", "b").answers("a", "b", times=4)
    assert quiet(told.at("10:10:00")) == ()
    (found,) = quiet(told.at("10:10:00.1"))
    assert found.upstreams == ("a", "b")


def test_what_is_out_or_was_is_quiet_for_another_reason() -> None:
    """An upstream that is out gets nothing, and its window was emptied when it came back."""
    told = (
        Story("a", "b", settings=rules(guard=GuardRules(common_cause=False))).answers("b", times=4).fails("a", times=4).skips()
    )
    assert quiet(told) == ()
    told.at("10:00:30").skips().answers("b", times=4).answers("a", times=3).skips()
    assert quiet(told) == ()
    told.at("10:05:00").answers("b", times=4)
    assert quiet(told.at("10:10:29")) == ()
    assert quiet(told.at("10:10:30").answers("b", times=4))[0].upstreams == ("a",)


def test_backups_and_weightless_ones_are_quiet_by_nature() -> None:
    """They get requests only when something is wrong."""
    told = Story("a", PoolMember("b", backup=True), PoolMember("c", weight=0), PoolMember("d", held_down=True))
    assert quiet(told.answers("a", times=4)) == ()


def test_without_the_rule_nothing_is_missing() -> None:
    """Where no ratio is judged, nobody is too quiet for it."""
    assert quiet(Story("a", "b", settings=rules(window=WindowRules(ratio=None)))) == ()


@pytest.mark.parametrize(
    ("counted", "seconds", "needed", "within"),
    [
        (0, 600.0, 4, None),
        (8, 600.0, 4, 600.0),
        (4, 600.0, 4, 1200.0),
        (3, 600.0, 4, 1800.0),
        (1, 600.0, 4, 5400.0),
        (1, 10_800.0, 4, 86_400.0),
        (1, 10_900.0, 4, None),
        (1000, 600.0, 1, 60.0),
    ],
)
def test_proposals(counted: int, seconds: float, needed: int, within: float | None) -> None:
    """Rounded up to steps that people write, and none longer than a day."""
    assert proposed_within(counted, seconds, needed) == within


@given(counted=st.integers(1, 10_000), seconds=st.floats(600, 1e6), needed=st.integers(1, 64))
def test_a_proposal_would_do(counted: int, seconds: float, needed: int) -> None:
    """At the rate that was seen it holds enough, and not much more than enough."""
    within = proposed_within(counted, seconds, needed)
    wanted = MARGIN * needed * seconds / counted
    if within is None:
        assert wanted > LONGEST * 0.8
    else:
        assert wanted <= within <= wanted + max(60.0, wanted * 0.25)
