"""`tailhealth parse --follow` on a pipe and with wrong arguments; on files see `tests/real/test_parse_follow.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tailhealth.cli.parse import command
from tailhealth.core.judge import judge
from tailhealth.core.model import End
from tailhealth.core.rules import BadRules
from tailhealth.service.follow_state import FollowState
from tailhealth.views.parsed import attempt_line
from tests.core.harness import attempt, clock, silent
from tests.logs.caddy_lines import line, roundtrip

if TYPE_CHECKING:
    from pathlib import Path

DEADLINE = 30.0


def piped(data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Run it on standard input."""
    parse = [sys.executable, "-m", "tailhealth", "parse", "--follow", *options, "-"]
    return subprocess.run(parse, input=data, capture_output=True, timeout=DEADLINE, check=True)


@pytest.mark.outside
def test_a_pipe(tmp_path: Path) -> None:
    """A pipe is read until the other side closes it; then all that waited is printed, and the summary, with a state or not."""
    data = line(0, upstream="10.9.0.2:80") + roundtrip(1) + line(2) + line(3)[:-1]
    for options in ([], ["--state", str(tmp_path / "state")]):
        *attempts, last = map(json.loads, piped(data, "--json", *options).stdout.splitlines())
        assert [one["path"] for one in attempts] == ["/r/0", "/r/1", "/r/2", "/r/3"]
        assert (last["summary"]["lines"], last["summary"]["attempts"]) == (4, 4)


@pytest.mark.outside
def test_lines_for_people() -> None:
    """Without --json each attempt is a line that can't harm a terminal, and the summary is a table."""
    said = piped(line(0, request={"client_ip": "192.0.2.1", "method": "GET", "uri": "/\x1b[2J?secret"})).stdout.decode()

    assert "10.9.0.1:8080 good: 200 GET /\\x1b[2J (header 18ms, whole 22ms)\n" in said
    assert "lines" in said
    assert "secret" not in said


def test_a_line_of_each_kind() -> None:
    """What is not known is a dash; what is bad says why."""
    early = silent("a", clock("10:00:05"), End.ABANDONED, 0.3, uri="/x?token=secret")
    broken = attempt("a", clock("10:00:06"), status=500, header=1.25, method="POST", uri="/y")

    assert [attempt_line(one, judge(one, BadRules()), UTC) for one in (early, broken)] == [
        "10:00:05 a ignored (abandoned_early): - /x (header -, whole 300ms)",
        "10:00:06 a bad (status): 500 POST /y (header 1.25s, whole 1.25s)",
    ]


@pytest.mark.parametrize(("options", "said"), [(["--state", "x", "access.log"], "--follow"), (["--follow", "."], "a folder")])
def test_wrong_usage(options: list[str], said: str) -> None:
    """A state without --follow, and a folder, are one line and exit code 2."""
    result = CliRunner().invoke(command, options)

    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_state_that_another_one_holds(tmp_path: Path) -> None:
    """Two processes can't share a state directory: the second says so, with exit code 2."""
    with FollowState(tmp_path):
        result = CliRunner().invoke(command, ["--follow", "--state", str(tmp_path), str(tmp_path / "access.log")])

    assert result.exit_code == 2
    assert "another `parse --follow` holds it" in result.stderr
