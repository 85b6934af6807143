"""Where following a log goes on after a restart, and the file that keeps it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from tailhealth.logs.generation import Position

VERSION = 1


class Checkpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far one log was read. Holds hashes and positions, never a byte of a line."""

    positions: tuple[Position, ...] = ()
    """Generations that may still grow or be unfinished, from the oldest to the newest."""
    finished: tuple[Position, ...] = ()
    """Generations read to their end, the newest of them."""
    known: tuple[str, ...] = ()
    """Fingerprints of older generations: not to be read."""
    begun: bool = True
    """False: the log could not be read so far, where to start is still open."""


class _Saved(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    v: int
    logs: dict[str, Checkpoint]
    rest: msgspec.Raw = msgspec.Raw(b"null")


class Loaded(NamedTuple):
    """What a checkpoint file held."""

    logs: dict[str, Checkpoint]
    """By the path of the log, as configured."""
    warning: str | None
    """The file was there and not usable: what was done about it, and what follows. Then every log starts at its end."""
    rest: bytes = b"null"
    """What the writer kept along with them, as JSON."""


class CheckpointFile:
    """Keeps the checkpoints of several logs in one file, mode 0600. A crash at any moment leaves the old or the new one.

    Args:
        path: The file; its folder must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> Loaded:
        """Read the file.

        One that can't be understood (cut off, zeroed after a power loss, of another version) is put aside as
        `<name>.broken-<n>`, never deleted and never read again.

        Raises:
            OSError: The file is there and can't be read or put aside.
        """
        try:
            raw = self._path.read_bytes()
        except FileNotFoundError:
            return Loaded({}, None)
        try:
            saved = msgspec.json.decode(raw, type=_Saved)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return self.put_aside(str(error))
        if saved.v != VERSION:
            return self.put_aside(f"version {saved.v} instead of {VERSION}")
        return Loaded(saved.logs, None, bytes(saved.rest))

    def save(self, logs: dict[str, Checkpoint], rest: bytes = b"null") -> None:
        """Write all checkpoints durably.

        Args:
            logs: By the path of the log.
            rest: What else belongs to this moment, as JSON.

        Raises:
            OSError: They could not be written; what was saved before is still there.
        """
        folder = self._path.parent
        fresh = folder / f".{self._path.name}.{os.getpid()}"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(_Saved(VERSION, logs, msgspec.Raw(rest))))
                file.flush()
                os.fsync(descriptor)
            fresh.replace(self._path)
        except OSError:
            with suppress(FileNotFoundError):
                fresh.unlink()
            raise
        _sync_folder(folder)

    def put_aside(self, why: str) -> Loaded:
        """Give up what the file holds, and say so. Raises OSError."""
        number = 1
        while (aside := self._path.with_name(f"{self._path.name}.broken-{number}")).exists():
            number += 1
        self._path.replace(aside)
        return Loaded(
            {},
            f"{self._path} can't be used ({why}): put aside as {aside.name}, logs are followed from their end; "
            "lines written meanwhile are not read",
        )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
