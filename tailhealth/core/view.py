"""The engine's state as values, for everything that shows it: status, top, explain, metrics."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tailhealth.core.engine import Engine
from tailhealth.core.member import Member
from tailhealth.core.model import Ejection
from tailhealth.core.policy import matches_any
from tailhealth.core.pool import PoolState


class Standing(StrEnum):
    """Where an upstream stands."""

    SERVING = "serving"
    PROBATION = "probation"
    OUT = "out"
    HELD_DOWN = "held_down"
    """In the list, and held down by the proxy's own checks."""


class UpstreamView(msgspec.Struct, frozen=True):
    """One upstream in one pool, at one moment."""

    address: str
    standing: Standing
    ejection: Ejection | None
    withheld: str | None
    """The guard that keeps it in although it tripped."""
    pinned: bool
    protected: bool
    strikes: int
    weight: int
    backup: bool
    counted: int
    bad: int
    """Counted and bad outcomes in its window now."""
    kinds: dict[str, int]
    in_flight: int | None
    """As the proxy last counted; None: it was not asked or did not say."""
    streaming: int
    stalled: int
    probation_good: int
    probation_needs: int
    good_total: int
    bad_total: dict[str, int]
    ignored_total: dict[str, int]
    ejections: int
    out_seconds: float
    avoided_bad: int
    lost_good: int


class PoolView(msgspec.Struct, frozen=True):
    """One pool, at one moment."""

    name: str
    enforced: bool
    paused: bool
    blind: dict[str, str]
    """Sources that can't be trusted, with the reason."""
    stalled_off: str | None
    """Why requests in flight are not judged; None: they are."""
    upstreams: tuple[UpstreamView, ...]


class View(msgspec.Struct, frozen=True):
    """All pools, at one moment."""

    at: float
    attempts: int
    late_lines: int
    unmanaged_attempts: int
    unmanaged: tuple[str, ...]
    pools: tuple[PoolView, ...]


def view(engine: Engine, at: float) -> View:
    """Show the engine's state as of `at` (epoch seconds)."""
    return View(
        at=at,
        attempts=engine.attempts,
        late_lines=engine.late_lines,
        unmanaged_attempts=engine.strangers.attempts,
        unmanaged=tuple(engine.strangers.names()[:20]),
        pools=tuple(_pool(engine, pool, at) for pool in engine.pools.values()),
    )


def _pool(engine: Engine, pool: PoolState, at: float) -> PoolView:
    return PoolView(
        name=pool.name,
        enforced=pool.rules.enforce,
        paused=pool.paused is not None,
        blind=dict(pool.blind),
        stalled_off=_stalled_off(engine, pool, at),
        upstreams=tuple(_upstream(engine, member, at) for member in pool.members.values()),
    )


def _stalled_off(engine: Engine, pool: PoolState, at: float) -> str | None:
    if pool.rules.bad.stalled_after is None:
        return "stalled_after is off"
    members = pool.members.values()
    if members and all(one.flights.count is None for one in members):
        return "the proxy does not tell its requests in flight"
    if not any(pool.judges_stalled(one, at, roundtrips=engine.join.has_roundtrips(one.names)) for one in members):
        return "long bodies were seen, and no round-trip lines tell waiting from streaming"
    return None


def _upstream(engine: Engine, member: Member, at: float) -> UpstreamView:
    seen, totals = member.seen(at), member.totals
    return UpstreamView(
        address=member.address,
        standing=_standing(member),
        ejection=member.ejection,
        withheld=None if member.withheld is None else member.withheld.value,
        pinned=member.pinned_in,
        protected=matches_any(member.address, member.rules.guard.protected),
        strikes=member.strikes,
        weight=member.spec.weight,
        backup=member.spec.backup,
        counted=seen.counted,
        bad=seen.bad,
        kinds=dict(seen.kinds),
        in_flight=member.flights.count,
        streaming=engine.join.streaming(member.names),
        stalled=member.stalled_now(),
        probation_good=0 if member.probation is None else member.probation.good,
        probation_needs=member.proof_rules().requests,
        good_total=totals.good,
        bad_total={str(kind): count for kind, count in totals.bad.items()},
        ignored_total={str(kind): count for kind, count in totals.ignored.items()},
        ejections=totals.ejections,
        out_seconds=totals.out_seconds + (at - member.ejection.since if member.ejection is not None else 0.0),
        avoided_bad=totals.avoided_bad,
        lost_good=totals.lost_good,
    )


def _standing(member: Member) -> Standing:
    if member.ejection is not None:
        return Standing.OUT
    if member.spec.held_down:
        return Standing.HELD_DOWN
    return Standing.SERVING if member.probation is None else Standing.PROBATION
