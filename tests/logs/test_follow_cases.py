"""The follower cases of the field, each with the follower looking only when the script says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tailhealth.logs.following import State
from tests.logs.steps import Stage

CASES = sorted((Path(__file__).parents[1] / "cases").glob("*.steps.json"))
FOLLOWER = [case for case in CASES if any(step["op"] == "poll" for step in json.loads(case.read_bytes())["steps"])]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage in an empty folder."""
    folder = tmp_path / "stage"
    folder.mkdir()
    stage = Stage(folder)
    yield stage
    stage.close()


@pytest.mark.parametrize("case", FOLLOWER, ids=lambda case: case.name.removesuffix(".steps.json"))
def test_every_line_comes_once(stage: Stage, case: Path) -> None:
    """Whatever happens to the files, every line comes exactly once, whole, without a single file event (case 95)."""
    script = json.loads(case.read_bytes())
    if case.name.startswith("93-"):
        stage.path = "logs/access.log"

    stage.play(script["steps"])

    assert sorted(stage.ids) == script["expect"]["ids"]
    assert stage.repeated == []


def test_case_82_comes_in_order(stage: Stage) -> None:
    """Generations that came and went between two looks are delivered in the order in which they were written."""
    stage.play(_steps("82"))

    assert stage.ids == [1, 2, 3, 4, 5, 6]


def test_case_94_says_that_it_can_not_read(stage: Stage) -> None:
    """While the new file may not be read the state says so, and it ends by itself."""
    stage.play(_steps("94"))

    assert stage.states == [
        State.FOLLOWING,
        State.UNREADABLE,
        State.UNREADABLE,
        State.FOLLOWING,
        State.FOLLOWING,
    ]


def test_case_96_waits_before_it_opens_again(stage: Stage) -> None:
    """A stale handle is not tried again in a busy loop."""
    stage.play(_steps("96"))
    times = sorted(set(stage.disk.opened))

    assert all(later - earlier >= 1.0 for earlier, later in pairwise(times))


def test_case_100_follows_one_log(stage: Stage) -> None:
    """A pattern that catches rolled names follows the live log only."""
    stage.play(_steps("100"))

    assert stage.followed == {str(stage.folder / "access.log")}


@pytest.mark.parametrize("number", ["81", "82", "83", "84", "88", "92", "93", "94", "96", "99", "100"])
def test_nothing_is_called_lost_that_is_not(stage: Stage, number: str) -> None:
    """In these cases every line can be found, so no gap is named (in case 86 the old file is gone)."""
    if number == "93":
        stage.path = "logs/access.log"

    stage.play(_steps(number))

    assert stage.gaps == 0


def _steps(number: str) -> list[dict[str, Any]]:
    [case] = [case for case in FOLLOWER if case.name.startswith(f"{number}-")]
    steps: list[dict[str, Any]] = json.loads(case.read_bytes())["steps"]
    return steps
