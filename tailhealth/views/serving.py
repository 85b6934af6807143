"""How much of a pool the decisions left in rotation. Pure functions of values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import tzinfo
from typing import NamedTuple

from tailhealth.core.model import Action, Decision
from tailhealth.core.view import PoolView
from tailhealth.views.text import clock, harmless


class LeastServing(NamedTuple):
    """The worst moment of a pool."""

    pool: str
    serving: int
    """So many were not out by a decision, at the worst moment."""
    of: int
    """Upstreams that carry load: no backups, none with weight 0."""
    at: float | None
    """When that was first so, in epoch seconds; None: none was ever out."""


def least_serving(pool: PoolView, decisions: Iterable[Decision]) -> LeastServing:
    """Find the moment at which the fewest upstreams of a pool were in rotation.

    Args:
        pool: The pool as it was at the end.
        decisions: All of them, in order; those of other pools are passed over.
    """
    names = {one.address for one in pool.upstreams if not one.backup and one.weight > 0}
    out: set[str] = set()
    worst = LeastServing(pool.name, len(names), len(names), None)
    for decision in decisions:
        if decision.pool != pool.name or decision.upstream not in names:
            continue
        if decision.action is Action.EJECT:
            out.add(decision.upstream)
        elif decision.action is Action.READMIT:
            out.discard(decision.upstream)
        if len(names) - len(out) < worst.serving:
            worst = worst._replace(serving=len(names) - len(out), at=decision.at)
    return worst


def never_fewer(pools: Sequence[PoolView], decisions: Sequence[Decision], zone: tzinfo) -> list[str]:
    """Say of each pool how many of its upstreams were serving at the least, naming the pools where there are several."""
    told = []
    for pool in pools:
        least = least_serving(pool, decisions)
        if least.of:
            name = f"{harmless(pool.name, 60)}: never" if len(pools) > 1 else "Never"
            when = "" if least.at is None else f" (first at {clock(least.at, zone)})"
            told.append(f"{name} fewer than {least.serving} of {least.of} serving{when}.")
    return told
