"""The rules as functions of values: trips, time out, Fisher's test, too few left (DESIGN sections 5 to 7)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailhealth.core.model import Reason
from tailhealth.core.policy import (
    Comparison,
    Others,
    Peer,
    common_cause,
    fisher,
    matches_any,
    time_out,
    too_few_left,
    trips,
)
from tailhealth.core.rows import Rows, Stretch
from tailhealth.core.rules import EjectRules, GuardRules, WindowRules
from tailhealth.core.window import Seen

NO_ROW = Stretch(0, 0, 0.0)
NO_ROWS = Rows(NO_ROW, NO_ROW)


def seen(bad: int, counted: int, clients: int = 1) -> Seen:
    """Return what a window shows."""
    return Seen(counted, bad, Counter(), 0, clients, 0.0)


def peer(bad: int, counted: int, *, unanswered: int = 0, answered: int = 0, latest: str = "good") -> Peer:
    """Return another upstream's outcomes; `latest` is good, bad or refused."""
    return Peer(counted, bad, answered, unanswered, latest != "good", latest == "refused")


@pytest.mark.parametrize(
    ("bad", "counted", "expected"),
    [(3, 3, ()), (4, 4, (Reason.RATIO,)), (2, 4, ()), (3, 5, (Reason.RATIO,)), (59, 100, ()), (60, 100, (Reason.RATIO,))],
)
def test_ratio_needs_enough_requests_and_enough_bad_ones(bad: int, counted: int, expected: tuple[Reason, ...]) -> None:
    """It trips from `min_requests` counted on, when bad / counted reaches `ratio`."""
    assert expected == trips(seen(bad, counted), NO_ROWS, WindowRules(), 1)


@pytest.mark.parametrize(("clients", "expected"), [(1, ()), (2, (Reason.RATIO,))])
def test_bad_outcomes_must_come_from_enough_clients(clients: int, expected: tuple[Reason, ...]) -> None:
    """One client with a poison request proves nothing where clients are bound to upstreams."""
    assert expected == trips(seen(8, 8, clients), NO_ROWS, WindowRules(), 2)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (Rows(Stretch(1, 1, 0.0), NO_ROW), ()),
        (Rows(Stretch(2, 1, 0.0), NO_ROW), (Reason.CONSECUTIVE_REFUSED,)),
        (Rows(NO_ROW, Stretch(7, 1, 0.0)), ()),
        (Rows(NO_ROW, Stretch(8, 1, 0.0)), (Reason.CONSECUTIVE_UNANSWERED,)),
    ],
)
def test_rows_trip_at_their_length(rows: Rows, expected: tuple[Reason, ...]) -> None:
    """Two refused or eight unanswered attempts in a row are enough, one fewer is not."""
    assert expected == trips(seen(0, 0), rows, WindowRules(), 1)


def test_rows_too_need_enough_clients() -> None:
    """A poison request that breaks connections could walk through a sticky pool as well."""
    rows = Rows(Stretch(5, 1, 0.0), Stretch(20, 1, 0.0))

    assert trips(seen(0, 0), rows, WindowRules(), 2) == ()
    assert len(trips(seen(0, 0), Rows(Stretch(2, 2, 0.0), Stretch(8, 2, 0.0)), WindowRules(), 2)) == 2


def test_rules_that_are_off_do_not_trip() -> None:
    """Every trip rule can be turned off."""
    rows = Rows(Stretch(99, 9, 0.0), Stretch(99, 9, 0.0))
    off = WindowRules(ratio=None, consecutive_refused=None, consecutive_unanswered=None)

    assert trips(seen(99, 99, 9), rows, off, 1) == ()


@pytest.mark.parametrize(
    ("strikes", "expected"), [(0, 30.0), (1, 60.0), (2, 120.0), (4, 480.0), (5, 600.0), (6, 600.0), (5000, 600.0)]
)
def test_time_out_grows_up_to_the_cap(strikes: int, expected: float) -> None:
    """min(`for` x `backoff`^strikes, `max`)."""
    assert expected == time_out("a", strikes, 1.0, EjectRules(jitter=0.0))


def test_time_out_bears_any_numbers() -> None:
    """A backoff of 1 always gives `for`; a huge one does not overflow."""
    assert time_out("a", 400, 1.0, EjectRules(backoff=1.0, jitter=0.0)) == 30.0
    assert time_out("a", 400, 1.0, EjectRules(backoff=1e200, jitter=0.0)) == 600.0


