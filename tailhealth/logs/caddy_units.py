"""The unit of Caddy's `duration`: seconds with a fraction, whole milliseconds or nanoseconds, or Go's text."""

from __future__ import annotations

from tailhealth.logs.values import seconds

SURELY_MS = 1_000
"""No request takes under 1,000 ns: a whole number below this counts milliseconds."""
LIKELY_NS = 3_600_000
"""A whole number from this on is taken as nanoseconds (a few ms) and not as milliseconds (over an hour), until proof."""
SURELY_FINITE = 1e15
"""No duration is longer."""
APART = 1e4
"""One duration counted in ms and in ns differs by a million: a number this many times the header's ms counts ns."""


class DurationUnit:
    """Finds out in which unit one file writes durations, and never guesses.

    Args:
        given: The unit that the operator named, a key of `values.UNITS`; None: find out.
    """

    def __init__(self, given: str | None = None) -> None:
        self.unit = given
        """Unit of numbers without one; None while it is unknown."""
        self.assumed = False
        """The unit was told from the size of the numbers."""
        self.undecided = 0
        """Durations left out because their unit could not be told."""

    def seconds(self, value: object, header: float | None = None) -> float | None:
        """Read a duration; None if it is absent or its unit can't be told.

        Args:
            value: As it stands in the line.
            header: Seconds to the header of the same request, which are no more than its duration.

        Raises:
            ValueError: It is no duration.
        """
        if type(value) is float and self.unit == "s" and 0.0 <= value <= SURELY_FINITE:
            return value
        if self.unit is None or self.assumed:
            self._tell(value, header)
        if self.unit is None and isinstance(value, int | float) and value > 0:
            self.undecided += 1
            return None
        return seconds(value, self.unit or "s")

    def _tell(self, value: object, header: float | None) -> None:
        """Tell the unit by one number: proof replaces what was only likely."""
        if isinstance(value, float):
            # Only seconds are written with a fraction or an exponent.
            self.unit, self.assumed = "s", False
        elif not isinstance(value, int) or isinstance(value, bool) or value <= 0:
            return
        elif header is not None and value + 1 < header * 1e3:
            self.unit, self.assumed = "s", True  # as milliseconds it would be shorter than its header took
        elif value < SURELY_MS:
            self.unit, self.assumed = "ms", True
        elif self.unit is None and header:
            self.unit, self.assumed = ("ns" if value >= header * 1e3 * APART else "ms"), True
        elif self.unit is None and value >= LIKELY_NS:
            self.unit, self.assumed = "ns", True
