"""The time zone of whoever sits at the terminal."""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_SYSTEM = Path("/etc/localtime")


def local_zone() -> tzinfo:
    """Return the zone of `$TZ`, else the system's, else UTC. A zone knows its summers: history is shown in the hours it had."""
    name = os.environ.get("TZ", "").removeprefix(":")
    try:
        if name:
            return ZoneInfo(name)
        with _SYSTEM.open("rb") as file:
            return ZoneInfo.from_file(file)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return UTC
