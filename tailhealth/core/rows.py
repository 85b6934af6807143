"""Attempts in a row that ended without a header (DESIGN section 5)."""

from __future__ import annotations

from bisect import bisect_left, insort
from math import inf
from typing import NamedTuple


class Stretch(NamedTuple):
    """A row as it reaches back from one moment."""

    attempts: int
    clients: int
    start: float
    """When its first attempt ended; infinity if there is none."""


class Row:
    """A row of attempts, each with its client. Only an attempt with a header breaks it.

    Args:
        longest: So many attempts are kept: more than any rule asks for.
    """

    __slots__ = ("_attempts", "_longest")

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._attempts: list[tuple[float, str]] = []

    def keep(self, longest: int) -> None:
        """Keep so many attempts from now on."""
        self._longest = longest

    def __bool__(self) -> bool:
        """Tell whether there is a row, whatever its age."""
        return bool(self._attempts)

    @property
    def attempts(self) -> int:
        """Count the attempts of the row, whatever their age."""
        return len(self._attempts)

    @property
    def newest(self) -> float:
        """When its last attempt ended; minus infinity if there is none."""
        return self._attempts[-1][0] if self._attempts else -inf

    def add(self, ended: float, client: str) -> None:
        """Add an attempt; one that comes late takes its place."""
        insort(self._attempts, (ended, client))
        del self._attempts[: max(0, len(self._attempts) - self._longest)]

    def break_at(self, ended: float) -> None:
        """An attempt that ended then had a header: what ended before or with it is no row any more."""
        if self._attempts:
            del self._attempts[: bisect_left(self._attempts, (ended, "\U0010ffff"))]

    def clear(self) -> None:
        """Forget the row."""
        self._attempts.clear()

    def since(self, edge: float) -> Stretch:
        """Return the part of the row that ended at `edge` or later."""
        part = self._attempts[bisect_left(self._attempts, (edge, "")) :]
        return Stretch(len(part), len({client for _, client in part}), part[0][0] if part else inf)
