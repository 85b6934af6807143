"""Names of rolled logs: which names belong to one log, and which of them came first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from glob import glob
from pathlib import Path

_PACKED = r"(?:\.(?:gz|zst|zstd|bz2|xz|lz4|Z))?"
_LATER = re.compile(rf"^(?P<base>.+?)[.\-_](?:old|prev|bak|\d[\dTZ:.+_\-]*?){_PACKED}$")
_STAMPED = re.compile(rf"^(?P<stem>.+?)[.\-_](?P<stamp>\d{{4}}-?\d\d.*?)(?P<ext>\.(?!gz|zst|bz2|xz|lz4)[A-Za-z]+){_PACKED}$")
_ONLY_PACKED = re.compile(r"^(?P<base>.+)\.(?:gz|zst|zstd|bz2|xz|lz4|Z)$")
_NUMBER = re.compile(rf"[.\-_](\d{{1,5}}){_PACKED}$")
_STAMP = re.compile(r"\d{4}-?\d\d-?\d\d[\dT:.\-_]*")


@lru_cache(maxsize=4096)
def live_name(name: str) -> str:
    """The name under which a rolled file was written: `access.log` for `access.log.2.gz` and for `access-2026-11-30T00.log`.

    A name that does not look rolled is its own.
    """
    if stamped := _STAMPED.match(name):
        return stamped["stem"] + stamped["ext"]
    if later := _LATER.match(name):
        return later["base"]
    if packed := _ONLY_PACKED.match(name):
        return packed["base"]
    return name


def is_rolled(name: str, live: str) -> bool:
    """Tell whether a file called `name` is an earlier generation of the log called `live`, as far as names tell."""
    return name != live and live_name(name) == live


def age_order(names: Iterable[str]) -> list[str] | None:
    """Sort rolled names from the oldest to the newest, or None where the names alone don't say.

    Time stamps in names sort as text. Numbers grow with age (`.2` is older than `.1`).
    """
    names = list(names)
    stamps = {name: found[0] for name in names if (found := _STAMP.search(name))}
    if len(stamps) == len(names):
        return sorted(names, key=lambda name: (stamps[name], name))
    numbers = {name: int(found[1]) for name in names if (found := _NUMBER.search(name))}
    if not stamps and len(numbers) == len(names):
        return sorted(names, key=lambda name: (-numbers[name], name))
    return None


def live_paths(pattern: str) -> list[str]:
    """The paths that match a shell pattern, without rolled and compressed generations of logs (case 100)."""
    found = glob(pattern)  # noqa: PTH207 - a Path can't take a pattern that may be absolute
    return sorted(path for path in found if live_name(Path(path).name) == Path(path).name)
