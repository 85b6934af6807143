"""Values that are never shown: the file holds them, or says where they are (`env:NAME`, `file:PATH`)."""

from __future__ import annotations

import os
from pathlib import Path


class Secret:
    """A header's value or the address of a webhook. Neither `repr` nor any error shows it; it is read when it is needed.

    A plain class on purpose: no JSON encoder knows how to write it, where a struct or a dataclass would be written in clear.
    """

    __slots__ = ("_folder", "_text")

    def __init__(self, text: str, folder: str = "") -> None:
        """Keep the value itself, `env:NAME` or `file:PATH`; a relative path is meant from `folder`."""
        self._text = text
        self._folder = folder

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self._text, self._folder) == (other._text, other._folder)

    def __hash__(self) -> int:
        return hash((self._text, self._folder))

    def reveal(self) -> str:
        """Return the value, read afresh, so that a rotated secret needs no restart.

        Raises:
            LookupError: The environment variable is not set, or the file cannot be read, or what they hold has line breaks.
                The message names the variable or the file, never a value.
        """
        kind, _, place = self._text.partition(":")
        if kind == "env":
            value, where = os.environ.get(place), f"the environment variable {place}"
            if value is None:
                raise LookupError(f"{where} is not set")
        elif kind == "file":
            path = Path(self._folder, place).expanduser()
            value, where = _content(path), f"the file {path}"
        else:
            value, where = self._text, "the value"
        if not value.isprintable():
            raise LookupError(f"{where} holds a line break or a control character")
        return value


def _content(path: Path) -> str:
    """Read a file without the line break that editors put at its end."""
    try:
        return path.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise LookupError(f"the file {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LookupError(f"the file {path} is no UTF-8 text") from error
