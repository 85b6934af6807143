"""What an operator's commands do (DESIGN section 7, Operator commands), and his new rules (section 8, SIGHUP)."""

from __future__ import annotations

from tailhealth.core.decide import Decider
from tailhealth.core.member import Member
from tailhealth.core.model import Command, Paused, Reason, Source, Verb
from tailhealth.core.pool import PoolState
from tailhealth.core.registry import Registry
from tailhealth.core.rules import Settings


def obey(command: Command, registry: Registry, decider: Decider, at: float) -> None:
    """Carry out a command in the pool that it names, or in all pools of its address."""
    if command.verb is Verb.PAUSE:
        for pool in registry.pause(Paused(command.pool, _until(command, at), command.why)):
            decider.set_pause_ends(pool)
    elif command.verb is Verb.RESUME:
        for pool in registry.resume(command.pool):
            resumed(pool, decider, at)
    else:
        for pool in list(registry.pools.values()):
            member = pool.members.get(command.upstream)
            if member is not None and command.pool in (None, pool.name):
                _one(command, pool, member, decider, at)


def resumed(pool: PoolState, decider: Decider, at: float) -> None:
    """Decisions may be taken again: ask about what was held, then finish what was due meanwhile.

    A probation can't end while decisions are stopped, so that a bad outcome in that time fell into it.
    """
    if pool.is_stopped is not None:
        return
    decider.judge_withheld(pool, at)
    for member in pool.members.values():
        decider.end_probation(pool, member, at)


def reconfigure(settings: Settings, registry: Registry, decider: Decider, at: float) -> None:
    """Let other rules hold: windows, ejections and pauses stay, and what a guard held is asked about again."""
    registry.reconfigure(settings)
    pools = list(registry.pools.values())
    decider.renew(pools, at)
    for pool in pools:
        resumed(pool, decider, at)


def _one(command: Command, pool: PoolState, member: Member, decider: Decider, at: float) -> None:
    until = _until(command, at)
    match command.verb:
        case Verb.EJECT | Verb.PIN_OUT:
            decider.put_out_by_order(pool, member, until, at, why=command.why, force=command.force)
        case Verb.READMIT:
            _readmit(command, pool, member, decider, at)
        case Verb.PIN_IN:
            member.pinned_in, member.pinned_until = True, until
            decider.set_pin_ends(pool, member)
            if member.ejection is not None:
                decider.readmit(pool, member, Reason.OPERATOR, at, command.why)
        case Verb.UNPIN:
            if member.pinned_in:
                member.pinned_in, member.pinned_until = False, None
                decider.judge_withheld(pool, at)
            elif member.ejection is not None and member.ejection.source is Source.OPERATOR:
                _readmit(command, pool, member, decider, at)


def _readmit(command: Command, pool: PoolState, member: Member, decider: Decider, at: float) -> None:
    """Bring it back, or end its probation: an operator says that it is well."""
    if member.ejection is not None:
        reason = Reason.OPERATOR_CONFIG if command.by_config else Reason.OPERATOR
        decider.readmit(pool, member, reason, at, command.why)
    else:
        member.probation = None
        member.strikes = 0
        member.forget_outcomes()


def _until(command: Command, at: float) -> float | None:
    return None if command.duration is None else at + command.duration
