"""Logs of the past: what is read, and in which order."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.logs.history import Block, open_history
from tailhealth.logs.stream import LogError, log_error
from tests.logs.timed import line, numbers, time_of, uris

Pack = Callable[[bytes], bytes]
CASES = Path(__file__).parents[1] / "cases"


def read(*paths: Path | str, stdin: bytes = b"") -> list[Block]:
    """Read logs of the past to their end."""
    return list(open_history([str(path) for path in paths], time_of=time_of, stdin=io.BytesIO(stdin)))


def groups(blocks: list[Block]) -> Iterator[list[Block]]:
    """Blocks that belong together."""
    group: list[Block] = []
    for block in blocks:
        group.append(block)
        if not block.together:
            yield group
            group = []
    assert not group


@pytest.mark.parametrize("folder", ["101-replay-rolled-set.d", "101-replay-rolled-set.d2"])
def test_case_101_a_rolled_set_is_read_in_order_of_its_records(folder: str) -> None:
    """Names sort rolled files wrongly somewhere; record times don't, and a roll that lies there twice counts once."""
    expected = json.loads((CASES / "101-replay-rolled-set.expect.json").read_bytes())["order"]

    assert uris(read(CASES / folder)) == expected


def test_case_101_files_named_one_by_one_are_put_in_order_too() -> None:
    """A shell pattern gives names in text order; what is read is the same as of the folder."""
    files = sorted((CASES / "101-replay-rolled-set.d").iterdir(), reverse=True)

    assert numbers(read(*files)) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_case_41_complete_members_of_a_live_gzip_log_are_read_and_the_cut_is_noted() -> None:
    """Nginx appends gzip members to a live file; one that is still being written is left out and noted."""
    history = open_history([str(CASES / "41-nginx-gzip-live-log.log.gz")], time_of=time_of)

    assert len(numbers(history)) == 7
    assert [note.rpartition("/")[2].split(";")[0] for note in history.notes] == [
        "41-nginx-gzip-live-log.log.gz: cut off: the last gzip member is not complete"
    ]


def test_case_41_a_truncated_archive_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Whole lines before the cut count, the torn one does not, and the cut is noted with its place."""
    lines = [line(float(number), number, 100) for number in range(2000)]
    packed = gzip.compress(b"".join(lines))
    (tmp_path / "access.log.gz").write_bytes(packed[: len(packed) // 2])
    history = open_history([str(tmp_path / "access.log.gz")], time_of=time_of)
    found = numbers(history)

    assert found == list(range(len(found)))
    assert len(found) > 500
    [note] = history.notes
    assert note.endswith(f"read up to byte {100 * len(found)} of its content")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress])
def test_case_89_a_last_line_without_newline_counts(tmp_path: Path, pack: Pack) -> None:
    """A finished file may end without a newline, compressed or not; names play no part in telling which."""
    (tmp_path / "some.file").write_bytes(pack(line(1.0, 1) + line(2.0, 2)[:-1]))

    assert numbers(read(tmp_path / "some.file")) == [1, 2]
    assert numbers(read("-", stdin=pack(line(1.0, 1) + line(2.0, 2)[:-1]))) == [1, 2]


def test_blocks_are_whole_lines_at_their_offsets(tmp_path: Path) -> None:
    """Every block begins at a line start and says where it stands in which file."""
    content = b"".join(line(float(number), number, 997) for number in range(2000))
    (tmp_path / "a.log").write_bytes(content)
    blocks = read(tmp_path / "a.log")

    assert len(blocks) > 3
    assert all(content[block.offset :].startswith(block.data) and block.data.endswith(b"\n") for block in blocks)
    assert b"".join(block.data for block in blocks) == content
    assert {(block.file, block.path, block.log) for block in blocks} == {(0, str(tmp_path / "a.log"), str(tmp_path / "a.log"))}


def test_files_that_follow_each_other_are_not_cut(tmp_path: Path) -> None:
    """Where one file ends before the next begins, blocks pass whole and alone."""
    for name, first in (("a.log", 1000), ("b.log", 0)):
        (tmp_path / name).write_bytes(b"".join(line(float(first + number), first + number, 900) for number in range(1000)))
    blocks = read(tmp_path / "a.log", tmp_path / "b.log")

    half = len(blocks) // 2
    assert half > 3
    assert [block.file for block in blocks] == [1] * half + [0] * half
    assert not any(block.together for block in blocks)
    assert numbers(blocks) == list(range(2000))


@given(
    st.lists(st.lists(st.floats(0, 100).map(lambda at: round(at, 1)), max_size=300), min_size=1, max_size=4),
    st.integers(30, 3000),
)
def test_several_files_are_merged_in_groups_of_time(files: list[list[float]], size: int) -> None:
    """No line comes in a later group than a line of another file with a later time, and no line is lost."""
    with TemporaryDirectory() as folder:
        for index, times in enumerate(files):
            lines = b"".join(line(at, 1000 * index + number, size) for number, at in enumerate(sorted(times)))
            (Path(folder) / f"{index}.log").write_bytes(lines)
        blocks = read(*sorted(Path(folder).iterdir()))
    latest = [-1.0] * len(files)
    for group in groups(blocks):
        held = {block.file: [time_of(text) or 0.0 for text in block.data.splitlines()] for block in group}
        assert len(held) == len(group)
        for file, times in held.items():
            others = [at for other, at in enumerate(latest) if other != file]
            assert min(times) >= max(others, default=-1.0)
        for file, times in held.items():
            latest[file] = max(latest[file], *times)

    assert sorted(numbers(blocks)) == [
        1000 * index + number for index, times in enumerate(files) for number in range(len(times))
    ]


def test_copies_of_a_generation_are_read_once_and_noted(tmp_path: Path) -> None:
    """A copy, a compressed copy and a beginning of the same file are one; a file that only begins alike is another."""
    content = b"".join(line(float(number), number) for number in range(100))
    (tmp_path / "access.log").write_bytes(content)
    (tmp_path / "access.log.1").write_bytes(content)
    (tmp_path / "access.log.2.gz").write_bytes(gzip.compress(content))
    (tmp_path / "access.log.3").write_bytes(content[: len(content) // 2])
    (tmp_path / "access.log.4").write_bytes(line(0.0, 0) + line(500.0, 500))
    history = open_history([str(tmp_path)], time_of=time_of)

    assert sorted(numbers(history)) == [0, *range(100), 500]
    assert len([note for note in history.notes if "left out" in note]) == 3


def test_a_rolled_file_names_its_log(tmp_path: Path) -> None:
    """Generations of one log can be read by one reader."""
    for number, name in enumerate(("access.log.1", "access.log", "other.log")):
        (tmp_path / name).write_bytes(line(float(number), number))

    assert [(Path(block.log).name, block.file) for block in read(tmp_path)] == [
        ("access.log", 0),
        ("access.log", 1),
        ("other.log", 2),
    ]


def test_holes_and_lines_that_are_too_long_are_left_out(tmp_path: Path) -> None:
    """As in a live log (cases 85 and 91)."""
    (tmp_path / "a.log").write_bytes(bytes(300_000) + line(1.0, 1) + line(2.0, 2, 5000) + line(3.0, 3))
    history = open_history([str(tmp_path / "a.log")], time_of=time_of, max_line=4999)

    assert [(block.offset, numbers([block])) for block in history] == [(300_000, [1]), (305_000 + len(line(1.0, 1)), [3])]
    assert history.oversized == 1


def test_progress_counts_bytes_on_disk_up_to_all_of_them(tmp_path: Path) -> None:
    """Compressed files count with their packed bytes; left-out copies don't count."""
    content = b"".join(line(float(number), number, 1000) for number in range(1000))
    (tmp_path / "a.log").write_bytes(content)
    (tmp_path / "a.log.1").write_bytes(content)
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(line(5000.0, 5000) + content))
    seen: list[tuple[int, int | None]] = []
    total = len(content) + (tmp_path / "b.log.gz").stat().st_size
    history = open_history([str(tmp_path)], time_of=time_of, progress=lambda done, of: seen.append((done, of)))
    list(history)

    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert {of for _, of in seen} == {total}


