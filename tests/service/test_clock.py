"""A wall clock that notices when it was set (DESIGN section 3: back by more than 5 s)."""

from __future__ import annotations

import time

import pytest

from tailhealth.service.clock import SteadyClock


class Clocks:
    """A wall clock and one that never jumps."""

    def __init__(self) -> None:
        self.wall = 1_000_000.0
        self.steady = 50.0
        self.clock = SteadyClock(lambda: self.wall, lambda: self.steady)

    def passes(self, seconds: float, jump: float = 0.0) -> float | None:
        """Let time pass, and the wall clock jump beside that."""
        self.steady += seconds
        self.wall += seconds + jump
        return self.clock.stepped()


@pytest.mark.parametrize(("jump", "stepped"), [(-5.0, None), (-5.001, -5.001), (-3600.0, -3600.0), (0.0, None), (3600.0, None)])
def test_a_step(jump: float, stepped: float | None) -> None:
    """Back by more than five seconds is a step; less is a correction, and forward is time that passed."""
    found = Clocks().passes(10.0, jump)
    assert found == (None if stepped is None else pytest.approx(stepped))


def test_a_step_is_told_once() -> None:
    """After it the clock is what it is; another one is another step."""
    clocks = Clocks()
    assert clocks.passes(1.0, -60.0) == pytest.approx(-60.0)
    assert clocks.passes(1.0) is None
    assert clocks.passes(1.0, -60.0) == pytest.approx(-60.0)


def test_small_corrections_never_add_up() -> None:
    """A clock that is slowed down for hours is not stepped."""
    clocks = Clocks()
    assert {clocks.passes(1.0, -1.0) for _ in range(100)} == {None}


def test_it_tells_the_wall_time() -> None:
    """In epoch seconds, by default that of the machine."""
    clocks = Clocks()
    assert clocks.clock() == 1_000_000.0
    before = time.time()
    assert before <= SteadyClock()() <= time.time()
