"""Attempts in a row that ended without a header (DESIGN section 5)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from math import inf
from typing import NamedTuple

from tailhealth.core.rules import WindowRules
from tailhealth.core.window import KEPT


class Stretch(NamedTuple):
    """A row as it reaches back from one moment."""

    attempts: int
    clients: int
    start: float
    """When its first attempt ended; infinity if there is none."""


class Rows(NamedTuple):
    """Attempts in a row without a header."""

    refused: Stretch
    unanswered: Stretch


class Row:
    """A row of attempts, each with its client. Only an attempt with a header breaks it.

    Args:
        longest: So many attempts are kept: more than any rule asks for.
    """

    __slots__ = ("_clients", "_ends", "_longest")

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._ends = array("d")
        self._clients: list[str] = []

    def keep(self, longest: int) -> None:
        """Keep so many attempts from now on."""
        self._longest = longest

    def __bool__(self) -> bool:
        """Tell whether there is a row, whatever its age."""
        return bool(self._ends)

    @property
    def attempts(self) -> int:
        """Count the attempts of the row, whatever their age."""
        return len(self._ends)

    @property
    def newest(self) -> float:
        """When its last attempt ended; minus infinity if there is none."""
        return self._ends[-1] if self._ends else -inf

    def add(self, ended: float, client: str) -> None:
        """Add an attempt; one that comes late takes its place, and those that ended together stand by their clients."""
        ends, clients = self._ends, self._clients
        place = bisect_right(clients, client, bisect_left(ends, ended), bisect_right(ends, ended))
        ends.insert(place, ended)
        clients.insert(place, client)
        self._drop(len(ends) - self._longest)

    def break_at(self, ended: float) -> None:
        """An attempt that ended then had a header: what ended before or with it is no row any more."""
        if self._ends:
            self._drop(bisect_right(self._ends, ended))

    def _drop(self, oldest: int) -> None:
        if oldest > 0:
            del self._ends[:oldest], self._clients[:oldest]

    def clear(self) -> None:
        """Forget the row."""
        self._drop(len(self._ends))

    def since(self, edge: float) -> Stretch:
        """Return the part of the row that ended at `edge` or later."""
        first = bisect_left(self._ends, edge)
        start = self._ends[first] if first < len(self._ends) else inf
        return Stretch(len(self._ends) - first, len(set(self._clients[first:])), start)


class Headerless:
    """The attempts without a header at one upstream: refused ones in a row, and those that waited long, in a row and all."""

    __slots__ = ("_silences", "refused", "unanswered")

    def __init__(self, rules: WindowRules) -> None:
        self.refused = Row(_longest(rules.consecutive_refused))
        self.unanswered = Row(_longest(rules.consecutive_unanswered))
        self._silences = array("d")
        """When the latest long ones ended, in the order in which they were seen."""

    def take_rules(self, rules: WindowRules) -> None:
        """Let these rules hold from now on."""
        self.refused.keep(_longest(rules.consecutive_refused))
        self.unanswered.keep(_longest(rules.consecutive_unanswered))

    def __bool__(self) -> bool:
        """Tell whether there is a row, whatever its age."""
        return bool(self.refused or self.unanswered)

    def add(self, ended: float, client: str, *, in_a_row: bool, refused: bool, waited: bool) -> None:
        """Add an attempt; `waited`: for at least `unanswered_after`."""
        if refused and in_a_row:
            self.refused.add(ended, client)
        if waited:
            self._silences.append(ended)
            del self._silences[:-KEPT]
            if in_a_row:
                self.unanswered.add(ended, client)

    def break_at(self, ended: float) -> None:
        """An attempt that ended then had a header."""
        self.refused.break_at(ended)
        self.unanswered.break_at(ended)

    def clear(self) -> None:
        """Forget all of them."""
        self.refused.clear()
        self.unanswered.clear()
        del self._silences[:]

    def since(self, edge: float) -> Rows:
        """Return the rows as far as they ended at `edge` or later."""
        return Rows(self.refused.since(edge), self.unanswered.since(edge))

    def long_ones(self, start: float, at: float) -> int:
        """Count those that waited long and ended between `start` and `at`, whatever stood between them."""
        return sum(start <= ended <= at for ended in self._silences) if self._silences else 0


def _longest(limit: int | None) -> int:
    return max(KEPT, limit or 0)
