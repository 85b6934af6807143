"""SIGKILL at every step of ejecting and readmitting loses no upstream (DESIGN section 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.caddy import Caddy, caddy, reverse_proxy
from tests.real.crash import ALL, Action, Point, crash

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caddy]:
    """One Caddy for all crashes: each leaves it as it was."""
    policy = {"selection_policy": {"policy": "weighted_round_robin", "weights": [10, 1, 1]}}
    with caddy(tmp_path_factory.mktemp("caddy"), [reverse_proxy(*ALL, load_balancing=policy)]) as one:
        yield one


@pytest.mark.parametrize("time", [1, 2])
@pytest.mark.parametrize("point", list(Point))
@pytest.mark.parametrize("action", list(Action))
def test_a_controller_that_dies_loses_nothing(proxy: Caddy, tmp_path: Path, action: Action, point: Point, time: int) -> None:
    """The list is the operator's minus the ejection in force, at once, after a restart, and whole after `restore`."""
    outcome = crash(proxy, tmp_path, action, point)
    assert outcome.sound, (outcome, time)
    done = point is not Point.BEFORE_INTENT
    assert outcome.in_force is (done if action is Action.EJECT else not done)
