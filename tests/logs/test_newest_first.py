"""Exports that begin with the newest line."""

from __future__ import annotations

import gzip
import io
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.logs.history import open_history
from tailhealth.logs.lines import Piece
from tailhealth.logs.newest_first import is_newest_first, oldest_line_first
from tests.logs.timed import line, numbers, time_of

CONTENT = b"".join(line(float(number), number, 500) for number in reversed(range(3000)))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("piped", [False, True])
def test_it_is_turned_round(tmp_path: Path, *, packed: bool, piped: bool) -> None:
    """Lines come in order of their times, each with its own place in the export, from a file or from a pipe."""
    data = gzip.compress(CONTENT) if packed else CONTENT
    (tmp_path / "export.json").write_bytes(data)
    path = "-" if piped else str(tmp_path / "export.json")
    blocks = list(open_history([path], time_of=time_of, stdin=io.BytesIO(data)))

    assert numbers(blocks) == list(range(3000))
    assert all(CONTENT.startswith(block.data, block.offset) for block in blocks)


def test_it_is_merged_with_other_logs(tmp_path: Path) -> None:
    """Its first time is that of its last line."""
    (tmp_path / "a.log").write_bytes(line(-1.0, 9000) + line(1e6, 9001))
    (tmp_path / "export.json").write_bytes(CONTENT)
    blocks = open_history([str(tmp_path / "a.log"), str(tmp_path / "export.json")], time_of=time_of)

    assert sorted(numbers(blocks)) == [*range(3000), 9000, 9001]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([3, 2, 1], True),
        ([1, 2, 3], False),
        ([1], False),
        ([], False),
        ([2, 2], False),
        ([5, 4, 4.5, 3], True),
        ([1, 5, 4, 3], False),
    ],
)
def test_direction_is_told_by_most_lines(times: list[float], expected: bool) -> None:
    """A line out of order makes no export of a log, nor the other way round."""
    data = b"".join(line(at) for at in times)

    assert is_newest_first(Piece(0, data), time_of) is expected


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 20)), max_size=60), st.integers(1, 30), st.sampled_from([1, 300, 1_000, 10**6])
)
def test_any_chunk_size_gives_the_same_order(times: list[int | None], cut: int, chunk: int) -> None:
    """Sorted in memory or over many temporary files, the order is by time.

    Of equal times the later line is the older one; a line without a time goes with the one before it.
    """
    lines = [b"untimed %d\n" % number if at is None else line(float(at), number) for number, at in enumerate(times)]
    pieces = [Piece(sum(map(len, lines[:start])), b"".join(lines[start : start + cut])) for start in range(0, len(lines), cut)]
    latest = float("inf")
    keys = []
    for number, at in enumerate(times):
        latest = latest if at is None else float(at)
        keys.append((latest, -number))
    expected = [lines[-number] for _, number in sorted(keys)]

    assert [piece.data for piece in oldest_line_first(pieces, time_of, chunk)] == expected


def test_memory_stays_bounded() -> None:
    """More runs than may be open at once are merged on the way; nothing is lost."""
    order = list(range(1000))
    random.Random(5).shuffle(order)
    pieces = [Piece(100 * place, line(float(at), at, 100)) for place, at in enumerate(order)]
    found = list(oldest_line_first(pieces, time_of, chunk=300))

    assert [time_of(piece.data) for piece in found] == [float(at) for at in range(1000)]
    assert all(order[piece.offset // 100] == time_of(piece.data) for piece in found)