def test_a_pipe_has_no_known_end() -> None:
    """Of standard input only what was read is told."""
    content = line(1.0, 1, 1000) * 300
    seen: list[tuple[int, int | None]] = []
    list(open_history(["-"], time_of=time_of, stdin=io.BytesIO(content), progress=lambda done, of: seen.append((done, of))))
    assert seen[-1] == (len(content), None)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (Path, "there is no such file; check the path"),
        (lambda path: path.mkdir(), "there is no file in this folder"),
        (lambda path: path.write_bytes(b"\xfd7zXZ\0..."), "unpack it first with xz -d"),
        (lambda path: path.write_bytes(b"BZh91AY&SY"), "unpack it first with bzip2 -d"),
    ],
)
def test_what_can_not_be_read_is_one_clear_error(tmp_path: Path, make: Callable[[Path], object], why: str) -> None:
    """The error names the path, what is wrong and what to do, before anything is read."""
    path = tmp_path / "access.log"
    make(path)

    with pytest.raises(LogError) as caught:
        open_history([str(path)], time_of=time_of)
    assert str(caught.value).startswith(f"{path}: ")
    assert why in str(caught.value)


def test_an_unreadable_file_is_one_clear_error() -> None:
    """Whatever the system says about it is put into words with a remedy."""
    error = log_error("access.log", PermissionError(errno.EACCES, "Permission denied"))

    assert str(error).startswith("access.log: this user may not read it; let this user read it (Caddy writes its logs 0600")
    assert "can't be read (Input/output error)" in str(log_error("access.log", OSError(errno.EIO, "Input/output error")))


def test_an_empty_file_is_no_block(tmp_path: Path) -> None:
    """Nothing to read is nothing wrong."""
    (tmp_path / "a.log").touch()

    assert read(tmp_path / "a.log") == []
    assert read("-") == []


def test_a_named_pipe_can_be_read_once(tmp_path: Path) -> None:
    """As with `<(zcat ...)` of a shell: it is looked into and read without being opened twice."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = b"".join(line(float(number), number, 100) for number in range(5000))
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()

    assert numbers(read(path)) == list(range(5000))
    writer.join()


@pytest.mark.parametrize(
    ("case", "count"),
    [("71-line-endings-and-noise.jsonl", 2), ("85-copytruncate-nul-prefix.jsonl", 2), ("91-line-longer-than-64k.jsonl", 3)],
)
def test_the_bytes_of_the_field_come_through(case: str, count: int) -> None:
    """Holes, long lines, a mark of byte order: what is a record is handed on."""
    assert sum(block.data.count(b'"msg":"handled request"') for block in read(CASES / case)) == count
