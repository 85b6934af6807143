"""The follower cases of the field, each with the follower looking only when the script says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    """Whatever happens to the files, every line is delivered exactly once, whole, and nothing else is."""
    script = json.loads(case.read_bytes())
    if case.name.startswith("93-"):
        stage.path = "logs/access.log"

    stage.play(script["steps"])

    assert sorted(stage.ids) == script["expect"]["ids"]
    assert stage.repeated == []
