"""A log that grows, and processes that follow it one after the other, each looking only when the test says so."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tailhealth.config import Config
from tailhealth.service.follow_parsing import FollowParsing, Shown
from tests.logs.caddy_lines import BASE

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stage:
    """A log that grows, and one process after the other that follows it."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "access.log"
        self.log.touch()
        self.state = folder / "state"
        self.now = BASE
        self.shown: list[Shown] = []
        self.news: list[str] = []
        self._parsing: FollowParsing | None = None

    def write(self, *lines: bytes) -> None:
        """The proxy writes."""
        with self.log.open("ab") as file:
            file.write(b"".join(lines))

    def start(self, *logs: Path) -> None:
        """A process begins."""
        paths = [str(log) for log in logs or (self.log,)]
        self._parsing = FollowParsing(Config(), paths, self.state, clock=lambda: self.now, steady=lambda: self.now)
        self.look()

    def look(self, seconds: float = 0.0) -> list[str]:
        """It looks, prints and keeps how far it is, some seconds later; return the paths of what it printed."""
        assert self._parsing is not None
        self.now += seconds
        shown = self._parsing.poll()
        self.shown += shown
        self.news += self._parsing.news()
        self._parsing.save()
        return [one.attempt.path for one in shown]

    def kill(self) -> None:
        """It is gone, without a word."""
        assert self._parsing is not None
        with self._parsing:
            pass

    def stop(self) -> None:
        """It is told to stop."""
        assert self._parsing is not None
        with self._parsing as parsing:
            self.shown += parsing.finish()
            parsing.save(at_once=True)

    def restart(self) -> None:
        """It is told to stop, and another one begins."""
        self.stop()
        self.start()

    @property
    def paths(self) -> list[str]:
        """What was printed."""
        return [one.attempt.path for one in self.shown]


@contextmanager
def stage_in(folder: Path) -> Iterator[Stage]:
    """A log, and a process that follows it."""
    stage = Stage(folder)
    stage.start()
    yield stage
    stage.kill()
