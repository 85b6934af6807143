"""What a follower says about itself, and the values it is given."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tailhealth.logs.start import TimeOf


class State(StrEnum):
    """Whether the log can be read."""

    FOLLOWING = "following"
    WAITING = "waiting"
    """There is no file at the path, yet or any more. What is still open is read on."""
    UNREADABLE = "unreadable"
    """There is one and it can't be read; heals by itself when the cause goes away. Means blind (DESIGN section 3)."""
    ENDED = "ended"
    """Standard input was closed."""


class Status(NamedTuple):
    """The state of a follower."""

    state: State
    since: float
    """When the state began, by the follower's own clock."""
    why: str = ""
    """Cause and remedy, for people."""


class GapKind(StrEnum):
    """Why lines may be missing."""

    TRUNCATED = "truncated"
    """The file was emptied and no copy of it was found."""
    GONE = "gone"
    """The generation that was being read is nowhere to be found."""
    BROKEN = "broken"
    """A compressed generation is cut off or damaged."""
    OTHER = "other"
    """A compressed generation begins like the one that was being read, and goes on otherwise."""


class Gap(NamedTuple):
    """Lines that could not be delivered, or may not have been: what follows `offset` in this generation."""

    kind: GapKind
    path: str
    fingerprint: str
    offset: int


@dataclass(slots=True)
class Counts:
    """What happened since the follower began."""

    rotations: int = 0
    """The path led to another file than before."""
    truncations: int = 0
    gaps: int = 0
    oversized: int = 0
    """Lines dropped because they were longer than the longest allowed."""
    holes: int = 0
    """NUL bytes passed over."""


class Begin(NamedTuple):
    """Start at the beginning of the file that is there."""


class End(NamedTuple):
    """Start after the last whole line of the file that is there. A file that appears later is read from its beginning."""


class Since(NamedTuple):
    """Start at the first line whose time is at least `time`, in the file that is there or in one rolled away before it.

    Lines are expected to be in order by and large; a compressed generation is unpacked for it only if it is small.
    """

    time: float
    """Epoch seconds."""
    time_of: TimeOf


Start = Begin | End | Since
