"""What a follower delivers where the cases of the field say nothing."""

from __future__ import annotations

import gzip
import os

import pytest

from tailhealth.logs.following import Begin, Since, State
from tests.logs.timed import line, time_of
from tests.logs.watched import Log, numbers, state_of


def test_by_default_it_starts_at_the_end(log: Log) -> None:
    """What was there before is not delivered; a torn line that is completed later is."""
    log.write(1, 2)
    with log.path.open("ab") as file:
        file.write(line(3.0, 3)[:10])
    follower = log.follow()

    assert follower.poll() == []
    with log.path.open("ab") as file:
        file.write(line(3.0, 3)[10:] + line(4.0, 4))
    assert numbers(follower.poll()) == [3, 4]
    assert state_of(follower) is State.FOLLOWING


def test_a_log_that_appears_later_is_read_from_its_beginning(log: Log) -> None:
    """Nothing in it can be older than the start; until then the state is waiting."""
    follower = log.follow()

    assert follower.poll() == []
    assert follower.status == (State.WAITING, 1000.0, "there is no such file")
    log.write(1)
    assert numbers(follower.poll()) == [1]


def test_a_poll_reads_no_more_than_its_budget(log: Log) -> None:
    """A backlog is read in several polls, and each says whether there is more."""
    for _ in range(3):
        log.path.open("ab").close()
        with log.path.open("ab") as file:
            file.write(line(1.0, 1, 200_000))
    follower = log.follow(Begin(), budget=200_000)
    sizes: list[int] = []
    while not sizes or follower.more:
        sizes.append(sum(len(chunk.data) for chunk in follower.poll()))

    assert sum(sizes) == 600_000
    assert max(sizes) <= 400_000
    assert follower.behind == 0


def test_what_is_behind_is_counted(log: Log) -> None:
    """Bytes of the file that were not delivered yet, a torn line too."""
    log.write(1, 2)
    follower = log.follow(Begin())
    follower.poll()
    with log.path.open("ab") as file:
        file.write(b"torn")

    assert follower.behind == 4
    follower.poll()
    assert follower.behind == 4


def test_chunks_name_the_generation_not_the_path(log: Log) -> None:
    """The fingerprint of a generation stays when it is rolled away and compressed; the next one has another."""
    log.write(1)
    follower = log.follow(Begin())
    [first] = follower.poll()
    saved = follower.checkpoint()
    follower.close()
    log.write(2)
    log.path.with_name("access.log.1.gz").write_bytes(gzip.compress(log.path.read_bytes()))
    log.path.unlink()
    log.write(3)
    second, end, third = log.follow(checkpoint=saved).poll()

    assert numbers([first, second, third]) == [1, 2, 3]
    assert (second.file.fingerprint, second.offset) == (first.file.fingerprint, len(first.data))
    assert second.path.endswith("access.log.1.gz")
    assert (end.final, end.data) == (True, b"")
    assert third.file.fingerprint != first.file.fingerprint


def test_case_89_a_last_line_without_newline_is_held_until_its_file_is_finished(log: Log) -> None:
    """A quiet time alone gives up nothing: only when the file was replaced and quiet for the grace is the line complete."""
    with log.path.open("ab") as file:
        file.write(line(1.0, 1)[:-1])
    follower = log.follow(Begin())
    log.clock.now += 3600.0
    assert follower.poll() == []
    log.path.rename(log.path.with_name("access.log.1"))
    log.write(2)

    assert numbers(follower.poll()) == [2]
    log.clock.now += 29.9
    assert follower.poll() == []
    log.clock.now += 0.1
    [last] = follower.poll()
    assert (last.data, last.final) == (line(1.0, 1)[:-1], True)


def test_case_89_late_writes_begin_the_grace_anew(log: Log) -> None:
    """A proxy that goes on writing to the rolled file for long is read for as long."""
    log.write(1)
    follower = log.follow(Begin())
    follower.poll()
    rolled = log.path.with_name("access.log.1")
    log.path.rename(rolled)
    log.write(2)
    follower.poll()
    for number in (3, 4, 5):
        log.clock.now += 29.0
        log.write(number, to=rolled)
        assert numbers(follower.poll()) == [number]
    log.clock.now += 30.0
    assert [chunk.final for chunk in follower.poll()] == [True]


def test_late_writes_after_all_are_found_at_the_next_rotation(log: Log) -> None:
    """A generation that was finished and grew all the same is read on."""
    log.write(1)
    follower = log.follow(Begin())
    follower.poll()
    oldest = log.path.with_name("access.log.2")
    log.path.rename(oldest)
    log.write(2)
    follower.poll()
    log.clock.now += 31.0
    follower.poll()
    log.write(3, to=oldest)
    log.path.rename(log.path.with_name("access.log.1"))
    log.write(4)

    assert sorted(numbers(follower.poll())) == [3, 4]


def test_a_line_above_the_limit_is_dropped_and_counted(log: Log) -> None:
    """Up to the limit a line is delivered; the next byte is too much (case 91)."""
    with log.path.open("ab") as file:
        file.write(b"x" * 99_999 + b"\n" + b"y" * 100_000 + b"\n" + line(1.0, 1))
    follower = log.follow(Begin(), max_line=100_000)
    data = b"".join(chunk.data for chunk in follower.poll())

    assert data == b"x" * 99_999 + b"\n" + line(1.0, 1)
    assert follower.counts.oversized == 1


