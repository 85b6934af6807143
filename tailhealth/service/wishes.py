"""From the engine's state to what the proxy shall look like: the wish for each upstream."""

from __future__ import annotations

from math import inf

from tailhealth.core.member import Member
from tailhealth.core.model import Carried, Decision
from tailhealth.core.pool import PoolState
from tailhealth.proxies.base import UpstreamState
from tailhealth.service.state import Contents, Wish, Wished


def wish_for(pool: PoolState, member: Member, at: float) -> Wish:
    """Return how an upstream shall stand in the proxy as of `at`. In an observed pool nothing is ever wanted."""
    ejection, rules = member.ejection, pool.rules
    if not rules.enforce:
        return Wish(UpstreamState.SERVING, at)
    if ejection is not None:
        return Wish(UpstreamState.OUT, ejection.since, ejection.until, ejection.why or ejection.reason.value)
    limit = None if member.probation is None or rules.probation is None else rules.probation.max_in_flight
    if limit is None or member.spec.shared:
        return Wish(UpstreamState.SERVING, at)
    return Wish(UpstreamState.LIMITED, at, max_in_flight=limit, good_peers=_good_peers(pool, member))


def _good_peers(pool: PoolState, member: Member) -> tuple[str, ...]:
    """Name the others that may carry the load that a limited one does not: their latest outcome is not bad."""
    others = (one for one in pool.members.values() if one is not member and one.is_in and one.probation is None)
    return tuple(one.address for one in others if one.window.newest == -inf or one.window.latest is None)


def concerned(decisions: list[Decision]) -> list[tuple[str, str]]:
    """Name the (pool, upstream) pairs that decisions are about, each once, in order."""
    return list(dict.fromkeys((one.pool, one.upstream) for one in decisions))


def still_wished(contents: Contents, now: float) -> tuple[Wished, ...]:
    """Return which wishes of an earlier run the engine will have again at `now`, from what it carries over.

    The others are stale: their time is over, or the run died between a decision and its change of the proxy.
    """
    carried = {(one.pool, one.upstream): one for one in contents.carried}
    return tuple(one for one in contents.wished if _stands(one, carried.get((one.pool, one.upstream)), now))


def _stands(wished: Wished, carried: Carried | None, now: float) -> bool:
    if carried is None:
        return False
    if wished.wish.state is UpstreamState.LIMITED:
        return carried.ejection is None and carried.probation_since is not None
    return carried.ejection is not None and (carried.ejection.until is None or carried.ejection.until > now)
