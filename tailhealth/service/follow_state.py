"""What `parse --follow --state DIR` keeps, so that each line is read exactly once over restarts (DESIGN section 9)."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import NamedTuple, Self

import msgspec

from tailhealth.core.join import JoinState
from tailhealth.core.model import Attempt
from tailhealth.logs.checkpoint import Checkpoint, CheckpointFile

FILE, LOCK = "parse.json", "parse.lock"


class Generation(NamedTuple):
    """Where the lines of some attempts stand: offsets count from the beginning of a generation."""

    path: str
    """The log, as it was named."""
    fingerprint: str
    """See `logs.generation.FileId`."""


class Kept(msgspec.Struct, frozen=True):
    """What was read and is not done with at the moment of the checkpoints."""

    generations: dict[int, Generation] = {}
    """By the number that attempts have in their field `file`."""
    join: JoinState = JoinState()
    waiting: tuple[Attempt, ...] = ()
    """Attempts of round-trip lines that were not printed yet, because their request's end may come at any moment."""
    read: dict[str, tuple[int, ...]] = {}
    """By fingerprint, the offsets of lines that were read although they stand after the checkpoint's position."""


class Resumed(NamedTuple):
    """What an earlier process left."""

    logs: dict[str, Checkpoint]
    kept: Kept
    warning: str | None
    """The state was there and not usable; logs are then followed from their end."""


class FollowStateError(Exception):
    """The state directory can't be used; the text names it and the remedy."""


class FollowState:
    """A state directory that this process holds. Its files are readable by their owner only.

    Args:
        folder: The directory; made if it is missing.

    Raises:
        FollowStateError: Another process holds it, or it can't be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = CheckpointFile(folder / FILE)
        self._saved: tuple[dict[str, Checkpoint], bytes] | None = None
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise FollowStateError(f"{folder}: {error.strerror}: give --state a directory that can be written") from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise FollowStateError(f"{folder}: another `parse --follow` holds it: give each one a directory") from None

    def load(self) -> Resumed:
        """Read what an earlier process left; what can't be understood is put aside.

        Raises:
            FollowStateError: It can't be read.
        """
        try:
            loaded = self._file.load()
            kept = Kept()
            if loaded.rest != b"null":
                try:
                    kept = msgspec.json.decode(loaded.rest, type=Kept)
                except msgspec.DecodeError as error:
                    loaded = self._file.put_aside(str(error))
        except OSError as error:
            raise FollowStateError(f"{self._folder / FILE}: {error.strerror}") from error
        return Resumed(loaded.logs, kept, loaded.warning)

    def save(self, logs: dict[str, Checkpoint], kept: Kept) -> None:
        """Write everything durably; after a crash at any moment this or what was saved before is there.

        Raises:
            FollowStateError: It can't be written.
        """
        contents = (logs, msgspec.json.encode(kept))
        if contents == self._saved:
            return
        try:
            self._file.save(*contents)
        except OSError as error:
            raise FollowStateError(f"{self._folder / FILE}: {error.strerror}") from error
        self._saved = contents

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)
