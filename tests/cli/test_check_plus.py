"""`check` against the double of the NGINX Plus API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from tailhealth.cli import main
from tests.proxies.contract import A, B
from tests.proxies.plus_double import Plus, plus_api


def found(folder: Path, plus: Plus) -> tuple[list[str], set[str]]:
    """Check it; return the codes of findings and notes."""
    log = folder / "a.log"
    log.touch()
    path = folder / "t.toml"
    with plus_api(plus) as admin:
        path.write_text(
            f'[proxy]\nkind = "nginx-plus"\nadmin = "{admin}"\n[[log]]\npath = "{log}"\n[state]\ndir = "{folder}/state"\n'
        )
        done = CliRunner().invoke(main, ["check", "--json", "-c", str(path)])
    assert done.exit_code in {0, 1}, done.output
    said = orjson.loads(done.output)
    return [one["code"] for one in said["findings"]], {one["code"] for one in said["notes"]}


@pytest.mark.parametrize(
    ("blocks", "codes"),
    [
        ({"chat": [{"server": A, "max_fails": 0}, {"server": B, "max_fails": 0}]}, []),
        ({"chat": [{"server": A}, {"server": B}]}, ["other_judge"]),
        ({}, ["no_pools"]),
    ],
)
def test_what_the_api_shows(tmp_path: Path, blocks: Mapping[str, Sequence[Mapping[str, Any]]], codes: list[str]) -> None:
    """Blocks are pools; NGINX judges their servers by itself unless `max_fails` is 0."""
    seen, notes = found(tmp_path, Plus(blocks))

    assert seen == codes
    assert "log" in notes


def test_an_api_of_another_version(tmp_path: Path) -> None:
    """What is needed is told."""
    plus = Plus({"chat": [{"server": A}]})
    plus.versions = [1, 2, 3]

    assert found(tmp_path, plus)[0] == ["no_proxy"]
