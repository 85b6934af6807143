"""From measured header times to a threshold: round, above every healthy answer, with a margin."""

from __future__ import annotations

from collections.abc import Mapping

from tailhealth.core.measure import Measure, Place
from tailhealth.core.spread import Spread

MARGIN = 2.0
"""`slower_than` is at least so many times the longest healthy answer: the log has not seen everything."""
FEW = 30
"""With fewer healthy answers nothing is proposed."""
MOST_CANDIDATES = 6

_BELOW_A_SECOND = tuple(one * ten for ten in (0.001, 0.01, 0.1) for one in (1.0, 2.0, 3.0, 5.0))
_SECONDS = (1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0)
_MINUTES = tuple(60.0 * one for one in (1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 45, 60))
_ROUND = (*_BELOW_A_SECOND, *_SECONDS, *_MINUTES)
"""What people write, in seconds."""


def propose(places: Mapping[Place, Measure]) -> dict[Place, float]:
    """Propose `slower_than` for each place that has enough healthy answers; uploads are not judged by it."""
    return {
        place: threshold(measure.spread.longest)
        for place, measure in places.items()
        if not place.upload and measure.spread.count >= FEW
    }


def threshold(longest: float) -> float:
    """Return the least round duration that is at least `MARGIN` times the longest healthy answer, in seconds."""
    wanted = MARGIN * longest
    hours = -(-wanted // 3600.0) * 3600.0
    return next((round(one, 6) for one in _ROUND if one >= wanted), hours)


def candidates(spread: Spread) -> list[float]:
    """Name round durations among the healthy answers: what they would do shows why the threshold must not be lower."""
    low, high = spread.percentile(0.5) / 3, spread.longest
    found = [round(one, 6) for one in _ROUND if low <= one <= high]
    step = -(-len(found) // MOST_CANDIDATES)
    return found[::-1][::step][::-1] if step else []
