"""The tails of the logs: whole lines only, from the end, and no exception whatever stands there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailhealth.config import parse
from tailhealth.core.model import Attempt
from tailhealth.service.checks import tails as module
from tailhealth.service.checks.tails import tails
from tests.logs.caddy_lines import line


def config(path: str) -> str:
    """A configuration with one log."""
    return f'[[log]]\npath = "{path}"\n'


def test_the_newest_lines(tmp_path: Path) -> None:
    """Only the last bytes are read, from the first line that begins in them; a line that is not ended is left for later."""
    lines = [line(number) for number in range(50)]
    path = tmp_path / "a.log"
    path.write_bytes(b"".join(lines) + b'{"level":')
    (facts,), events = tails(parse(config(str(path)).encode()), sum(map(len, lines[30:])) + 9)

    assert (facts.lines, facts.records, facts.skipped) == (19, 19, 0)
    assert len([one for one in events if isinstance(one, Attempt)]) == facts.attempts == 19
    assert facts.newest == max(one.ended for one in events)


def test_all_of_a_short_one(tmp_path: Path) -> None:
    """A file shorter than the tail is read from its first line."""
    path = tmp_path / "a.log"
    path.write_bytes(line(0) + line(1))

    assert tails(parse(config(str(path)).encode()))[0][0].records == 2


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """A missing file, a folder and a pattern without a match are told; standard input is left alone."""
    missing, folder = (tails(parse(config(str(path)).encode()))[0][0] for path in (tmp_path / "no.log", tmp_path))
    (pattern,), _ = tails(parse(config(f"{tmp_path}/*.log").encode()))

    assert (missing.missing, missing.unreadable) == (True, "")
    assert (folder.missing, bool(folder.unreadable)) == (False, True)
    assert pattern.missing
    assert tails(parse(config("-").encode())) == ((), [])


def test_a_pattern(tmp_path: Path) -> None:
    """Each file that it matches is a log, without rolled generations."""
    for name in ("a.log", "b.log", "a.log.1"):
        (tmp_path / name).write_bytes(line(0))

    found, _ = tails(parse(config(f"{tmp_path}/*.log*").encode()))

    assert [Path(one.path).name for one in found] == ["a.log", "b.log"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(data=st.binary(max_size=400), size=st.integers(0, 500))
def test_any_bytes(tmp_path: Path, data: bytes, size: int) -> None:
    """Whatever a file holds, its blocks are its last whole lines."""
    path = tmp_path / "a.log"
    path.write_bytes(data)
    with path.open("rb") as file:
        blocks = list(module._blocks(file, size))

    whole = b"".join(block for _, block in blocks)
    assert len(whole) <= size
    assert data[: data.rfind(b"\n") + 1].endswith(whole)
    assert not whole or whole.endswith(b"\n")
    assert all(data[offset : offset + len(block)] == block for offset, block in blocks)


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_any_size_of_blocks(tmp_path: Path, block: int) -> None:
    """How a file is cut into blocks changes nothing."""
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntwo\n\nthree\nfo")
    with path.open("rb") as file:
        read = b"".join(each for _, each in module._blocks(file, 1000, block))

    assert read == b"one\ntwo\n\nthree\n"