def test_case_85_a_hole_of_a_terabyte_is_passed_over_at_once(log: Log) -> None:
    """A writer that keeps its position after a truncation leaves a hole; the line behind it is whole."""
    log.path.touch()
    size = 1 << 40
    try:
        os.truncate(log.path, size)
    except OSError:
        size = 1 << 33
        os.truncate(log.path, size)
    log.write(1)
    follower = log.follow(Begin())
    chunks = follower.poll()

    assert numbers(chunks) == [1]
    assert chunks[0].offset == size
    assert follower.counts.holes == size
    assert follower.checkpoint().positions[0].offset == size + len(line(1.0, 1))


def test_a_log_moved_back_goes_on_where_it_was(log: Log) -> None:
    """An operator undoes a rotation: nothing comes twice."""
    rolled = log.path.with_name("access.log.1")
    log.write(1)
    follower = log.follow(Begin())
    follower.poll()
    log.path.rename(rolled)
    log.write(2)
    follower.poll()
    log.clock.now += 31.0
    follower.poll()
    log.path.unlink()
    rolled.rename(log.path)
    log.write(3)

    assert numbers(follower.poll()) == [3]


def test_an_old_archive_put_beside_the_log_is_not_taken_for_lines_that_were_missed(log: Log) -> None:
    """Only what was written since the last look can have been missed."""
    log.write(1)
    follower = log.follow(Begin())
    follower.poll()
    archive = log.path.with_name("access.log.7")
    log.write(99, to=archive)
    os.utime(archive, (1_600_000_000, 1_600_000_000))
    log.path.rename(log.path.with_name("access.log.1"))
    log.write(2)

    assert numbers(follower.poll()) == [2]


def test_rotating_often_leaves_few_files_open(log: Log) -> None:
    """However fast generations follow each other, the number of open files is bounded."""
    follower = log.follow(Begin())
    found = []
    for number in range(100):
        log.write(number)
        found += follower.poll()
        log.path.rename(log.path.with_name(f"access-2026-11-30T00-53-20.{number:03}.log"))
    log.write(100)
    found += follower.poll()

    assert numbers(found) == list(range(101))
    assert len(follower.checkpoint().positions) <= 34


@pytest.mark.parametrize(
    ("since", "expected"),
    [(0, [1, 2, 3, 4, 5, 6]), (2, [2, 3, 4, 5, 6]), (4, [4, 5, 6]), (6, [6]), (6.5, []), (3.5, [4, 5, 6])],
)
@pytest.mark.parametrize("packed", [False, True])
def test_it_can_start_at_a_time_in_this_file_or_in_those_before_it(
    log: Log, since: float, expected: list[int], *, packed: bool
) -> None:
    """The window that `run` wants to fill may reach back over rotations."""
    log.write(1, 2, to=log.path.with_name("access.log.2"))
    log.write(3, 4, to=log.path.with_name("access.log.1"))
    log.write(5, 6)
    if packed:
        for name in ("access.log.1", "access.log.2"):
            plain = log.path.with_name(name)
            plain.with_name(name + ".gz").write_bytes(gzip.compress(plain.read_bytes()))
            plain.unlink()
    follower = log.follow(Since(since, time_of))

    assert numbers(follower.poll()) == expected
    log.write(7)
    assert numbers(follower.poll()) == [7]
    assert follower.counts.gaps == 0


@pytest.mark.parametrize("times", [1, 3, 4])
@pytest.mark.parametrize("packed", [False, True])
def test_rotations_while_it_looks_around_change_nothing(log: Log, times: int, *, packed: bool) -> None:
    """The folder may change between any two of the follower's calls: it looks again, and nothing is skipped."""
    rolls = iter(range(100))

    def rotate() -> None:
        roll = next(rolls)
        rolled = log.path.with_name(f"access-2026-11-30T00-53-20.{roll:03}.log")
        log.path.rename(rolled)
        if packed:
            rolled.with_name(rolled.name + ".gz").write_bytes(gzip.compress(rolled.read_bytes()))
            rolled.unlink()
        log.write(roll + 2)

    log.write(1)
    follower = log.follow(Begin())
    found = numbers(follower.poll())
    rotate()
    rotate()
    log.disk.meanwhile = [rotate] * times
    for _ in range(5):
        log.clock.now += 1.0
        found += numbers(follower.poll())

    assert found == list(range(1, times + 4))
    assert follower.counts.gaps == 0


def test_late_copies_of_a_log_never_seen_with_lines_come_first(log: Log) -> None:
    """Lines copied away from a log that was empty at the last look are found although the folder changes meanwhile."""
    log.path.touch()
    log.path.with_name("access.log.9").symlink_to("nowhere")
    follower = log.follow(Begin())
    follower.poll()
    copy = log.path.with_name("access.log.1")
    log.write(1)
    copy.write_bytes(log.path.read_bytes())
    os.truncate(log.path, 0)
    log.write(2)

    def rename() -> None:
        copy.rename(log.path.with_name("access.log.2"))

    log.disk.meanwhile = [rename]

    assert numbers(follower.poll()) == [1, 2]
