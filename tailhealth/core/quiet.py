"""Pools that are too quiet to be judged by ratio, and a `within` that would do (DESIGN section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

import msgspec

from tailhealth.core.member import Member
from tailhealth.core.pool import PoolState

MARGIN = 2.0
"""The proposed `within` holds this many times `min_requests` at the rate seen: traffic comes in clumps."""
LONGEST = 86_400.0
"""Nothing longer is proposed: what was bad a day ago says little about now."""
_STEPS = (60.0, 300.0, 900.0, 3600.0)
"""Proposals are whole multiples of the greatest of these that is at most a quarter of them, in seconds."""


class TooQuiet(msgspec.Struct, frozen=True):
    """A pool in which some upstreams had fewer than `min_requests` counted outcomes within `within`."""

    pool: str
    upstreams: tuple[str, ...]
    min_requests: int
    within: float
    proposed: float | None
    """A `within` that would hold enough of them; None: not even a day would."""


def too_quiet(pools: Iterable[PoolState], at: float, since: float) -> tuple[TooQuiet, ...]:
    """Find the pools whose quiet upstreams can't be judged by ratio as of `at`, of all that was read since `since`."""
    found = []
    for pool in pools:
        rules = pool.rules.window
        if rules.ratio is None or since > at - rules.within:
            continue
        quiet = [one for one in pool.members.values() if _is_quiet(one, at)]
        if quiet:
            fewest = min(_counted(one) for one in quiet)
            found.append(
                TooQuiet(
                    pool.name,
                    tuple(one.address for one in quiet),
                    rules.min_requests,
                    rules.within,
                    proposed_within(fewest, at - since, rules.min_requests),
                )
            )
    return tuple(found)


def proposed_within(counted: int, seconds: float, min_requests: int) -> float | None:
    """Propose a `within`, in seconds, for an upstream that had so many counted outcomes in so many seconds.

    None: it would be longer than a day.
    """
    if counted <= 0:
        return None
    needed = MARGIN * min_requests * seconds / counted
    step = max((one for one in _STEPS if one * 4 <= needed), default=_STEPS[0])
    rounded = ceil(needed / step) * step
    return rounded if rounded <= LONGEST else None


def _is_quiet(member: Member, at: float) -> bool:
    """What is out, or was emptied within `within`, is quiet for another reason; a backup is quiet by its nature."""
    rules = member.rules.window
    settled = member.is_in and member.probation is None and member.acted_at <= at - rules.within
    return settled and member.is_primary and member.spec.weight > 0 and member.seen(at).counted < rules.min_requests


def _counted(member: Member) -> int:
    return member.totals.good + member.totals.bad.total()
