"""What an upstream carries over a restart of the controller; everything else is history, which the log tells."""

from __future__ import annotations

from math import inf

from tailhealth.core.member import Member, Probation
from tailhealth.core.model import Carried


def carry(member: Member, pool: str) -> Carried | None:
    """Return what must survive a restart; None: nothing, since nothing was ever done to it."""
    if member.acted_at == -inf and not member.pinned_in:
        return None
    probation = member.probation
    return Carried(
        pool=pool,
        upstream=member.address,
        ejection=member.ejection,
        probation_since=None if probation is None else probation.since,
        probation_good=0 if probation is None else probation.good,
        probation_bad=0 if probation is None else probation.bad,
        probation_heard=None if probation is None else probation.heard,
        strikes=member.strikes,
        proof_since=None if member.proof_since == -inf else member.proof_since,
        proof_good=member.proof_good,
        pinned_in=member.pinned_in,
        pinned_until=member.pinned_until,
        acted_at=None if member.acted_at == -inf else member.acted_at,
    )


def resume(member: Member, carried: Carried) -> None:
    """Take up what was carried over a restart."""
    member.ejection = carried.ejection
    if carried.probation_since is not None:
        heard = carried.probation_since if carried.probation_heard is None else carried.probation_heard
        member.probation = Probation(carried.probation_since, carried.probation_good, carried.probation_bad, heard)
    member.strikes = carried.strikes
    member.proof_since = -inf if carried.proof_since is None else carried.proof_since
    member.proof_good = carried.proof_good
    member.pinned_in = carried.pinned_in
    member.pinned_until = carried.pinned_until
    member.acted_at = -inf if carried.acted_at is None else carried.acted_at
    if carried.ejection is not None:
        member.acted_at = max(member.acted_at, carried.ejection.since)
    member.attentive = True
