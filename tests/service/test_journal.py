"""The journal is private, rotates, survives a full disk and a torn line, and reads back as what the engine was told."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import (
    Action,
    Attempt,
    Blind,
    Carried,
    Command,
    Counts,
    Decision,
    Ejection,
    End,
    Evidence,
    Idle,
    InFlight,
    Input,
    Paused,
    Pool,
    PoolMember,
    Pools,
    Reason,
    Source,
    Started,
    Stepped,
    Verb,
)
from tailhealth.service.journal import Journal, JournalError, Reading, rolled

INPUTS: list[Input] = [
    Started(
        1795974366.211,
        (Carried("p", "a:1", Ejection(1.5, None, 2, Source.OPERATOR, Reason.OPERATOR, "why"), strikes=2),),
        (Paused("p", 9.0),),
    ),
    Pools(1.0, (Pool("p", (PoolMember("a:1", names=("b:1",), weight=3, held_down=True),), hosts=("*.test",), sticky=True),)),
    InFlight(2.0, {"a:1": 3}, "1.79e+09"),
    InFlight(3.0, None, ""),
    Blind(4.0, "/var/log/access.log", "no upstream field", "p"),
    Blind(5.0, "/var/log/access.log", None),
    Stepped(6.0, -7.25),
    Command(7.0, Verb.EJECT, "a:1", None, 30.0, "it smells \u2028 <b>", force=True),
    Command(8.0, Verb.READMIT, "a:1", "p", by_config=True),
]
DECISION = Decision(
    9.0, "p", "a:1", Action.EJECT, Reason.RATIO, Source.POLICY, True, 39.1, 0,
    Evidence(8, 6, {"abandoned": 5, "status": 1}, Counts(24, 0), 3.1e-5),
)  # fmt: skip


def attempt() -> Attempt:
    """Make an attempt with all that must never be written."""
    return Attempt(
        1.0, "a:1", End.ANSWERED, 0.5, 200, 0.1, True, 0.5, uri="/x?token=secret", client="192.0.2.1", client_port="4"
    )


def test_inputs_come_back_in_order(tmp_path: Path) -> None:
    """Every input that is recorded is read back equal, and the end of the run as an idle tick."""
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        for value in INPUTS:
            journal.input(value)
            journal.decision(DECISION)
        journal.note("apply", 10.0, answer="PATCH 200", seconds=0.01)
        journal.stopped(11.0)
    reading = Reading(path)
    assert list(reading.inputs()) == [*INPUTS, Idle(11.0)]
    assert list(reading.decisions()) == [DECISION] * len(INPUTS)
    assert reading.unreadable == 0
    assert {(record["v"], record["type"]) for record in reading.records()} >= {(1, "started"), (1, "apply"), (1, "decision")}


@given(
    st.lists(
        st.builds(InFlight, st.floats(0, 2e9), st.none() | st.dictionaries(st.text(max_size=5), st.integers(0, 99)), st.text()),
        max_size=10,
    )
)
def test_whatever_is_counted_comes_back(tmp_path_factory: pytest.TempPathFactory, samples: list[InFlight]) -> None:
    """Times and counts are exact."""
    path = tmp_path_factory.mktemp("j") / "journal.jsonl"
    with Journal(path) as journal:
        for value in samples:
            journal.input(value)
    assert list(Reading(path).inputs()) == samples


def test_attempts_and_ticks_are_not_written(tmp_path: Path) -> None:
    """Nothing of a client reaches the journal."""
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.input(attempt())
        journal.input(Idle(1.0))
    assert path.read_bytes() == b""


def test_it_is_private(tmp_path: Path) -> None:
    """Only its user may read it, the older files too."""
    path = tmp_path / "journal.jsonl"
    with Journal(path, max_bytes=1) as journal:
        journal.stopped(1.0)
        journal.stopped(2.0)
    assert path.stat().st_mode & 0o777 == 0o600
    assert rolled(path, 1).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("keep", [0, 1, 3])
def test_rotation_by_size(tmp_path: Path, keep: int) -> None:
    """A file never grows beyond its size by a second record, `keep` older ones stay, and all read as one."""
    path = tmp_path / "journal.jsonl"
    (tmp_path / "journal.jsonl.bak").write_text("no part of it")
    size = len(b'{"v":1,"type":"stopped","at":1.0}\n')
    with Journal(path, max_bytes=2 * size, keep=keep) as journal:
        for number in range(9):
            journal.stopped(float(number))
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == ["journal.jsonl", *(f"journal.jsonl.{number}" for number in range(1, keep + 1)), "journal.jsonl.bak"]
    assert path.stat().st_size == size
    times = [value.at for value in Reading(path).inputs() if isinstance(value, Idle)]
    assert times == [float(number) for number in range(8 - 2 * keep, 9)]


def test_it_goes_on_after_a_restart_and_a_torn_line(tmp_path: Path) -> None:
    """A line that a crash cut short costs only itself."""
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.stopped(1.0)
    with path.open("ab") as file:
        file.write(b'{"v":1,"type":"stop')
    with Journal(path) as journal:
        journal.stopped(2.0)
    reading = Reading(path)
    assert list(reading.inputs()) == [Idle(1.0), Idle(2.0)]
    assert reading.unreadable == 1


@pytest.mark.parametrize(
    "line", [b"[]", b"nonsense", b'{"type":"stopped","at":1}', b'{"v":1}', b'{"v":1,"type":"stopped"}', b"\xff"]
)
def test_lines_that_are_no_records_are_counted(tmp_path: Path, line: bytes) -> None:
    """They are passed over."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line + b'\n\n{"v":1,"type":"stopped","at":5.0}\n')
    reading = Reading(path)
    assert list(reading.inputs()) == [Idle(5.0)]
    assert reading.unreadable == 1


def test_a_newer_journal_is_refused(tmp_path: Path) -> None:
    """It may mean something else."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(orjson.dumps({"v": 2, "type": "stopped", "at": 1.0}))
    with pytest.raises(JournalError, match="version 2 is of a newer tailhealth"):
        list(Reading(path).inputs())


def test_a_journal_that_is_missing_is_named(tmp_path: Path) -> None:
    """The remedy is in the error, for reading and for writing."""
    with pytest.raises(JournalError, match=r"nowhere\.jsonl: No such file"):
        list(Reading(tmp_path / "nowhere.jsonl").inputs())
    with pytest.raises(JournalError, match="directory must be writable"):
        Journal(tmp_path / "missing" / "journal.jsonl")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full here")  # noqa: PTH110 - a decorator's expression
def test_a_full_disk_is_a_state_and_no_stop() -> None:
    """Records are lost and counted, and nothing is raised."""
    with Journal(Path("/dev/full")) as journal:
        journal.stopped(1.0)
        journal.stopped(2.0)
        assert journal.lost == 2
        assert "No space left on device: 2 records could not be written" in journal.problem


def test_recovery_ends_the_problem(tmp_path: Path) -> None:
    """A write that succeeds again clears it; what was lost stays counted."""
    path = tmp_path / "journal.jsonl"
    with Journal(path, max_bytes=1, keep=1) as journal:
        journal.stopped(1.0)
        rolled(path, 1).mkdir()
        journal.stopped(2.0)
        assert journal.lost == 1
        rolled(path, 1).rmdir()
        journal.stopped(3.0)
        assert journal.problem == ""
    assert list(Reading(path).inputs()) == [Idle(1.0), Idle(3.0)]
