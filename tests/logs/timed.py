"""Little lines with a time, and a reader of times, for tests of the readers of files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from tailhealth.logs.history import Block


def line(at: float, number: int = 0, size: int = 0) -> bytes:
    """A line with a time and a number, padded to at least `size` bytes."""
    return json.dumps({"ts": at, "uri": f"/r/{number}"}).encode().ljust(max(0, size - 1)) + b"\n"


def time_of(text: bytes) -> float | None:
    """The time of such a line, or of one of the cases."""
    found = re.search(rb'"(?:ts|msec)": ?"?(\d+(?:\.\d+)?)', text)
    return float(found[1]) if found else None


def uris(blocks: Iterable[Block]) -> list[str]:
    """The URIs of all lines, in order."""
    found = [re.findall(rb'"uri": ?"([^"]*)"', block.data) for block in blocks]
    return [uri.decode() for block in found for uri in block]


def numbers(blocks: Iterable[Block]) -> list[int]:
    """The numbers of all lines, in order."""
    return [int(uri.rpartition("/")[2]) for uri in uris(blocks)]
