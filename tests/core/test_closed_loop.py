"""What must hold in every run of the policy table: a short version of `tests/bench/closed_loop.py`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench.closed_loop import measure
from tests.bench.policy_rows import BEGINS, ROWS, Row

SEEDS = range(3)
BY_NAME = {row.name: row for row in ROWS}


def lasting(name: str, seconds: float) -> Row:
    """Return a row of the table that ends so many seconds after its fault begins."""
    row = BY_NAME[name]
    return replace(row, load=replace(row.load, duration=BEGINS + seconds))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "bound"),
    [
        ("wedge-300", 300.0),
        ("wedge-90", 300.0),
        ("wedge-ever", 300.0),
        ("wedge-20", 900.0),
        ("wedge-two", 500.0),
        ("5xx", 250.0),
    ],
)
def test_the_sick_leave_and_the_healthy_stay(name: str, bound: float, seed: int) -> None:
    """Whatever clients do, every sick upstream is out within a generous bound, and no healthy one ever is."""
    figures = measure(lasting(name, bound + 300.0), seed, compare=False)

    assert figures.false_ejections == 0
    assert all(after is not None and after <= bound for after in figures.out_after), figures.out_after


@pytest.mark.parametrize("seed", SEEDS)
def test_fewer_requests_fail_than_without(seed: int) -> None:
    """A wedged upstream fails its share of requests for ever; taken out, it costs the few that found it."""
    figures = measure(BY_NAME["wedge-90"], seed)

    assert figures.failed * 2 < figures.failed_without


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["whole-pool-100", "whole-pool-90", "whole-pool-60"])
def test_a_whole_pool_that_fails_keeps_serving(name: str, seed: int) -> None:
    """Where all fail alike nobody is worse than the others: at least three of four stay in rotation."""
    assert measure(lasting(name, 1200.0), seed, compare=False).fewest_in_rotation >= 3


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reserved_region_stays_in(seed: int) -> None:
    """Incident C: most of the calls still succeed, so neither the reserved region nor any other leaves, unprotected."""
    figures = measure(lasting("incident-c", 120.0), seed, compare=False)

    assert figures.fewest_in_rotation == 4


def test_two_restarts_in_turn_leave_one_serving() -> None:
    """The one that is back returns to relieve the other, so that the pool never stands empty."""
    figures = measure(BY_NAME["restarts"], 0)

    assert figures.fewest_in_rotation == 1
    assert all(after is not None for after in figures.out_after)
    assert figures.failed < figures.failed_without
