"""What the proxy's own configuration says of a log that we read: whether it holds every request (DESIGN section 3, Blind).

A log that is thinned has no honest ratio, and its lines alone tell that late or never. Codes are those of the readers' hints.
"""

from __future__ import annotations

from collections.abc import Sequence
from os.path import normpath
from pathlib import PurePath
from typing import TypeAlias

from tailhealth.config import STDIN
from tailhealth.proxies.base import LogOutput

Outputs: TypeAlias = tuple[LogOutput, ...]
"""The proxy's logs as its configuration tells of them."""

LEVEL_FILTER = "level_filter"
SAMPLING = "sampling"


def thinned(path: str, outputs: Sequence[LogOutput]) -> dict[str, str]:
    """Say what is left out of the log at a path, by code; empty: nothing is, or nobody can tell.

    Args:
        path: The log as our configuration names it.
        outputs: What the proxy's configuration tells.
    """
    found = {}
    for one in _behind(path, outputs):
        if one.level:
            found[LEVEL_FILTER] = (
                f"the proxy keeps the log {one.name!r} at level {one.level}, which leaves out the requests that went well, so"
                " it has no honest ratio; set `level INFO` for it, or `level DEBUG` for round-trip lines"
            )
        if one.sampled:
            found[SAMPLING] = (
                f"the proxy writes only some lines of the log {one.name!r} (`sampling`), which leaves no honest ratio; switch"
                " it off for this log"
            )
    return found


def _behind(path: str, outputs: Sequence[LogOutput]) -> list[LogOutput]:
    """Find the logs of the proxy that are the one at a path. In a container, or by a link, it may have another folder there."""
    files = [one for one in outputs if one.path]
    same = [one for one in files if normpath(one.path) == normpath(path)]
    if not same:
        same = [one for one in files if PurePath(one.path).name == PurePath(path).name]
    if same or (files and path != STDIN):
        return same
    # Standard input, or a container's own log: whatever is written to the console, if all of it is thinned.
    console = [one for one in outputs if not one.path]
    return console if all(one.level or one.sampled for one in console) else []
