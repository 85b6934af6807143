"""`tailhealth parse` from outside."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from tailhealth.cli.parse import command
from tests.case_reading import FOLDER, expected
from tests.logs.caddy_lines import ABSENT, BASE, line, roundtrip

if TYPE_CHECKING:
    from pathlib import Path


def parse(*arguments: str, data: bytes | None = None, code: int = 0) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run `parse --json`; return the attempts and the summary."""
    result = CliRunner().invoke(command, ["--json", *arguments], input=data)
    assert code == result.exit_code, result.output
    *attempts, last = map(json.loads, result.stdout.splitlines())
    return attempts, last["summary"]


def test_an_attempt_as_an_object() -> None:
    """An attempt has the keys of DESIGN section 9, without query string and without the client's address."""
    (one,), summary = parse("-", data=line(0))
    assert one == {
        "v": 1,
        "file": "-",
        "offset": 0,
        "line": 1,
        "method": "GET",
        "path": "/r/0",
        "upstream": "10.9.0.1:8080",
        "ended": BASE + 0.25,
        "duration": 0.0215,
        "header": 0.0184,
        "status": 200,
        "end": "answered",
        "outcome": "good",
        "kind": None,
    }
    counts = ("lines", "records", "attempts", "unattributed", "pool_events", "aborted", "duplicates", "excluded", "other")
    assert {*counts, "skipped", "hints", "notes"} == summary.keys()
    assert [summary[name] for name in counts] == [1, 1, 1, 0, 0, 0, 0, 0, 0]


def test_abandoned_early() -> None:
    """A client that gave up early is ignored, with what is known of its wait."""
    (one,), _ = parse("-", data=line(status=499, upstream_latency_ms=None, duration=0.3))
    assert tuple(one[name] for name in ("end", "outcome", "kind", "status", "header", "duration")) == (
        "abandoned",
        "ignored",
        "abandoned_early",
        None,
        None,
        0.3,
    )


def test_offsets_and_lines() -> None:
    """Offset and number of each line are those of the file, whatever stands between."""
    data = line(0) + b"\nnot json\n" + line(1) + roundtrip(2)[:50] + b"\n" + line(3)
    attempts, summary = parse("-", data=data)
    assert [(0, 1), (len(line(0)) + 10, 4), (data.rindex(b'{"level"'), 6)] == [(one["offset"], one["line"]) for one in attempts]
    assert (summary["lines"], summary["skipped"]) == (6, {"invalid_json": 1, "torn": 1})


def test_two_kinds_of_lines_count_once() -> None:
    """Case 60: round-trip and access lines of one request are one attempt, with the whole duration of the access line."""
    attempts, summary = parse(str(FOLDER / "60-caddy-roundtrip-debug-lines.jsonl"))
    wanted = expected(60)
    assert wanted["records"] == summary["records"]
    assert (summary["attempts"], summary["duplicates"]) == (4, 2)
    good = [one for one in attempts if one["outcome"] == "good"]
    assert [(one["upstream"], one["line"]) for one in good] == [("10.9.0.1:8080", 3), ("10.9.0.1:8080", 6)]
    assert [one["duration"] for one in good] == pytest.approx([0.0018, 0.0019])
    assert sum(one["outcome"] == "bad" and one["upstream"] == "10.9.0.9:8080" for one in attempts) == 2


def test_a_refused_attempt_is_shown_once(tmp_path: Path) -> None:
    """A refused connection that both kinds of lines tell of is one attempt, and one record."""
    log = tmp_path / "both.jsonl"
    refused = roundtrip(1, error="dial tcp 10.9.0.1:8080: connect: connection refused", status=ABSENT)
    log.write_bytes(refused + line(1, status=502, upstream_latency_ms=None))
    attempts, summary = parse(str(log))

    assert [(one["outcome"], one["kind"]) for one in attempts] == [("bad", "refused")]
    assert (summary["attempts"], summary["duplicates"]) == (1, 1)


def test_newest_first_export() -> None:
    """Case 80: an export that begins with the newest line is read in the order of time."""
    attempts, _ = parse(str(FOLDER / "80-loki-and-vector-exports.jsonl"))
    assert expected(80)["order"] == [one["path"] for one in attempts]
    assert sorted((one["offset"] for one in attempts), reverse=True) == [one["offset"] for one in attempts]


def test_rolled_set() -> None:
    """Case 101: a folder of rolled files is read in the order of time, each generation once."""
    for folder in ("101-replay-rolled-set.d", "101-replay-rolled-set.d2"):
        attempts, summary = parse(str(FOLDER / folder))
        assert expected(101)["order"] == [one["path"] for one in attempts]
        assert expected(101)["records"] == summary["records"]


def test_rules_of_the_configuration(tmp_path: Path) -> None:
    """Outcomes are those of the configuration, and fields are read where it says."""
    config = tmp_path / "tailhealth.toml"
    config.write_text(
        '[[log]]\npath = "-"\nfields = { upstream = "node" }\n'
        '[bad]\nslower_than = "10ms"\n[[bad.route]]\npath = "/r/1"\nignore = true\n'
    )
    data = line(0, upstream=ABSENT, node="10.9.0.2:80") + line(1, upstream=ABSENT, node="10.9.0.2:80")
    attempts, summary = parse("-", "-c", str(config), data=data)
    assert [(one["upstream"], one["kind"]) for one in attempts] == [("10.9.0.2:80", "slow"), ("10.9.0.2:80", "route")]
    assert summary["excluded"] == 1


def test_table() -> None:
    """Without --json, people see counts, outcomes by upstream, an example of what was skipped, and hints."""
    data = line(0) + line(1, status=502, upstream_latency_ms=None) + b"\x1b[2Jnot json\n" + line(2, upstream="{http.x}")
    result = CliRunner().invoke(command, ["-"], input=data)
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    for text in ("10.9.0.1:8080", "refused 1", "skipped: invalid json", "\\x1b[2Jnot json", "hint: a placeholder was logged"):
        assert text in result.output


def test_missing_log(tmp_path: Path) -> None:
    """A log that is not there is one clear line and exit code 2."""
    result = CliRunner().invoke(command, [str(tmp_path / "none.log")])
    assert result.exit_code == 2
    assert "none.log" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_empty_log(tmp_path: Path) -> None:
    """A log without lines is a failure that asks the right question."""
    empty = tmp_path / "empty.log"
    empty.touch()
    result = CliRunner().invoke(command, [str(empty)])
    assert result.exit_code == 1
    assert "no lines" in result.stderr


def test_line_above_the_cap() -> None:
    """A line above the cap is counted as a line and as skipped, and the numbers of the lines after it stay right."""
    attempts, summary = parse("-", data=line(0) + b"x" * (1 << 21) + b"\n" + line(1))
    assert [one["line"] for one in attempts] == [1, 3]
    assert (summary["lines"], summary["skipped"]) == (3, {"oversized": 1})
