"""Every folder under `samples/` is a golden test, and the incidents end as they should have ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.samples import MAKERS, RESERVED, SAMPLES, WEDGED, WEDGES, Golden, goldens, make

GOLDENS = goldens()
FOLDERS = sorted(path for path in SAMPLES.iterdir() if path.is_dir())


def records(text: str) -> list[dict[str, Any]]:
    """Read what replay printed; the last digits of `p` are those of the system's mathematics and are left out."""
    found = [orjson.loads(line) for line in text.splitlines()]
    for one in found:
        p = one.get("evidence", {}).get("p")
        if p is not None:
            one["evidence"]["p"] = float(f"{p:.9g}")
    return found


def decisions_of(name: str) -> list[list[dict[str, Any]]]:
    """Return the decisions of each committed replay of a sample, without the summaries."""
    paths = [golden.path for golden in GOLDENS if golden.folder.name == name]
    assert paths
    return [[orjson.loads(line) for line in path.read_bytes().splitlines()[:-1]] for path in paths]


def lines_of(name: str) -> list[dict[str, Any]]:
    """Return the log of a sample."""
    return [orjson.loads(line) for line in (SAMPLES / name / "access.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda one: f"{one.folder.name}/{one.path.stem}")
def test_replay_decides_what_is_written_down(golden: Golden) -> None:
    """`tailhealth replay --json` prints exactly the committed decisions (`python -m tests.samples --write` renews them)."""
    assert records(golden.replay()) == records(golden.path.read_text())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda one: one.name)
def test_a_sample_is_whole(folder: Path) -> None:
    """A sample explains itself and holds a log, a configuration, and no decisions that nothing makes."""
    assert {"README.md", "access.jsonl", "tailhealth.toml", "decisions.jsonl"} <= {path.name for path in folder.iterdir()}
    assert set(folder.glob("decisions*.jsonl")) == {golden.path for golden in GOLDENS if golden.folder == folder}


@pytest.mark.parametrize("name", MAKERS)
def test_the_generator_makes_the_committed_logs(name: str, tmp_path: Path) -> None:
    """Log and journal are made from the incident's figures, always the same."""
    make(name, tmp_path)

    for made in tmp_path.iterdir():
        assert made.read_bytes() == (SAMPLES / name / made.name).read_bytes()


def test_a_only_the_wedged_node_leaves() -> None:
    """Incident A: exactly the wedged node is ejected, within four minutes, and it is well again at the end."""
    for decisions in decisions_of("a-wedged-node"):
        assert {one["upstream"] for one in decisions} == {WEDGED}
        assert decisions[0]["action"] == "eject"
        assert WEDGES < decisions[0]["at"] <= WEDGES + 240.0
        assert (decisions[-1]["action"], decisions[-1]["reason"]) == ("recovered", "probation")


def test_a_requests_in_flight_find_it_sooner() -> None:
    """Incident A: with the polled requests in flight the wedge is seen before clients give up, hence earlier."""
    from_log, with_journal = decisions_of("a-wedged-node")

    assert with_journal[0]["at"] < from_log[0]["at"]
    assert with_journal[0]["evidence"]["kinds"]["stalled"] >= 1


def test_b_the_only_server_stays_and_the_reason_is_said_once() -> None:
    """Incident B: 12 failures and 90 s of refused connections eject nothing; each reason is said once."""
    for decisions in decisions_of("b-busy-is-not-stuck"):
        withheld = [one["reason"] for one in decisions if one["action"] == "withheld"]
        assert withheld
        assert len(withheld) == len(set(withheld))
        assert {one["action"] for one in decisions} == {"withheld", "recovered"}


def test_b_the_log_is_that_of_the_incident() -> None:
    """Incident B: a restart fails 12 requests and 90 s of connections; the watchdog that did it never waits long enough."""
    lines = lines_of("b-busy-is-not-stuck")
    refused = [line["ts"] for line in lines if line["status"] == 502]

    assert sum(line["status"] == 500 for line in lines) == 12
    assert 80.0 < max(refused) - min(refused) < 90.0
    assert {round(line["duration"]) for line in lines if line["status"] == 499} == {45}


def test_b2_busy_servers_are_left_alone() -> None:
    """Incident B2: two servers, 12 requests in flight each for an hour, and no decision at all."""
    assert decisions_of("b2-two-busy-servers") == [[], []]


def test_c_the_reserved_region_stays_protected_or_not() -> None:
    """Incident C: neither the reserved region nor any other is ejected, with the list and without it."""
    for decisions in decisions_of("c-blocklist-that-emptied-itself"):
        assert [one for one in decisions if one["action"] == "eject"] == []


def test_c_the_old_rule_would_have_fired() -> None:
    """Incident C: six failures of the reserved region within ten seconds, although three of four calls succeed."""
    lines = [line for line in lines_of("c-blocklist-that-emptied-itself") if line["upstream"] == RESERVED]
    failed = [line["ts"] for line in lines if line["status"] == 504]

    assert any(sixth - first <= 10.0 for first, sixth in zip(failed, failed[5:], strict=False))
    trouble = [line for line in lines if failed[3] <= line["ts"] <= failed[-3]]
    assert 0.2 <= sum(line["status"] == 504 for line in trouble) / len(trouble) <= 0.3
