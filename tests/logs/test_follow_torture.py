"""The rotation torture of `tests/bench/rotation.py`, made short."""

from __future__ import annotations

import pytest

from tests.bench.rotation import Plan, torture


@pytest.mark.outside
@pytest.mark.parametrize("events", [True, False])
def test_every_line_arrives_once_through_rotations_stops_and_kills(*, events: bool) -> None:
    """A follower in its own process, stopped and killed at random, misses nothing and repeats nothing it need not repeat."""
    outcome = torture(Plan(rotations=12, rate=2000, between=0.12, life=0.6, down=0.2, seed=7, events=events))

    assert outcome.good, outcome
    assert outcome.delivered - outcome.repeated == outcome.written - outcome.named - outcome.unseen - outcome.forgotten
    assert outcome.stopped > 0
