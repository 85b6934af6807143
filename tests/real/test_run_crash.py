"""SIGKILL at every step of a change, of the whole controller: what was decided is what the next run makes true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.caddy import Caddy, caddy, logged, reverse_proxy
from tests.real.crash import Action
from tests.real.dying_run import Step, death

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real

WEIGHTED = {"selection_policy": {"policy": "weighted_round_robin", "weights": [10, 1, 1]}}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caddy]:
    """One Caddy for all deaths: each leaves it as it was."""
    handlers = logged(reverse_proxy("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", load_balancing=WEIGHTED))
    with caddy(tmp_path_factory.mktemp("caddy"), handlers) as one:
        yield one


@pytest.mark.parametrize("restores", [False, True])
@pytest.mark.parametrize("step", list(Step))
@pytest.mark.parametrize("action", list(Action))
def test_a_run_that_dies(proxy: Caddy, tmp_path: Path, action: Action, step: Step, *, restores: bool) -> None:
    """An ejection that was decided is applied by the next run and no other upstream is missing; one that ended is over."""
    everything = proxy.dials()
    outcome = death(proxy, tmp_path, action, step, restores=restores)
    assert outcome.sound(everything, action), outcome
