"""When to look at a log again: early when the system says that something changed, else by the clock.

Events are hints. They may be late, lost, too many, or never come (network file systems, bind mounts, no inotify watches left):
nothing depends on one having been delivered, all they do is shorten a wait.
"""

from __future__ import annotations

import logging
import os
import select
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from watchdog.events import (
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

# It reports as an error that an event came while a watch was being given up, which is the very moment of giving up a busy one.
logging.getLogger("watchdog.observers.inotify").setLevel(logging.CRITICAL)

INTERVAL = 0.25
"""Longest wait in seconds, events or not."""
BUSY_INTERVAL = 0.02
"""Shortest wait in seconds while events come so fast that looking by the clock is cheaper than hearing of each."""
_SHARE = 0.1
"""The part of `lateness` that may pass between two looks at a busy log: each look costs far more than each line."""
_BUSY = 0.8
"""A folder is busy from so many events on as this part of the looks by the clock in a second."""
_REST = 5.0
"""Seconds for which a busy folder is not watched, and between two looks whether the folders are still the same."""
_KINDS: list[type[FileSystemEvent]] = [FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent]


class Waker:
    """Waits until it is time to look at some logs again.

    Args:
        paths: The logs. Their folders are watched, those behind links too.
        pipes: Descriptors to listen to as well, standard input for one.
        lateness: Seconds that pass anyway before a line is used: where lines come fast, they may lie for a part of it.
        interval: Longest wait in seconds.
        observer: Makes an observer; a test may give one that fails.
        clock: Seconds of a clock that never jumps.
    """

    def __init__(
        self,
        paths: Iterable[str],
        *,
        pipes: Iterable[int] = (),
        lateness: float = 0.0,
        interval: float = INTERVAL,
        observer: Callable[[], BaseObserver] = Observer,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.notice: str | None = None
        """Why no events can be had, once it is known: logs are looked at by the clock then."""
        self._paths = tuple(paths)
        self._interval = interval
        self._lateness = lateness
        self._make = observer
        self._clock = clock
        self._pipes = set(pipes)
        self._piped = False
        self._bell = _Bell()
        self._observer: BaseObserver | None = None
        self._folders: dict[str, tuple[int, int]] = {}
        self._resting_until: float | None = None
        self._counted_from = self._tended = clock()
        self._watch()

    @property
    def pace(self) -> float:
        """Seconds between two looks while lines come fast."""
        return min(max(BUSY_INTERVAL, _SHARE * self._lateness), INTERVAL)

    @property
    def watching(self) -> bool:
        """Events are listened for now."""
        return self._observer is not None

    def wait(self, timeout: float) -> None:
        """Return when a log may have changed, but at the latest after `timeout` seconds or the interval, the lesser of them."""
        self._tend()
        resting = self._resting_until is not None
        longest = max(0.0, min(timeout, self.pace if resting else self._interval))
        if self._piped:
            # Lines of a pipe that come one by one are cheaper in small lots.
            select.select([self._bell.heard], [], [], min(longest, self.pace / 2))
        ready, _, _ = select.select([self._bell.heard, *self._pipes], [], [], longest)
        self._piped = not self._pipes.isdisjoint(ready)
        if self._bell.heard in ready:
            self._bell.hush()

    def wake(self) -> None:
        """End a wait now, from any thread or signal handler."""
        self._bell.ring()

    def turn_to(self, paths: Iterable[str], lateness: float) -> None:
        """Watch the folders of these logs from now on."""
        self._paths, self._lateness = tuple(paths), lateness
        if self._resting_until is None:
            self._unwatch()
            self._watch()

    def ended(self, pipe: int) -> None:
        """A pipe is at its end: it would wake for ever."""
        self._pipes.discard(pipe)

    def close(self) -> None:
        """Stop watching."""
        self._unwatch()
        self._bell.close()

    def _tend(self) -> None:
        now = self._clock()
        if self._resting_until is not None:
            if now >= self._resting_until:
                self._resting_until = None
                self._watch()
        elif self._bell.count * self.pace >= _BUSY and now - self._counted_from <= 1.0:
            self._unwatch()
            self._resting_until = now + _REST
        elif now - self._counted_from > 1.0:
            self._bell.count, self._counted_from = 0, now
            if now - self._tended >= _REST and self._folders != self._present():
                self._unwatch()
                self._watch()

    def _present(self) -> dict[str, tuple[int, int]]:
        """The folders to watch, as far as they exist."""
        present = {}
        for path in self._paths:
            for folder in (Path(path).parent, Path(path).resolve().parent):
                with suppress(OSError):  # one that isn't there now is looked for again later
                    found = folder.stat()
                    present[str(folder)] = (found.st_dev, found.st_ino)
        return present

    def _watch(self) -> None:
        now = self._clock()
        self._tended = self._counted_from = now
        self._bell.count = 0
        self._folders = self._present()
        if self.notice is not None or not self._folders:
            return
        observer = None
        try:
            observer = self._make()
            for folder in self._folders:
                observer.schedule(self._bell, folder, recursive=False, event_filter=_KINDS)
            observer.start()
        except OSError as error:
            if observer is not None:
                observer.stop()
            self._folders = {}
            if not isinstance(error, FileNotFoundError):  # that is: a folder went away meanwhile
                self.notice = f"no file events ({error.strerror}): logs are looked at every {self._interval:g} s instead"
        else:
            self._observer = observer

    def _unwatch(self) -> None:
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join()


class _Bell(FileSystemEventHandler):
    """Rings for every event, and counts them."""

    def __init__(self) -> None:
        self.count = 0
        self.heard, self._rung = os.pipe()
        os.set_blocking(self.heard, False)
        os.set_blocking(self._rung, False)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Something changed in a folder; what it was makes no difference."""
        del event
        self.count += 1
        self.ring()

    def ring(self) -> None:
        with suppress(BlockingIOError):  # rung so often that it is sure to be heard
            os.write(self._rung, b"!")

    def hush(self) -> None:
        with suppress(BlockingIOError):  # it did not ring
            os.read(self.heard, 65536)

    def close(self) -> None:
        os.close(self.heard)
        os.close(self._rung)
