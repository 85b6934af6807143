"""Lines that no follower could get, and those that it finds elsewhere."""

from __future__ import annotations

import gzip
import os
import shutil

from tailhealth.logs.following import Begin, GapKind
from tests.logs.timed import line
from tests.logs.watched import Log, numbers


def test_a_log_emptied_without_a_copy_is_a_named_gap(log: Log) -> None:
    """Lines may have been lost between the last look and the truncation; the gap says after which place."""
    log.write(1, 2)
    follower = log.follow(Begin())
    [chunk] = follower.poll()
    os.truncate(log.path, 0)
    log.write(3)

    assert numbers(follower.poll()) == [3]
    [gap] = follower.gaps
    assert gap == (GapKind.TRUNCATED, str(log.path), chunk.file.fingerprint, len(chunk.data))
    assert (follower.counts.gaps, follower.counts.truncations) == (1, 1)


def test_a_copy_made_before_a_truncation_has_the_rest(log: Log) -> None:
    """Lines between the last look and the copy are read from the copy: no gap."""
    log.write(1)
    follower = log.follow(Begin())
    follower.poll()
    log.write(2)
    log.path.with_name("access.log.1").write_bytes(log.path.read_bytes())
    os.truncate(log.path, 0)
    log.write(3, 4, 5)

    assert numbers(follower.poll()) == [2, 3, 4, 5]
    assert follower.counts.gaps == 0


def test_a_generation_that_is_gone_after_a_restart_is_a_named_gap(log: Log) -> None:
    """What was written to it while nobody followed is lost, and that is said."""
    log.write(1)
    follower = log.follow(Begin())
    follower.poll()
    saved = follower.checkpoint()
    follower.close()
    log.path.unlink()
    log.write(2)
    follower = log.follow(checkpoint=saved)

    assert numbers(follower.poll()) == [2]
    assert [gap.kind for gap in follower.gaps] == [GapKind.GONE]


def test_a_damaged_archive_is_a_named_gap(log: Log) -> None:
    """A compressed generation is read as far as it goes; what its torn end holds is no line."""
    log.write(1)
    follower = log.follow(Begin())
    follower.poll()
    saved = follower.checkpoint()
    follower.close()
    log.write(*range(2, 2000))
    packed = gzip.compress(log.path.read_bytes())
    log.path.with_name("access.log.1.gz").write_bytes(packed[: len(packed) // 2])
    log.path.unlink()
    log.write(5000)
    follower = log.follow(checkpoint=saved)
    found = numbers(follower.poll())

    assert found[:-1] == list(range(2, 1 + len(found)))
    assert found[-1] == 5000
    assert [gap.kind for gap in follower.gaps] == [GapKind.BROKEN]


def test_a_file_that_begins_alike_is_not_taken_for_ours(log: Log) -> None:
    """The bytes before the position have to fit, in a compressed file too."""
    log.write(1, 2, 3)
    follower = log.follow(Begin())
    follower.poll()
    saved = follower.checkpoint()
    follower.close()
    log.path.with_name("access.log.1.gz").write_bytes(gzip.compress(line(1.0, 1) + line(7.0, 7) * 20))
    log.path.unlink()
    log.write(9)
    follower = log.follow(checkpoint=saved)

    assert numbers(follower.poll()) == [9]
    assert [gap.kind for gap in follower.gaps] == [GapKind.OTHER]


def test_generations_are_finished_however_often_the_log_is_rolled(log: Log) -> None:
    """Each after its own time of quiet: a busy log that is rolled every ten seconds has no more than four of them open."""
    follower = log.follow(Begin())
    kept = []
    for number in range(20):
        log.write(number)
        follower.poll()
        log.path.rename(log.path.with_name(f"access-{number}.log"))
        log.clock.now += 10.0
        follower.poll()
        kept.append(len(follower.checkpoint().positions))

    assert max(kept) <= 4
    assert follower.counts.gaps == 0


def test_two_copies_and_a_rename_between_two_looks_come_in_order(log: Log) -> None:
    """A file that was truncated is as old as the copy with its lines, wherever it stands by its own name."""
    log.write(0)
    follower = log.follow(Begin())
    follower.poll()
    for number, name in ((1, "access.log.3"), (2, "access.log.2")):
        log.write(number)
        shutil.copyfile(log.path, log.path.with_name(name))
        os.truncate(log.path, 0)
    log.path.rename(log.path.with_name("access.log.1"))
    log.write(3)

    assert numbers(follower.poll()) == [1, 2, 3]
    assert follower.counts.gaps == 0
