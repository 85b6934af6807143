"""A short run of `tests/bench/fuzz.py`: hostile logs through everything that reads logs."""

from __future__ import annotations

import pytest

from tests.bench.fuzz import one_round
from tests.bench.fuzz_input import corpus

LOGS = corpus()


@pytest.mark.parametrize("seed", range(10, 70, 5))
def test_hostile_logs(seed: int) -> None:
    """Nothing raises, whatever stands in a log, and how it is split into blocks makes no difference."""
    for one in range(seed, seed + 5):
        assert one_round(one, LOGS) > 0
