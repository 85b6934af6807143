"""Random rotations against a model: the lines that were written, once each, in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from tailhealth.logs.checkpoint import Checkpoint
from tailhealth.logs.follow import Follower
from tailhealth.logs.following import Begin
from tailhealth.logs.source import Chunk
from tests.logs.rotating import Writer
from tests.logs.steps import Clock, places

ROTATIONS = ("rename and create", "rename", "copy and truncate", "delete and create", "gzip", "zstd")
STEPS = st.lists(
    st.sampled_from(
        ("write", "write many", "tear", "look", "look much later", "checkpoint", "restart", "kill", *ROTATIONS),
    ),
    max_size=40,
)


class Play:
    """A writer and a follower that takes turns with it."""

    def __init__(self, folder: Path, *, stamped: bool, budget: int) -> None:
        self.writer = Writer(folder, stamped=stamped)
        self.chunks: list[Chunk] = []
        self.gaps = 0
        self._clock = Clock()
        self._budget = budget
        self._saved: Checkpoint | None = None
        self._seen_since_rotation = False
        self._follower = self._new(None)
        self.look()

    def act(self, step: str) -> None:
        """Take one step."""
        writer = self.writer
        steps: dict[str, Callable[[], None]] = {
            "write": writer.write,
            "write many": lambda: writer.write(50, 300),
            "tear": writer.tear,
            "look": self.look,
            "look much later": lambda: self.look(40.0),
            "rename and create": writer.rename_and_create,
            "rename": writer.rename,
            "copy and truncate": writer.copy_and_truncate,
            "delete and create": self._delete,
            "gzip": writer.compress,
            "zstd": lambda: writer.compress(zstd=True),
            "checkpoint": self._save,
            "restart": self._restart,
            "kill": self._replace,
        }
        steps[step]()

    def look(self, after: float = 1.0) -> None:
        """Poll until there is no more."""
        self._clock.now += after
        while True:
            self.chunks += self._follower.poll()
            if not self._follower.more:
                break
        self._saved = self._saved or self._follower.checkpoint()

    def finish(self) -> None:
        """Look a last time, with a log there, and count."""
        self.look()
        self.writer.log.touch()
        self.look(5.0)
        self.gaps += self._follower.counts.gaps
        self._follower.close()

    def _delete(self) -> None:
        # Nobody could know of lines that were destroyed before any look.
        self.writer.complete()
        self.look()
        self.writer.delete_and_create()

    def _save(self) -> None:
        self._saved = self._follower.checkpoint()

    def _restart(self) -> None:
        self._save()
        self._replace()

    def _replace(self) -> None:
        self.gaps += self._follower.counts.gaps
        self._follower.close()
        self._follower = self._new(self._saved)

    def _new(self, saved: Checkpoint | None) -> Follower:
        path = str(self.writer.log)
        return Follower(path, checkpoint=saved, start=Begin(), budget=self._budget, clock=self._clock)


@settings(max_examples=200)
@given(STEPS, st.booleans(), st.sampled_from([1, 4_000_000]))
def test_every_line_comes_once_and_in_order(steps: list[str], stamped: bool, budget: int) -> None:
    """Through any mix of rotations and restarts every line comes, in order; after a kill some may come twice.

    What was delivered twice has the same place, (fingerprint, offset), both times, so it can be told.
    """
    with TemporaryDirectory() as folder:
        play = Play(Path(folder), stamped=stamped, budget=budget)
        for step in steps:
            play.act(step)
        play.finish()
        lines = [line for chunk in play.chunks for line in chunk.data.splitlines()]
        once = list(dict(zip(places(play.chunks), lines, strict=True)).values())

        numbers = [int(line.split(b"/r/")[1].split(b'"')[0]) for line in once]
        forgotten = "delete and create" in steps and ("kill" in steps or "restart" in steps)
        if not forgotten:
            assert play.gaps == 0
        if not play.gaps:
            assert numbers == list(range(play.writer.written))
        assert numbers == sorted(numbers)
        if "kill" not in steps:
            assert len(lines) == len(once)
