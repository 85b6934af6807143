"""When an upstream trips, told through the engine (DESIGN section 5)."""

from __future__ import annotations

import pytest

from tailhealth.core.model import Action, End, Reason
from tailhealth.core.rules import BadRules, GuardRules, Route, WindowRules, Yardstick
from tests.core.harness import Story, attempt, pool, rules, silent

EJECT, WITHHELD, RECOVERED = Action.EJECT, Action.WITHHELD, Action.RECOVERED
UNGUARDED = GuardRules(common_cause=False)
"""To see a trip at once, without the comparison with the peers."""


def story(*, sticky: bool = False, **more: object) -> Story:
    """Return a pool of two without a common cause guard."""
    settings = rules(guard=UNGUARDED, **more)  # type: ignore[arg-type]  # keywords of `rules`
    return Story(pool("a", "b", sticky=sticky), settings=settings)


def test_three_bad_ones_are_too_few() -> None:
    """The ratio is asked from `min_requests` on."""
    story().at("10:00:01").fails("a", times=3).expects_nothing().fails("a").expects(EJECT, "a", Reason.RATIO)


def test_sixty_percent() -> None:
    """Three of five trip, two of four do not."""
    told = story().at("10:00:01").answers("a", times=2).fails("a", times=2).expects_nothing()
    told.fails("a").expects(EJECT, "a", Reason.RATIO, at="10:00:01")


def test_good_outcomes_alone_do_not_trip() -> None:
    """A trip arises at a bad outcome: time that takes good ones out of the window, or a good one, asks nothing."""
    told = story().at("10:00:00").answers("a", times=20).at("10:00:10").fails("a", times=12).expects_nothing()
    told.at("10:00:35").answers("a").expects_nothing()

    told.at("10:00:36").fails("a").expects(EJECT, "a", Reason.RATIO, at="10:00:36")


def test_a_quiet_upstream_can_not_be_judged() -> None:
    """Three failures over an hour are too few within `within` (case 117)."""
    told = story()
    for minute in (0, 25, 50):
        told.at(f"11:{minute:02}:00").fails("a")
    told.expects_nothing()


def test_two_refused_in_a_row() -> None:
    """One refused connection is nothing, a second one in a row trips at once."""
    story().at("10:00:01").refuses("a").expects_nothing().refuses("a").expects(EJECT, "a", Reason.CONSECUTIVE_REFUSED)


@pytest.mark.parametrize("status", [200, 404, 429, 501])
def test_a_header_breaks_the_row_of_refused(status: int) -> None:
    """Whatever the upstream answers, it does not refuse."""
    story().at("10:00:01").refuses("a").answers("a", status=status).refuses("a").expects_nothing()


def test_what_has_no_header_does_not_break_the_row_of_refused() -> None:
    """Impatient clients are skipped."""
    told = story().at("10:00:01").refuses("a").is_left("a", waited=0.5).refuses("a")
    told.expects(EJECT, "a", Reason.CONSECUTIVE_REFUSED)


def test_an_ignored_route_does_not_break_the_row() -> None:
    """Probes that are answered say nothing about the work (incident A: `/api/version` always answers)."""
    told = story(bad=BadRules(routes=(Route(Yardstick(ignore=True), paths=("/probe",)),))).at("10:00:01")
    told.refuses("a").answers("a", uri="/probe").refuses("a").expects(EJECT, "a", Reason.CONSECUTIVE_REFUSED)


@pytest.mark.parametrize(("later", "trips"), [(600.0, True), (600.5, False)])
def test_rows_reach_back_within(later: float, trips: bool) -> None:
    """A refused attempt older than `within` is forgotten."""
    told = story().at(0.0).refuses("a").at(later).refuses("a")

    assert trips is (told.decided(EJECT) == ["a"])
    told.skips()


def test_eight_unanswered_in_a_row() -> None:
    """Clients that give up early are ignored one by one, but a node that answers nobody is stuck (case 20)."""
    told = story().at("10:00:01").is_left("a", waited=20.0, times=7).expects_nothing()
    told.is_left("a", waited=20.0).expects(EJECT, "a", Reason.CONSECUTIVE_UNANSWERED, at="10:00:01")


