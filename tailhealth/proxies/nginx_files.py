"""Replacing an include file so that at every moment the old one or the new one is there, complete, and the way back is known.

Beside the file, under a name that no `include *` of nginx matches, stands a copy of what it was, from before it is replaced
until nginx runs with the new one. Whoever finds that copy knows that a change was cut off.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from tailhealth.proxies.base import Fatal, Forbidden, Retryable


@contextmanager
def held(files: Iterable[File]) -> Iterator[bool]:
    """Hold the folders of files, so that no other tailhealth changes them or takes a change under way for one that was cut off.

    Yields False if another holds one of them. The system lets go when the process ends, however it ends.
    """
    with ExitStack() as stack:
        yield all(_held(folder, stack) for folder in sorted({one.path.parent for one in files}))


def _held(folder: Path, stack: ExitStack) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class File(msgspec.Struct, frozen=True):
    """An include file: where it really is, whatever links lead to it."""

    path: Path

    @classmethod
    def at(cls, path: str) -> File:
        """Follow links: what is replaced is the file, never a link to it."""
        return cls(Path(os.path.realpath(path)))

    @property
    def before(self) -> Path:
        """Where the copy of the old file stands while a change is under way."""
        return self.path.with_name(f".{self.path.name}.tailhealth-before")

    @property
    def _beside(self) -> Path:
        return self.path.with_name(f".{self.path.name}.tailhealth-new")

    def read(self) -> bytes:
        """Read it.

        Raises:
            Forbidden: It may not be read.
            Retryable: It is not there: the operator may be about to write it.
        """
        return _read(self.path)

    def interrupted(self) -> bytes | None:
        """Return what the file was before a change that was cut off; None: no change was.

        Raises:
            Forbidden, Fatal: The copy can't be read.
        """
        try:
            return self.before.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _error(self.before, error) from error

    def keep(self, text: bytes) -> None:
        """Keep a copy of what the file is, before it is replaced.

        Raises:
            Forbidden, Fatal: It can't be written.
        """
        self._put(self.before, text)

    def replace(self, text: bytes) -> None:
        """Replace the file, with its owner, mode and attributes.

        Raises:
            Forbidden, Fatal: It can't be written.
        """
        self._put(self.path, text)

    def go_back(self) -> None:
        """Put the copy in the place of the file, in one step.

        Raises:
            Forbidden, Fatal: It can't be written.
        """
        try:
            self.before.replace(self.path)
            self._sync()
        except OSError as error:
            raise _error(self.path, error) from error

    def done(self) -> None:
        """Drop the copy: nginx runs with the file. Drop also what a killed write left.

        Raises:
            Forbidden, Fatal: It can't be removed.
        """
        try:
            self._beside.unlink(missing_ok=True)
            self.before.unlink(missing_ok=True)
            self._sync()
        except OSError as error:
            raise _error(self.path, error) from error

    def tidy(self) -> None:
        """Drop what a write left that was killed before it had changed anything.

        Raises:
            Forbidden, Fatal: It can't be removed.
        """
        try:
            self._beside.unlink(missing_ok=True)
        except OSError as error:
            raise _error(self._beside, error) from error

    def _put(self, target: Path, text: bytes) -> None:
        beside = self._beside
        try:
            beside.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(beside, flags, 0o600), "wb") as file:
                file.write(text)
                file.flush()
                self._dress(file.fileno(), beside)
                os.fsync(file.fileno())
            beside.replace(target)
            self._sync()
        except OSError as error:
            raise _error(target, error) from error

    def _dress(self, descriptor: int, beside: Path) -> None:
        """Give the new file what the old one has: owner, mode, access lists; its times are its own."""
        old = self.path.stat()
        if (os.geteuid(), os.getegid()) != (old.st_uid, old.st_gid):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        shutil.copystat(self.path, beside)
        os.utime(descriptor)

    def _sync(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except PermissionError as error:
        raise _error(path, error) from error
    except OSError as error:
        raise Retryable(f"{path}: {error.strerror}: it is to hold the `server` lines of an upstream block") from error


def _error(path: Path, error: OSError) -> Forbidden | Fatal:
    if isinstance(error, PermissionError):
        return Forbidden(f"{path}: {error.strerror}: tailhealth must own it, or run as root, and may write to its folder")
    return Fatal(f"{path}: {error.strerror}")
