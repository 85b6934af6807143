"""What the loops for plain lines are given, and what they hand on."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from tailhealth.core.bulk import Bulk
from tailhealth.core.model import Attempt
from tailhealth.logs.order import AHEAD, DELAYED
from tailhealth.logs.values import FIRST_EPOCH


class Part(NamedTuple):
    """Plain attempts of lines that stand together, and what the rest of the file has to know of them."""

    entry: Attempt | Bulk
    size: int
    """How many attempts."""
    first: float
    """Time of the first line."""
    last: float
    """Time of the last line."""
    below_500: bool
    """Some have a status below 500."""
    in_order: bool = True
    """No line is earlier than the one before it."""


class Bounds(NamedTuple):
    """Between which times a line may stand."""

    low: float
    high: float
    before: float
    """Time of the line before."""
    leap: float
    """So many seconds after the line before it at most."""

    def after(self, line: float) -> Bounds:
        """Return what holds for the next line."""
        return self if self.leap == inf else Bounds(self.low, self.high, line, self.leap)


def live_bounds(now: float) -> Bounds:
    """Return what holds for lines that come at `now`."""
    return Bounds(now - DELAYED, now + AHEAD, -inf, inf)


def past_bounds(before: float) -> Bounds:
    """Return what holds in history, where only the line before tells that a time lies in the future."""
    return Bounds(FIRST_EPOCH, inf, before, AHEAD)
