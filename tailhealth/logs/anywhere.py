"""Bytes from anywhere in a log that is read front to back."""

from __future__ import annotations

from collections.abc import Iterable

from tailhealth.core.address import canonical
from tailhealth.logs.disk import LocalFile
from tailhealth.logs.stream import LogError, log_error


class FileBytes:
    """The bytes of a file, wherever.

    Args:
        path: Names it in errors.
        opened: The open file, which is closed in the end.
    """

    def __init__(self, path: str, opened: LocalFile) -> None:
        self.path = path
        stat = opened.stat()
        self.identity = stat.device, stat.inode
        self._opened = opened

    def __call__(self, start: int, end: int) -> bytes:
        """Read from one position up to another.

        Raises:
            LogError: They are not there any more.
        """
        try:
            data = self._opened.read_at(start, end - start)
        except OSError as error:
            raise log_error(self.path, error) from error
        if len(data) != end - start:
            raise changed(self.path)
        return data

    def close(self) -> None:
        """Let the file go."""
        self._opened.close()


def changed(path: str) -> LogError:
    """Return the error of a log that is not what it was a moment ago."""
    return LogError(path, "it changed while it was read", "replay a copy that nobody changes")


def addresses_of(spellings: Iterable[object], path: str) -> dict[str, str]:
    """Return the canonical addresses of upstreams that plain lines name, by their spelling.

    Args:
        spellings: As the lines have them.
        path: Of their file.

    Raises:
        LogError: One is no address: the lines are not any more what they were.
    """
    try:
        return {spelled: canonical(spelled, "") for spelled in set(spellings) if isinstance(spelled, str)}
    except ValueError:
        raise changed(path) from None
