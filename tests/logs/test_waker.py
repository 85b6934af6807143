"""When it is time to look again: with file events, without them, and with too many."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watchdog.events import FileModifiedEvent
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

from tailhealth.logs.waker import Waker
from tests.logs.steps import Clock

LONG = 20.0
"""Seconds after which a wait that should have been cut short has failed."""


@pytest.fixture
def wakers() -> Iterator[list[Waker]]:
    """Wakers to be closed at the end."""
    wakers: list[Waker] = []
    yield wakers
    for waker in wakers:
        waker.close()


def waits(waker: Waker, meanwhile: Callable[[], object] | None = None) -> bool:
    """Whether a wait that could be long is cut short."""
    began = time.monotonic()
    if meanwhile is not None:
        meanwhile()
    waker.wait(LONG)
    return time.monotonic() - began < LONG / 2


def watching(waker: Waker) -> bool:
    """Whether events are listened for right now."""
    return waker.watching


def append(path: Path) -> None:
    """Write a line."""
    with path.open("ab") as file:
        file.write(b"line\n")


def test_a_write_wakes(tmp_path: Path, wakers: list[Waker]) -> None:
    """A change in the log's folder ends the wait early."""
    log = tmp_path / "access.log"
    waker = Waker([str(log)], interval=LONG)
    wakers.append(waker)

    assert watching(waker)
    assert waker.notice is None
    assert waits(waker, lambda: append(log))


def test_a_write_behind_a_link_wakes(tmp_path: Path, wakers: list[Waker]) -> None:
    """The folder that a link leads to is watched too (case 92)."""
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "0.log").touch()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "access.log").symlink_to(tmp_path / "pods" / "0.log")
    waker = Waker([str(tmp_path / "logs" / "access.log")], interval=LONG)
    wakers.append(waker)

    assert waits(waker, lambda: append(tmp_path / "pods" / "0.log"))


def test_without_a_change_it_waits_for_the_interval(tmp_path: Path, wakers: list[Waker]) -> None:
    """No event may ever come (network file systems), so a wait is never longer than the interval."""
    waker = Waker([str(tmp_path / "access.log")], interval=0.05)
    wakers.append(waker)
    began = time.monotonic()
    waker.wait(LONG)

    assert 0.04 <= time.monotonic() - began < LONG / 2


def test_another_thread_can_end_a_wait(tmp_path: Path, wakers: list[Waker]) -> None:
    """A command or a signal need not wait for the next look."""
    waker = Waker([str(tmp_path / "access.log")], interval=LONG)
    wakers.append(waker)
    thread = threading.Thread(target=waker.wake)

    assert waits(waker, thread.start)
    thread.join()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EMFILE])
def test_case_95_no_watches_left_is_one_notice_and_looks_by_the_clock(tmp_path: Path, wakers: list[Waker], error: int) -> None:
    """Where inotify is used up the follower lives on, and says so once (case 95)."""
    made: list[BaseObserver] = []

    class Full(PollingObserver):
        """An observer that can't be started."""

        def start(self) -> None:
            raise OSError(error, os.strerror(error))

    def make() -> BaseObserver:
        made.append(Full())
        return made[-1]

    clock = Clock()
    waker = Waker([str(tmp_path / "access.log")], interval=0.01, observer=make, clock=clock)
    wakers.append(waker)
    for _ in range(5):
        clock.now += 10.0
        waker.wait(LONG)

    assert waker.notice == f"no file events ({os.strerror(error)}): logs are looked at every 0.01 s instead"
    assert not watching(waker)
    assert len(made) == 1


def test_a_folder_that_appears_later_is_watched_then(tmp_path: Path, wakers: list[Waker]) -> None:
    """A missing folder is no reason to give up events for good."""
    clock = Clock()
    folder = tmp_path / "logs"
    waker = Waker([str(folder / "access.log")], interval=0.01, clock=clock)
    wakers.append(waker)
    assert not watching(waker)
    folder.mkdir()
    clock.now += 5.0
    waker.wait(0.0)

    assert watching(waker)
    assert waker.notice is None


def test_a_folder_made_anew_is_watched_again(tmp_path: Path, wakers: list[Waker]) -> None:
    """A watch on a folder that was removed is dead without saying so."""
    clock = Clock()
    folder = tmp_path / "logs"
    folder.mkdir()
    waker = Waker([str(folder / "access.log")], interval=LONG, clock=clock)
    wakers.append(waker)
    folder.rmdir()
    (tmp_path / "other").mkdir()
    folder.mkdir()
    clock.now += 5.0
    waker.wait(0.0)
    while waits_shortly(waker):
        pass

    assert waits(waker, lambda: append(folder / "access.log"))


def waits_shortly(waker: Waker) -> bool:
    """Whether events are still coming in."""
    began = time.monotonic()
    waker.wait(0.2)
    return time.monotonic() - began < 0.1


def test_a_busy_folder_is_looked_at_by_the_clock_for_a_while(tmp_path: Path, wakers: list[Waker]) -> None:
    """Hearing of each write would cost more than looking fifty times a second; a rest later events are listened to again."""
    log = tmp_path / "access.log"
    clock = Clock()
    waker = Waker([str(log)], interval=LONG, clock=clock)
    wakers.append(waker)
    deadline = time.monotonic() + LONG
    while watching(waker) and time.monotonic() < deadline:
        append(log)
        waker.wait(LONG)
    assert not watching(waker)
    assert waits(waker)
    clock.now += 4.9
    waker.wait(0.0)
    assert not watching(waker)
    clock.now += 0.1
    waker.wait(0.0)

    assert watching(waker)


@pytest.mark.parametrize(
    ("lateness", "pace", "busy"), [(0.0, 0.02, 40), (0.2, 0.02, 40), (1.0, 0.1, 8), (2.5, 0.25, 4), (60.0, 0.25, 4)]
)
def test_a_line_that_waits_anyway_may_lie_for_a_tenth_of_that(
    tmp_path: Path, wakers: list[Waker], lateness: float, pace: float, busy: int
) -> None:
    """A look costs far more than a line: once a log is busy, it is looked at no more often than its lines are urgent."""
    clock = Clock()
    waker = Waker([str(tmp_path / "access.log")], interval=0.01, lateness=lateness, clock=clock)
    wakers.append(waker)
    assert waker.pace == pytest.approx(pace)
    for _ in range(busy - 1):
        waker._bell.on_any_event(FileModifiedEvent(""))
    waker.wait(0.0)
    assert watching(waker)
    waker._bell.on_any_event(FileModifiedEvent(""))
    waker.wait(0.0)
    assert not watching(waker)


def test_another_lateness_is_another_pace(tmp_path: Path, wakers: list[Waker]) -> None:
    """A reload may change it."""
    waker = Waker([str(tmp_path / "access.log")])
    wakers.append(waker)
    waker.turn_to([str(tmp_path / "access.log")], 1.0)

    assert waker.pace == pytest.approx(0.1)


def test_a_pipe_wakes_until_it_ends(tmp_path: Path, wakers: list[Waker]) -> None:
    """Standard input is listened to as well; at its end it would wake for ever, so it is let go."""
    reading, writing = os.pipe()
    waker = Waker([str(tmp_path / "access.log")], pipes=[reading], interval=LONG)
    wakers.append(waker)

    assert waits(waker, lambda: os.write(writing, b"line\n"))
    os.close(writing)
    waker.ended(reading)
    os.close(reading)
    began = time.monotonic()
    waker.wait(0.05)
    assert time.monotonic() - began >= 0.04
