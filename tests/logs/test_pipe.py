"""Following standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tailhealth.logs.checkpoint import Checkpoint
from tailhealth.logs.following import State
from tailhealth.logs.pipe import PipeFollower
from tailhealth.logs.source import BLOCK


@pytest.fixture
def pipe() -> Iterator[list[int]]:
    """Both ends of a pipe; take one out to close it yourself."""
    ends = list(os.pipe())
    yield ends
    for end in ends:
        os.close(end)


def test_lines_come_as_they_are_written(pipe: list[int]) -> None:
    """A poll takes what is there and never waits; torn lines are held."""
    follower = PipeFollower(pipe[0])

    assert follower.poll() == []
    os.write(pipe[1], b"one\ntw")
    assert [(chunk.offset, chunk.data) for chunk in follower.poll()] == [(0, b"one\n")]
    os.write(pipe[1], b"o\n")
    assert [(chunk.offset, chunk.data) for chunk in follower.poll()] == [(4, b"two\n")]
    assert follower.status.state is State.FOLLOWING


def test_its_end_is_a_state_and_the_last_line_counts(pipe: list[int]) -> None:
    """When the other side closes, a last line without newline is delivered as final, once."""
    follower = PipeFollower(pipe[0])
    os.write(pipe[1], b"one\ntwo")
    os.close(pipe.pop())

    assert [(chunk.data, chunk.final) for chunk in follower.poll()] == [(b"one\n", False), (b"two", True)]
    assert follower.status.state is State.ENDED
    assert follower.poll() == []


def test_a_poll_reads_no_more_than_its_budget(pipe: list[int]) -> None:
    """With more to come the poll says so."""
    follower = PipeFollower(pipe[0], budget=1000)
    os.write(pipe[1], b"x" * 999 + b"\n")

    assert [len(chunk.data) for chunk in follower.poll()] == [1000]
    assert follower.more
    assert follower.poll() == []
    assert not follower.more


def test_lines_that_are_too_long_are_counted(pipe: list[int]) -> None:
    """As in files."""
    follower = PipeFollower(pipe[0], max_line=10)
    os.write(pipe[1], b"x" * 10 + b"\nshort\n")

    assert [chunk.data for chunk in follower.poll()] == [b"short\n"]
    assert follower.counts.oversized == 1
    assert BLOCK > 10


def test_there_is_nothing_to_go_on_from(pipe: list[int]) -> None:
    """What was read from a pipe can't be read again."""
    assert PipeFollower(pipe[0]).checkpoint() == Checkpoint(begun=False)
