"""A log in a folder with followers of it, for tests."""

from __future__ import annotations

from pathlib import Path

from tailhealth.logs.checkpoint import Checkpoint
from tailhealth.logs.follow import Follower
from tailhealth.logs.following import Start, State
from tailhealth.logs.source import Chunk
from tests.logs.steps import Clock, StagedDisk
from tests.logs.timed import line, time_of


class Log:
    """A log in a folder, and followers of it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "access.log"
        self.clock = Clock()
        self.disk = StagedDisk(clock=self.clock)
        self._followers: list[Follower] = []

    def write(self, *numbers: int, to: Path | None = None) -> None:
        """Append lines."""
        with (to or self.path).open("ab") as file:
            file.write(b"".join(line(float(number), number) for number in numbers))

    def follow(self, start: Start | None = None, checkpoint: Checkpoint | None = None, **others: int) -> Follower:
        """A new follower."""
        follower = Follower(
            str(self.path), start=start, checkpoint=checkpoint, disk=self.disk, clock=self.clock, grace=30.0, **others
        )
        self._followers.append(follower)
        return follower

    def close(self) -> None:
        """Close all followers."""
        for follower in self._followers:
            follower.close()


def numbers(chunks: list[Chunk]) -> list[int]:
    """The numbers of the lines in some chunks."""
    return [int(float(time_of(text) or 0)) for chunk in chunks for text in chunk.data.splitlines()]


def state_of(follower: Follower) -> State:
    """The state right now."""
    return follower.status.state
