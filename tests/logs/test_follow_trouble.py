"""A follower whose log can't be read for a while, or never."""

from __future__ import annotations

import errno
import gzip
import os
from itertools import pairwise

import pytest

from tailhealth.logs.checkpoint import Checkpoint
from tailhealth.logs.following import Begin, State
from tests.logs.timed import line
from tests.logs.watched import Log, numbers, state_of


def test_case_94_a_log_that_may_not_be_read_is_a_state_that_heals(log: Log) -> None:
    """The old file stays in use, the state says since when and what to do, and pauses between attempts grow."""
    log.write(1)
    follower = log.follow(Begin())
    follower.poll()
    rolled = log.path.with_name("access.log.1")
    log.path.rename(rolled)
    log.write(2)
    log.path.chmod(0)
    since = log.clock.now
    log.disk.opened.clear()
    for _ in range(200):
        log.clock.now += 0.1
        follower.poll()
    assert state_of(follower) is State.UNREADABLE
    assert follower.status.since == pytest.approx(since + 0.1)
    assert "let the user that runs tailhealth read it" in follower.status.why
    assert 5 <= len(log.disk.opened) <= 12
    log.write(3, to=rolled)
    assert numbers(follower.poll()) == [3]
    log.path.chmod(0o640)
    log.clock.now += 5.0

    assert numbers(follower.poll()) == [2]
    assert state_of(follower) is State.FOLLOWING


def test_case_94_an_unreadable_log_at_start_is_followed_from_where_it_ended_then(log: Log) -> None:
    """What was there at the start is history; what came while it could not be read is not lost."""
    log.write(1)
    log.path.chmod(0)
    follower = log.follow()
    follower.poll()
    assert state_of(follower) is State.UNREADABLE
    assert follower.checkpoint() == Checkpoint(begun=False)
    log.write(2)
    log.path.chmod(0o600)
    log.clock.now += 5.0

    assert numbers(follower.poll()) == [2]


def test_case_96_a_stale_handle_is_not_tried_again_at_once(log: Log) -> None:
    """After ESTALE at least a second passes before the file is opened again, more each time it fails; then it goes on."""
    log.write(1)
    follower = log.follow(Begin())
    follower.poll()
    log.write(2)
    log.disk.opened.clear()
    log.disk.faults["read"] = [errno.ESTALE] * 3
    found = []
    for _ in range(100):
        log.clock.now += 0.1
        found += follower.poll()
        if log.disk.faults["read"]:
            assert state_of(follower) is State.UNREADABLE
    times = sorted(set(log.disk.opened))

    assert numbers(found) == [2]
    assert state_of(follower) is State.FOLLOWING
    assert times[0] >= 1000.1 + 1.0
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(times))


@pytest.mark.parametrize("call", ["stat", "open", "read"])
@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.EACCES, errno.EMFILE])
def test_any_call_may_fail_for_a_while(log: Log, call: str, error: int) -> None:
    """Whatever fails is a state, never an exception, and no line is lost or repeated."""
    log.write(1)
    follower = log.follow(Begin())
    found = follower.poll()
    log.path.rename(log.path.with_name("access.log.1"))
    log.write(2)
    log.disk.faults[call] = [error] * 4
    for _ in range(50):
        log.clock.now += 1.0
        found += follower.poll()

    assert numbers(found) == [1, 2]
    assert follower.counts.gaps == 0
    assert state_of(follower) is State.FOLLOWING


def test_attributes_that_go_backwards_change_nothing(log: Log) -> None:
    """A network file system may give an old size for a while; what counts is what can be read."""
    log.write(1, 2)
    follower = log.follow(Begin())
    follower.poll()
    log.disk.sizes[str(log.path)] = [0, 10]
    log.write(3)

    assert numbers(follower.poll()) == [3]
    assert follower.poll() == []
    assert follower.counts.truncations == 0


def test_a_read_that_is_short_for_a_while_changes_nothing(log: Log) -> None:
    """A file that looks cut back and is not again within a second is as it was."""
    log.write(*range(1, 200))
    follower = log.follow(Begin())
    follower.poll()
    content = log.path.read_bytes()
    os.truncate(log.path, 1000)
    follower.poll()
    log.clock.now += 0.9
    log.path.write_bytes(content)
    log.write(200)

    assert numbers(follower.poll()) == [200]
    assert follower.counts.truncations == 0


def test_a_file_cut_back_for_good_is_followed_from_its_new_end(log: Log) -> None:
    """Somebody cut off the last lines: they are not delivered twice, and what comes next is."""
    log.write(*range(1, 200))
    follower = log.follow(Begin())
    follower.poll()
    os.truncate(log.path, log.path.read_bytes().index(line(100.0, 100)))
    follower.poll()
    log.clock.now += 1.0
    follower.poll()
    log.write(500)

    assert numbers(follower.poll()) == [500]
    assert follower.counts.truncations == 1


def test_a_gzip_log_can_not_be_followed_and_says_so(log: Log) -> None:
    """With nginx's `gzip` parameter the live file is no text (case 41)."""
    log.path.write_bytes(gzip.compress(line(1.0, 1)))
    follower = log.follow(Begin())

    assert follower.poll() == []
    assert state_of(follower) is State.UNREADABLE
    assert "only logs without gzip can be followed" in follower.status.why


def test_a_pipe_at_the_path_is_refused_without_waiting_for_its_other_end(log: Log) -> None:
    """Opening a named pipe would wait for ever; the state says what to do instead."""
    os.mkfifo(log.path)
    follower = log.follow(Begin())

    assert follower.poll() == []
    assert state_of(follower) is State.UNREADABLE
    assert "standard input" in follower.status.why
