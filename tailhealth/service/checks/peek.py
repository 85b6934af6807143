"""A look at a state directory that another process may hold."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tailhealth.service.state import FILE, Contents, StateError


class Peek(msgspec.Struct, frozen=True):
    """What a state directory holds at a moment."""

    contents: Contents


def peek(folder: Path) -> Peek:
    """Look at a state directory without holding it; one without a file, or with a broken one, holds nothing.

    Raises:
        StateError: Its file may not be read.
    """
    path = folder / FILE
    try:
        return Peek(msgspec.json.decode(path.read_bytes(), type=Contents))
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return Peek(Contents(token=""))
    except OSError as error:
        raise StateError(f"{path}: {error.strerror}: it must be readable by the user that runs tailhealth") from error
