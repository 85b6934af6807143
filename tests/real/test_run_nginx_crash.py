"""SIGKILL at every step of a change of a real nginx, of the whole controller: nothing is lost, and nginx always serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.crash import Action
from tests.real.nginx_dying import Step, death
from tests.real.run_nginx import Site, site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One nginx for all deaths: each leaves it as it was."""
    with site(tmp_path_factory.mktemp("nginx")) as one:
        yield one


@pytest.mark.parametrize(("step", "restores"), [(step, bool(number % 2)) for number, step in enumerate(Step)])
@pytest.mark.parametrize("action", list(Action))
def test_a_run_that_dies(stage: Site, tmp_path: Path, action: Action, step: Step, *, restores: bool) -> None:
    """The file is the operator's minus the ejections in force: at once, after a restart, and whole after `restore`."""
    outcome = death(stage._replace(folder=tmp_path), tmp_path, action, step, restores=restores)
    victim = stage.addresses[0]
    assert outcome.at_once in ([], [victim])
    assert outcome.taken, outcome
    assert outcome.restored, outcome
    assert outcome.restarted == ([victim] if action is Action.EJECT else [])
    assert outcome.runs_so, outcome
    assert outcome.stopped, outcome
