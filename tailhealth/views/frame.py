"""What `top` shows, and how the one who looks wants it shown: values only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, tzinfo
from enum import StrEnum
from typing import NamedTuple, Protocol

from tailhealth.core.model import Decision
from tailhealth.core.view import View
from tailhealth.views.stats import StatsView


class InputHealth(Protocol):
    """How well one log can be read."""

    @property
    def path(self) -> str:
        """Its name."""
        ...

    @property
    def state(self) -> str:
        """What the follower says of it, in a word."""
        ...

    @property
    def why(self) -> str:
        """Why it can't be read; empty: it can."""
        ...

    @property
    def lines(self) -> int:
        """Lines read."""
        ...

    @property
    def skipped(self) -> dict[str, int]:
        """Lines that could not be used, by reason."""
        ...

    @property
    def newest(self) -> float | None:
        """Time of the newest line, epoch seconds."""
        ...

    @property
    def late_by(self) -> float | None:
        """Seconds by which the newest line lagged behind the clock."""
        ...

    @property
    def hints(self) -> dict[str, str]:
        """Problems of the setup: code to sentence."""
        ...


class Frame(NamedTuple):
    """All that one screen is made of, at one moment."""

    view: View
    stats: StatsView
    inputs: Sequence[InputHealth]
    decisions: Sequence[Decision]
    """The oldest first."""
    now: float
    """Current time in epoch seconds: of the wall clock, or of the history that is being played."""
    notes: tuple[str, ...] = ()
    """What stands in the way, each a sentence: the proxy's admin interface can't be reached, and the like."""
    caption: str = ""
    """What whoever shows this wants to say about it."""


class Sort(StrEnum):
    """By what the upstreams of a pool are ordered."""

    POOL = "pool"
    URGENCY = "urgency"
    RATE = "req/s"
    SLOWEST = "p95"
    BAD = "bad"

    @property
    def following(self) -> Sort:
        """Return the next one, in a circle."""
        all_of_them = list(Sort)
        return all_of_them[(all_of_them.index(self) + 1) % len(all_of_them)]


class Look(NamedTuple):
    """How the one who looks wants it shown."""

    zone: tzinfo = UTC
    mode: str = "live"
    """Where it comes from: live, attached, history x60."""
    sort: Sort = Sort.POOL
    filter: str = ""
    typing: bool = False
    """The filter is being typed."""
    paused: bool = False
    help: bool = False
    plain: bool = False
    """ASCII signs only."""
