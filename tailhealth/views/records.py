"""What scripts read: the JSON objects of `replay --json` and `parse --json` (DESIGN section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tailhealth.core.model import Decision
from tailhealth.core.view import PoolView, UpstreamView, View
from tailhealth.logs.reading import Tally
from tailhealth.views.serving import least_serving

VERSION = 1


def decision_record(decision: Decision) -> dict[str, Any]:
    """Return a decision as an object; `why` is there only if somebody gave a reason."""
    record: dict[str, Any] = {"v": VERSION, **msgspec.to_builtins(decision)}
    if not decision.why:
        del record["why"]
    return record


def replay_summary(view: View, tally: Tally, notes: list[str], decisions: Sequence[Decision]) -> dict[str, Any]:
    """Return the last object of a replay: what was read, and what came of it per upstream."""
    upstreams = [(pool.name, one) for pool in view.pools for one in pool.upstreams]
    names = [one.address for _, one in upstreams]
    return {
        "v": VERSION,
        "summary": {
            "lines": tally.lines,
            "attempts": view.attempts,
            "skipped": dict(tally.skipped),
            "late_lines": view.late_lines,
            "unmanaged": view.unmanaged_attempts,
            "upstreams": {
                (one.address if names.count(one.address) == 1 else f"{pool} {one.address}"): _upstream(pool, one)
                for pool, one in upstreams
            },
            "pools": {pool.name: _pool(pool, decisions) for pool in view.pools},
            "avoided_bad": sum(one.avoided_bad for _, one in upstreams),
            "lost_good": sum(one.lost_good for _, one in upstreams),
            "hints": list(tally.hints.values()),
            "notes": notes,
        },
    }


def _pool(pool: PoolView, decisions: Sequence[Decision]) -> dict[str, Any]:
    least = least_serving(pool, decisions)
    return {"upstreams": len(pool.upstreams), "least_serving": least.serving}


def _upstream(pool: str, one: UpstreamView) -> dict[str, Any]:
    return {
        "pool": pool,
        "good": one.good_total,
        "bad": one.bad_total,
        "ignored": one.ignored_total,
        "ejections": one.ejections,
        "out_seconds": round(one.out_seconds, 3),
        "avoided_bad": one.avoided_bad,
        "lost_good": one.lost_good,
    }