@given(st.text(max_size=20), st.integers(0, 20), st.floats(0, 2e9))
def test_jitter_comes_after_the_cap_and_from_the_arguments_alone(upstream: str, strikes: int, at: float) -> None:
    """Up to a tenth is added to the capped time, and the same arguments always give the same."""
    plain = time_out(upstream, strikes, at, EjectRules(jitter=0.0))
    jittered = time_out(upstream, strikes, at, EjectRules())

    assert plain <= jittered <= plain * 1.1
    assert jittered == time_out(upstream, strikes, at, EjectRules())


def test_jitter_spreads() -> None:
    """Upstreams, strikes and moments give different times, also at the cap."""
    times = {time_out(name, strikes, at, EjectRules()) for name in "ab" for strikes in (8, 9) for at in (1.0, 2.0)}

    assert len(times) == 8
    assert all(one > 600.0 for one in times)


def exact(bad: int, good: int, peers_bad: int, peers_good: int) -> Fraction:
    """Return the tail of the hypergeometric distribution in exact fractions."""
    here, total_bad, total = bad + good, bad + peers_bad, bad + good + peers_bad + peers_good
    ways = sum(comb(total_bad, k) * comb(total - total_bad, here - k) for k in range(bad, min(here, total_bad) + 1))
    return Fraction(ways, comb(total, here))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ((8, 0, 0, 8), 1 / 12870),
        ((4, 0, 0, 4), 1 / 70),
        ((3, 1, 1, 3), 17 / 70),
        ((6, 2, 0, 24), 28 / 906192),
        ((0, 0, 0, 0), 1.0),
        ((0, 8, 8, 0), 1.0),
    ],
)
def test_fisher_of_known_tables(table: tuple[int, int, int, int], expected: float) -> None:
    """Tables worked out by hand, the lady's tea among them."""
    assert expected == pytest.approx(fisher(*table), rel=1e-9)


@settings(max_examples=60)
@given(st.tuples(*[st.integers(0, 40)] * 4) | st.tuples(*[st.integers(0, 300)] * 4))
def test_fisher_equals_exact_fractions(table: tuple[int, int, int, int]) -> None:
    """Its tail is that of exact arithmetic, for small and for large counts."""
    expected = float(exact(*table))

    assert expected == pytest.approx(fisher(*table), rel=1e-9, abs=1e-12)


def test_fisher_of_a_busy_pool_is_quick() -> None:
    """A pool that fails altogether at thousands of lines a second is compared once a second: no loop over all of them."""
    assert 0.4 < fisher(60_000, 40_000, 180_000, 120_000) < 0.6


WINDOW, GUARD = WindowRules(), GuardRules()


def held(reason: Reason, suspect: Peer, *peers: Peer, guard: GuardRules = GUARD) -> Comparison:
    """Compare with the default rules."""
    return common_cause(reason, suspect, peers, WINDOW, guard)


def test_chance_is_a_limit_on_both_sides() -> None:
    """It holds when p is above `chance`, not at it."""
    p = fisher(8, 0, 0, 8)

    assert not held(Reason.RATIO, peer(8, 8), peer(0, 8), guard=GuardRules(chance=p)).holds
    assert held(Reason.RATIO, peer(8, 8), peer(0, 8), guard=GuardRules(chance=p * 0.999)).holds
    assert Comparison(False, 8, 0, p) == held(Reason.RATIO, peer(8, 8), peer(0, 8))


def test_peers_are_pooled() -> None:
    """Bad and good of all peers stand against the suspect together."""
    assert pytest.approx(float(exact(6, 2, 3, 29))) == held(Reason.RATIO, peer(6, 8), peer(3, 16), peer(0, 16)).p


def test_hopeless_peers_are_left_out_at_a_tenth_of_the_chance() -> None:
    """A peer at 90 % bad says nothing about what is normal, as long as half of the peers still do."""
    hopeless = peer(9, 10)
    p = fisher(8, 0, 0, 10)

    assert Comparison(False, 10, 0, p) == held(Reason.RATIO, peer(8, 8), hopeless, peer(0, 10), guard=GuardRules(chance=p * 10))
    assert held(Reason.RATIO, peer(8, 8), hopeless, peer(0, 10), guard=GuardRules(chance=p * 9.99)).holds


@pytest.mark.parametrize(
    ("other", "counted"),
    [(peer(9, 10), 10), (peer(8, 9), 19), (peer(3, 3), 13), (peer(4, 4), 10)],
)
def test_what_makes_a_peer_hopeless(other: Peer, counted: int) -> None:
    """At least `min_requests` counted and at least nine in ten bad."""
    assert counted == held(Reason.RATIO, peer(8, 8), other, peer(0, 10)).counted


