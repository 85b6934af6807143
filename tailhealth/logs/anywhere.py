"""Bytes from anywhere in a log that is read front to back."""

from __future__ import annotations

import os

from tailhealth.logs.stream import LogError, log_error


class FileBytes:
    """The bytes of a file, wherever.

    Args:
        path: Names it in errors.
        descriptor: The open file, which is closed in the end.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def __call__(self, start: int, end: int) -> bytes:
        """Read from one position up to another.

        Raises:
            LogError: They are not there any more.
        """
        try:
            data = os.pread(self._descriptor, end - start, start)
        except OSError as error:
            raise log_error(self.path, error) from error
        if len(data) != end - start:
            raise changed(self.path)
        return data

    def close(self) -> None:
        """Let the file go."""
        os.close(self._descriptor)


def changed(path: str) -> LogError:
    """Return the error of a log that is not what it was a moment ago."""
    return LogError(path, "it changed while it was read", "replay a copy that nobody changes")