@pytest.mark.parametrize(("waited", "trips"), [(0.9375, False), (1.0, True)])
def test_unanswered_after(waited: float, trips: bool) -> None:
    """Only attempts that waited at least `unanswered_after` count, shorter ones neither count nor break the row."""
    told = story().at("10:00:01").is_left("a", waited=20.0, times=4).is_left("a", waited=0.5, times=9)
    told.is_left("a", waited=20.0, times=3).expects_nothing().is_left("a", waited=waited)

    assert trips is (told.decided(EJECT) == ["a"])
    told.skips()


def test_whoever_gave_up() -> None:
    """Refused late, timed out and abandoned attempts make one row, also where their rules are off."""
    off = BadRules(default=Yardstick(refused=False, timed_out=False))
    told = story(bad=off).at("10:00:01").is_left("a", waited=2.0, times=6)
    told.sees(silent("a", told.now, End.TIMED_OUT, 30.0)).expects_nothing()
    told.sees(silent("a", told.now, End.REFUSED, 3.0)).expects(EJECT, "a", Reason.CONSECUTIVE_UNANSWERED)


def test_an_answer_breaks_the_row_of_unanswered() -> None:
    """Even a bad answer is an answer."""
    told = story().at("10:00:01").is_left("a", waited=20.0, times=7).fails("a").is_left("a", waited=20.0, times=7)
    told.expects_nothing()


def test_a_late_answer_breaks_only_what_came_before_it() -> None:
    """What is known late takes its place in the row."""
    told = story().at(10.0).refuses("a").at(11.0).sees(attempt("a", told_at(9.0))).refuses("a")
    told.expects(EJECT, "a", Reason.CONSECUTIVE_REFUSED)

    told = story().at(10.0).refuses("a").at(12.0).answers("a", times=4).at(13.0)
    told.sees(silent("a", told_at(11.0), End.REFUSED, 0.0)).refuses("a").expects_nothing()


def told_at(seconds: float) -> float:
    """Return a time in epoch seconds."""
    return Story("a").now + seconds


def test_a_sticky_pool_needs_two_clients() -> None:
    """With a sticky policy one client with a poison request could walk through the pool."""
    told = story(sticky=True).at("10:00:01").fails("a", times=9).refuses("a", times=9).is_left("a", waited=99.0, times=9)
    told.expects_nothing().at("10:00:02").fails("a", client="192.0.2.9").expects(EJECT, "a", Reason.RATIO)


@pytest.mark.parametrize("client", ["192.0.2.9", ""])
def test_a_sticky_pool_and_refused_connections(client: str) -> None:
    """The same for connections that fail; those without a client are one client together."""
    told = story(sticky=True).at("10:00:01").refuses("a", times=5).expects_nothing()
    told.refuses("a", client=client).expects(EJECT, "a", Reason.CONSECUTIVE_REFUSED)


def test_clients_without_a_name_are_one() -> None:
    """Outcomes without a known client are one client together."""
    told = story(sticky=True).at("10:00:01").fails("a", times=9, client="").expects_nothing()
    told.fails("a", client="192.0.2.1").expects(EJECT, "a", Reason.RATIO)


def test_clients_can_be_set() -> None:
    """The setting overrides what the proxy's policy suggests."""
    story(sticky=True, window=WindowRules(clients=1)).fails("a", times=4).expects(EJECT, "a", Reason.RATIO)
    told = story(window=WindowRules(clients=3)).fails("a", times=9).fails("a", client="x").expects_nothing()
    told.fails("a", client="y").expects(EJECT, "a", Reason.RATIO)


def test_longer_rows_than_memory_usually_keeps() -> None:
    """A rule that asks for a hundred in a row gets them."""
    told = story(window=WindowRules(ratio=None, consecutive_refused=100)).refuses("a", times=99).expects_nothing()
    told.refuses("a").expects(EJECT, "a", Reason.CONSECUTIVE_REFUSED)


def test_the_evidence() -> None:
    """A decision says what the window held, of which kinds."""
    told = story().at("10:00:01").answers("a").fails("a", times=2).is_left("a", waited=60.0)
    told.refuses("a")

    found = told.pending[0].evidence
    assert (found.counted, found.bad, found.kinds) == (4, 3, {"status": 2, "abandoned": 1})
    told.expects(EJECT, "a", Reason.RATIO).expects_nothing()