def test_hopeless_peers_in_the_majority_stay_in_the_comparison() -> None:
    """With more than half of the peers hopeless, the pool is like that."""
    many = held(Reason.RATIO, peer(8, 8), peer(9, 10), peer(9, 10), peer(0, 10))

    assert (many.counted, many.bad) == (30, 18)
    assert many.holds


def test_peers_without_outcomes_do_not_speak() -> None:
    """A peer that has no outcome counts neither among the hopeless nor among the others."""
    idle = peer(0, 0)

    assert held(Reason.RATIO, peer(8, 8), peer(10, 10), peer(9, 10), idle, idle).counted == 20


@pytest.mark.parametrize(("bad", "holds"), [(7, True), (8, False)])
def test_without_peers_it_needs_last_bad_ones(bad: int, holds: bool) -> None:
    """Nobody to compare with: a full window of bad outcomes must do."""
    for reason in (Reason.RATIO, Reason.CONSECUTIVE_REFUSED, Reason.PROBATION):
        assert Comparison(holds, 0, 0, None) == held(reason, peer(bad, 8), peer(0, 0))
    assert holds is held(Reason.CONSECUTIVE_UNANSWERED, peer(0, 0, unanswered=bad), peer(0, 0)).holds


@pytest.mark.parametrize(
    ("latest", "holds"),
    [
        (["refused", "good"], True),
        (["refused", "good", "good"], False),
        (["refused", "bad", "good"], False),
        (["refused", "refused", "good"], True),
        (["bad", "bad"], False),
    ],
)
def test_refused_is_held_if_half_of_the_peers_refuse_too(latest: list[str], holds: bool) -> None:
    """Half or more of the peers with an outcome have a refused attempt as their latest."""
    peers = [peer(1, 4, latest=one) for one in latest]

    assert holds is held(Reason.CONSECUTIVE_REFUSED, peer(2, 2), *peers, peer(0, 0)).holds


@pytest.mark.parametrize(("latest", "holds"), [(["bad", "good"], True), (["bad", "good", "good"], False), (["refused"], True)])
def test_probation_is_held_if_the_latest_of_half_is_bad(latest: list[str], holds: bool) -> None:
    """One bad outcome proves little, unless the peers do well."""
    assert holds is held(Reason.PROBATION, peer(1, 1), *(peer(1, 4, latest=one) for one in latest)).holds


def test_unanswered_is_compared_with_answered() -> None:
    """The same test on unanswered against answered attempts, hopeless peers left out too."""
    suspect = peer(0, 0, unanswered=8)
    silent_peer = peer(0, 0, unanswered=9, answered=1)
    result = held(Reason.CONSECUTIVE_UNANSWERED, suspect, silent_peer, peer(0, 20, answered=20, unanswered=1))

    assert pytest.approx(float(exact(8, 0, 1, 20))) == result.p
    assert not result.holds
    assert held(Reason.CONSECUTIVE_UNANSWERED, suspect, peer(0, 20, unanswered=20)).holds


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        (Others(4, 1, 2), None),
        (Others(4, 2, 1), Reason.MAX_EJECTED),
        (Others(3, 0, 2), None),
        (Others(3, 1, 1), Reason.MAX_EJECTED),
        (Others(2, 0, 1), None),
        (Others(1, 0, 0), Reason.MAX_EJECTED),
        (Others(2, 0, 0), Reason.MIN_SERVING),
    ],
)
def test_too_few_left(others: Others, expected: Reason | None) -> None:
    """`max_ejected` is computed after the ejection; `min_serving` counts those with weight."""
    assert expected == too_few_left(others, GuardRules())


def test_too_few_left_with_other_limits() -> None:
    """Each of the two limits stands alone."""
    assert Reason.MIN_SERVING is too_few_left(Others(1, 0, 0), GuardRules(max_ejected=None))
    assert too_few_left(Others(3, 1, 2), GuardRules(max_ejected=None, min_serving=2)) is None
    assert Reason.MIN_SERVING is too_few_left(Others(3, 1, 1), GuardRules(max_ejected=None, min_serving=2))
    assert Reason.MAX_EJECTED is too_few_left(Others(9, 0, 8), GuardRules(max_ejected=0.0))


def test_matches_any() -> None:
    """Addresses and globs; the brackets of an IPv6 literal are no glob."""
    assert matches_any("10.0.0.1:80", ["10.0.0.*"])
    assert matches_any("[::1]:80", ["[::1]:80"])
    assert matches_any("[fd00::5]:80", ["[fd00::?]:*"])
    assert not matches_any("1:80", ["[::1]:80"])
    assert not matches_any("10.0.1.1:80", ["10.0.0.*", "10.0.1.1:81"])
