"""`tailhealth top` where no terminal is: one picture, and what it says of wrong use."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailhealth.cli import main
from tailhealth.cli.top import command
from tests.cli.minute import NODES, line

SAMPLE = Path(__file__).parent.parent.parent / "samples" / "a-wedged-node"


def run(*arguments: str, **environment: str) -> Result:
    """Run `tailhealth top` without a terminal."""
    return CliRunner(env={"TZ": "UTC", "COLUMNS": "80", **environment}).invoke(command, arguments, catch_exceptions=False)


def test_one_picture_for_a_pipe(log: Path) -> None:
    """--once prints plain text."""
    done = run("--once", str(log))
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert "would be out" in done.stdout
    assert "q quit" not in done.stdout
    assert "▅" in done.stdout or "▄" in done.stdout


def test_a_terminal_without_unicode(log: Path) -> None:
    """Where only ASCII is known there are no blocks, what was cut off ends in `?`, and the rest is as wide as ever."""
    done = CliRunner(charset="ascii", env={"COLUMNS": "80"}).invoke(main, ["top", "--once", str(log)], catch_exceptions=False)

    assert done.exit_code == 0
    assert done.stdout.isascii()
    assert "would be out" in done.stdout
    assert done.stdout.count("?\n") == run("--once", str(log)).stdout.count("…\n") > 0


def test_one_picture_of_history() -> None:
    """--once with --speed goes to the end at once."""
    done = run("--once", "--speed", "1", str(SAMPLE / "access.jsonl"))
    assert done.exit_code == 0
    assert "recovered: it answers well on probation" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["LOG"], 2, "needs a terminal"),
        ([], 2, "name a LOG"),
        (["--attach", "LOG"], 2, "leave LOG and --speed out"),
        (["--speed", "2"], 2, "--speed plays a log"),
        (["--speed", "2", "--once", "missing.log"], 1, "there is no such file"),
        (["--attach", "--once"], 1, "no controller runs here"),
    ],
)
def test_wrong_use_is_told_in_one_line(log: Path, tmp_path: Path, arguments: list[str], code: int, told: str) -> None:
    """Usage errors end with 2, work that fails with 1, each with one line that says what to do."""
    done = run(*(str(log) if one == "LOG" else one for one in arguments), STATE_DIRECTORY=str(tmp_path / "none"))
    assert done.exit_code == code
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_an_old_log_says_how_to_play_it(tmp_path: Path) -> None:
    """Where nothing was written lately the screen names the way to see it."""
    path = tmp_path / "old.log"
    path.write_bytes(line(86_400, NODES[0]))
    assert "--speed 60 plays" in run("--once", str(path)).stdout.replace("\n", " ")
