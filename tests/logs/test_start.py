"""Finding where a time begins in a log."""

from __future__ import annotations

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.logs.disk import LocalDisk
from tailhealth.logs.start import line_start_before, tail_offset
from tests.logs.timed import line, time_of


class Counting:
    """Tells times, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, text: bytes) -> float | None:
        """The time of a line."""
        self.asked += 1
        return time_of(text)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A log of 10,000 lines of 300 bytes, one a second."""
    log = tmp_path_factory.mktemp("start") / "access.log"
    log.write_bytes(b"".join(line(float(number), number, 300) for number in range(10_000)))
    return str(log)


@pytest.mark.parametrize(("since", "index"), [(-1.0, 0), (0.0, 0), (0.5, 1), (4999.0, 4999), (4999.5, 5000), (9999.0, 9999)])
def test_it_begins_at_the_first_line_of_the_time(large: str, since: float, index: int) -> None:
    """A time on a line's own stamp includes the line; one just after it does not."""
    assert tail_offset(large, since, time_of) == 300 * index


def test_after_the_last_line_it_begins_at_the_end(tmp_path: Path) -> None:
    """If all lines are older, it begins at the end, or at a torn line there."""
    log = tmp_path / "access.log"
    log.write_bytes(line(1.0, 1) + b"torn")

    assert tail_offset(str(log), 2.0, time_of) == len(line(1.0, 1))


def test_few_lines_are_looked_at(large: str) -> None:
    """A large file is searched by halves."""
    times = Counting()

    assert tail_offset(large, 9_000.0, times) == 2_700_000
    assert times.asked < 200


def test_a_compressed_log_is_read_from_its_beginning(tmp_path: Path) -> None:
    """One can't look ahead in it."""
    log = tmp_path / "access.log.gz"
    log.write_bytes(gzip.compress(line(1.0, 1) + line(2.0, 2)))

    assert tail_offset(str(log), 2.0, time_of) == 0


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0, 5.0]), st.booleans(), st.integers(0, 30_000)), max_size=30),
    st.integers(0, 60),
)
def test_no_line_of_the_time_is_missed(steps: list[tuple[float, bool, int]], since: int) -> None:
    """Lines without a time and lines of any length in between: what is in order is found exactly."""
    at, content, expected = 0.0, b"", None
    for step, timed, size in steps:
        at += step
        if timed and at >= since and expected is None:
            expected = len(content)
        content += line(at, 1, size) if timed else b"x" * size + b"\n"
    with TemporaryDirectory() as folder:
        log = Path(folder) / "access.log"
        log.write_bytes(content)

        assert tail_offset(str(log), float(since), time_of) == (len(content) if expected is None else expected)


@pytest.mark.parametrize(
    ("content", "offset", "start"),
    [
        (b"", 0, 0),
        (b"one\n", 4, 4),
        (b"one\ntw", 6, 4),
        (b"one\ntw", 4, 4),
        (b"torn", 4, 0),
        (b"x" * 200_000, 200_000, 200_000),
    ],
)
def test_the_start_of_the_line_before(tmp_path: Path, content: bytes, offset: int, start: int) -> None:
    """A place after a newline is its own start; a line longer than allowed has none."""
    (tmp_path / "log").write_bytes(content)
    opened = LocalDisk().open(str(tmp_path / "log"))

    assert line_start_before(opened, offset, 80_000) == start
    opened.close()
