"""`tailhealth replay`: comparing policies and writing the report."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner, Result

from tailhealth.cli.replay import command

SAMPLE = Path(__file__).resolve().parents[2] / "samples/a-wedged-node"
LOG, CONFIG = str(SAMPLE / "access.jsonl"), str(SAMPLE / "tailhealth.toml")
TEN_SECONDS = '[bad]\nslower_than = "10s"\n[guard]\ncommon_cause = false\n'


def replay(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(command, list(arguments), catch_exceptions=False)


def records(result: Result) -> list[dict[str, Any]]:
    """Read what it printed as JSON."""
    return [orjson.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def other(tmp_path: Path) -> str:
    """Another policy."""
    path = tmp_path / "other.toml"
    path.write_text(TEN_SECONDS)
    return str(path)


def test_the_terminal_says_how_many_were_left() -> None:
    """Downtime stands in the table, the worst moment below."""
    result = replay("-c", CONFIG, LOG)

    assert "7 min 51 s" in result.stdout
    assert "Never fewer than 3 of 4 serving (first at " in result.stdout


def test_compare_shows_both_policies(other: str) -> None:
    """A threshold of 10 s takes healthy machines out; the table says what it costs by the first policy's yardstick."""
    result = replay("-c", CONFIG, "--compare", other, LOG)
    rows = [line.split() for line in result.stdout.splitlines()]

    assert result.exit_code == 0
    assert ["upstreams", "ejected", "1", "4", "+3"] in rows
    assert ["least", "serving", "3", "of", "4", "2", "of", "4", "-1"] in rows
    (lost,) = [row for row in rows if row[:4] == ["good", "ones", "lost,", "by"]]
    assert int(lost[-2]) > 10 * int(lost[-3])


def test_compare_for_scripts(other: str) -> None:
    """Decisions of both in one order of time, a summary for each, then the comparison."""
    found = records(replay("-c", CONFIG, "--compare", other, "--json", LOG))
    decisions, (first, second, last) = found[:-3], found[-3:]
    alone = records(replay("-c", CONFIG, "--json", LOG))

    assert [one["at"] for one in decisions] == sorted(one["at"] for one in decisions)
    assert [
        {key: value for key, value in one.items() if key != "policy"} for one in decisions if one["policy"] == "A"
    ] == alone[:-1]
    assert (first["policy"], second["policy"]) == ("A", "B")
    assert first["summary"] == alone[-1]["summary"]
    assert last["comparison"]["policies"]["B"]["ejections"] == sum(
        one["policy"] == "B" and one["action"] == "eject" for one in decisions
    )


def test_a_policy_compared_with_itself_differs_in_nothing() -> None:
    """Every difference is 0, and each decision stands once."""
    (*_, last) = records(replay("-c", CONFIG, "--compare", CONFIG, "--json", LOG))
    text = replay("-c", CONFIG, "--compare", CONFIG, LOG).stdout

    assert set(last["comparison"]["difference"].values()) == {0}
    assert text.count("both 2026-") == 9


def test_another_way_of_reading_lines_is_said(tmp_path: Path) -> None:
    """Lines are read once, as the first policy says."""
    other = tmp_path / "other.toml"
    other.write_text('[[log]]\npath = "x"\nfields = { upstream = "node" }\n')

    assert "the [[log]] of" in replay("-c", CONFIG, "--compare", str(other), LOG).stderr


def test_wrong_other_policy(tmp_path: Path) -> None:
    """Its errors are named like those of the first."""
    result = replay("--compare", str(tmp_path / "none.toml"), LOG)

    assert result.exit_code == 2
    assert "none.toml" in result.stderr


def test_the_report_is_private_and_replaces_an_old_one(tmp_path: Path) -> None:
    """Mode 0600 whatever the umask and whatever stood there, and nothing else is left behind."""
    page = tmp_path / "page.html"
    page.write_text("old")
    page.chmod(0o644)
    before = os.umask(0)
    try:
        result = replay("-c", CONFIG, "--report", str(page), LOG)
    finally:
        os.umask(before)

    assert result.exit_code == 0
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert page.read_text().startswith("<!doctype html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_report_changes_no_decision(tmp_path: Path) -> None:
    """With a report the JSON output is byte for byte the same."""
    with_report = replay("-c", CONFIG, "--json", "--report", str(tmp_path / "page.html"), LOG)

    assert with_report.stdout == replay("-c", CONFIG, "--json", LOG).stdout


def test_without_plotly_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named, before anything is read."""
    for name in [one for one in sys.modules if one.partition(".")[0] == "plotly"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "plotly", None)
    result = replay("--report", str(tmp_path / "page.html"), LOG)

    assert result.exit_code == 2
    assert result.stderr == "tailhealth: a report needs plotly, which is not installed: pip install 'tailhealth[report]'\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("target", "part"), [("none/page.html", "there is no such directory"), ("", "is no file"), (os.devnull, "is no file")]
)
def test_a_place_where_no_page_can_be(tmp_path: Path, target: str, part: str) -> None:
    """A folder, a device, a path without its folder: said in one line before anything is read."""
    result = replay("--report", str(tmp_path / target), LOG)

    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_empty_log_makes_no_page(tmp_path: Path) -> None:
    """Without lines there is nothing to show: exit code 1."""
    (tmp_path / "empty.log").touch()
    result = replay("--report", str(tmp_path / "page.html"), str(tmp_path / "empty.log"))

    assert result.exit_code == 1
    assert not (tmp_path / "page.html").exists()


def test_compare_and_report_are_two_questions(tmp_path: Path, other: str) -> None:
    """Both at once is refused with the remedy."""
    result = replay("--compare", other, "--report", str(tmp_path / "page.html"), LOG)

    assert result.exit_code == 2
    assert "one after the other" in result.stderr
