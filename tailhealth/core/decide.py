"""From what a pool shows to decisions: eject, readmit, withhold, recover (DESIGN sections 5 to 7).

Every function here is asked at a moment and acts as of that moment. Decisions are collected in the order in which they are
taken; nothing here applies them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tailhealth.core.member import Member
from tailhealth.core.model import Action, Counts, Decision, Ejection, Evidence, Outcome, Reason, Source, Verdict
from tailhealth.core.policy import Comparison, time_out
from tailhealth.core.pool import Objection, PoolState, Tripped
from tailhealth.core.timers import Due, Timer, Timers

ASK_AGAIN = 1.0
"""A withheld trip is asked about again at most once in this many seconds of engine time."""
_GUARD_3 = (Reason.MAX_EJECTED, Reason.MIN_SERVING)
_NOTHING = Evidence(0, 0, {})


class Decider:
    """Takes decisions about the members of pools and sets the timers that follow from them."""

    def __init__(self, timers: Timers) -> None:
        self.decisions: list[Decision] = []
        self._timers = timers

    def take(self) -> list[Decision]:
        """Hand over the decisions since the last time."""
        decisions, self.decisions = self.decisions, []
        return decisions

    # Asking

    def consider(self, pool: PoolState, member: Member, outcome: Outcome, ended: float, at: float) -> None:
        """Take an outcome that was just added: prove, end or break a probation, and ask where it may matter.

        A trip is asked about at a bad outcome, at one more attempt that nobody answered, and at any outcome while a trip is
        withheld. A line so late that it lies before the span of a busy window counts for the past and never trips now.
        """
        counted = outcome.verdict is not Verdict.IGNORED
        if outcome.verdict is Verdict.GOOD and member.strikes:
            member.prove(ended)
        if counted and member.probation is not None:
            self._hear(pool, member, outcome, at)
        suspicious = outcome.verdict is Verdict.BAD or member.hangs(ended)
        if (suspicious or member.withheld is not None) and ended >= at - pool.rules.window.span:
            self.ask(pool, member, at)
        member.relax()

    def _hear(self, pool: PoolState, member: Member, outcome: Outcome, at: float) -> None:
        probation = member.probation
        if probation is None:
            return
        probation.heard = at
        if outcome.verdict is Verdict.GOOD:
            probation.good += 1
        else:
            probation.bad += 1
        self.end_probation(pool, member, at)
        self.set_untested(pool, member)

    def ask(self, pool: PoolState, member: Member, at: float) -> None:
        """Ask about one member: something bad was seen of it, or a withheld trip may no longer stand."""
        if member.withheld is not None and at < member.asked_at + ASK_AGAIN:
            return
        self.judge(pool, [member], at)

    def judge(self, pool: PoolState, members: Iterable[Member], at: float) -> None:
        """Judge members together: of simultaneous trips the greatest bad share goes first, then the pool's order."""
        found = []
        for member in members:
            if member.ejection is not None:
                continue
            member.asked_at = at
            tripped = pool.tripped(member, at)
            if tripped is not None:
                found.append(tripped)
            elif member.withheld is not None:
                self._clear(pool, member, at)
        for tripped in sorted(found, key=lambda one: (-one.seen.share, one.member.order)):
            # A relief on the way may have asked about it already.
            if tripped.member.ejection is None:
                self._act(pool, tripped, at)

    def judge_withheld(self, pool: PoolState, at: float) -> None:
        """Ask again about every trip that a guard held, now that the guard may have changed its mind."""
        self.judge(pool, [one for one in pool.members.values() if one.withheld is not None], at)

    def _act(self, pool: PoolState, tripped: Tripped, at: float) -> None:
        """Eject by the first reason that no guard objects to, else say what the first one met."""
        objections: list[Objection] = []
        for reason in tripped.reasons:
            objection = pool.objection(tripped, reason, at)
            if objection.reason is None:
                self._eject(pool, tripped, reason, objection.comparison, at)
                return
            objections.append(objection)
        self._withhold(pool, tripped, objections[0], at)
        if any(one.reason in _GUARD_3 for one in objections):
            self._relieve(pool, at)

    # Acting

    def _eject(self, pool: PoolState, tripped: Tripped, reason: Reason, comparison: Comparison | None, at: float) -> None:
        member = tripped.member
        member.forget_strikes(at)
        until = at + time_out(member.address, member.strikes, at, pool.rules.eject)
        ejection = Ejection(at, until, member.strikes, Source.POLICY, reason)
        member.strikes += 1
        self._put_out(pool, member, ejection)
        self._say(pool, member, Action.EJECT, reason, at, evidence=_evidence(tripped, comparison))

    def _put_out(self, pool: PoolState, member: Member, ejection: Ejection) -> None:
        member.leave(ejection)
        pool.last_ejection = ejection.since
        if ejection.until is not None:
            self._set(ejection.until, pool, member, Due.READMIT)
        self._timers.set(Timer(ejection.since + pool.rules.guard.settle, pool.order, 0, Due.SETTLED, pool.name, ""))

    def readmit(self, pool: PoolState, member: Member, reason: Reason, at: float, why: str = "") -> None:
        """Put an upstream back, on probation unless an operator says that it is well."""
        source = Source.OPERATOR if reason in (Reason.OPERATOR, Reason.OPERATOR_CONFIG) else Source.POLICY
        member.come_back(at, probation=source is Source.POLICY)
        if source is Source.OPERATOR:
            member.strikes = 0
        self.set_untested(pool, member)
        self._say(pool, member, Action.READMIT, reason, at, source=source, why=why)
        self.judge_withheld(pool, at)

    def _withhold(self, pool: PoolState, tripped: Tripped, objection: Objection, at: float) -> None:
        """Keep an upstream in against the rules, and say so when the reason is new."""
        member = tripped.member
        member.attentive = True
        if objection.reason is None or member.withheld is objection.reason:
            return
        member.withheld = objection.reason
        self.set_window_empty(pool, member, at)
        self._say(pool, member, Action.WITHHELD, objection.reason, at, evidence=_evidence(tripped, objection.comparison))

    def _relieve(self, pool: PoolState, at: float) -> None:
        """Bring the longest-out upstream back when another one may not go because too many are out."""
        member = pool.longest_out()
        if member is None or at - pool.last_relief < pool.rules.eject.base:
            return
        pool.last_relief = at
        self.readmit(pool, member, Reason.RELIEF, at)

    def _clear(self, pool: PoolState, member: Member, at: float) -> None:
        member.withheld = None
        self._say(pool, member, Action.RECOVERED, Reason.CLEARED, at, evidence=_seen(member, at))

    def end_probation(self, pool: PoolState, member: Member, at: float) -> None:
        """End a probation that is over: enough good outcomes, or too long without any. Not while decisions are stopped."""
        probation, rules = member.probation, pool.rules.probation
        if probation is None or pool.is_stopped is not None:
            return
        untested_at = member.untested_at
        if rules is None or probation.good >= rules.requests:
            reason = Reason.PROBATION
        elif untested_at is not None and at >= untested_at:
            reason = Reason.UNTESTED
        else:
            return
        member.probation = None
        self._say(pool, member, Action.RECOVERED, reason, at, evidence=_seen(member, at))

    # Operator

    def put_out_by_order(
        self, pool: PoolState, member: Member, until: float | None, at: float, why: str, *, force: bool
    ) -> None:
        """Eject by an operator's order: no strike, no guard but that a pool is not emptied unless forced."""
        if not force and pool.others(member).serving == 0:
            self._say(pool, member, Action.WITHHELD, Reason.MIN_SERVING, at, source=Source.OPERATOR, why=why)
            return
        member.pinned_in, member.pinned_until = False, None
        if member.ejection is not None:
            member.totals.out_seconds += at - member.ejection.since
            member.totals.ejections -= 1
        self._put_out(pool, member, Ejection(at, until, member.strikes, Source.OPERATOR, Reason.OPERATOR, why))
        self._say(pool, member, Action.EJECT, Reason.OPERATOR, at, source=Source.OPERATOR, why=why)

    # Timers

    def due(self, timer: Timer, pool: PoolState, member: Member) -> None:
        """Act on a member's timer, if the state still says what it said when the timer was set."""
        at = timer.at
        if timer.due is Due.READMIT:
            if member.ejection is not None and member.ejection.until == at:
                self.readmit(pool, member, Reason.TIMER, at)
        elif timer.due is Due.PIN_ENDS:
            if member.pinned_until == at:
                member.pinned_in, member.pinned_until = False, None
                self.judge_withheld(pool, at)
        elif timer.due is Due.UNTESTED:
            self.end_probation(pool, member, at)
        elif member.withheld is not None:
            self.judge(pool, [member], at)
            if member.withheld is not None:
                self.set_window_empty(pool, member, at)

    def set_untested(self, pool: PoolState, member: Member) -> None:
        """Set the end of a probation without traffic."""
        if member.untested_at is not None:
            self._set(member.untested_at, pool, member, Due.UNTESTED)

    def set_window_empty(self, pool: PoolState, member: Member, at: float) -> None:
        """Set the moment after `at` at which a withheld trip ends for want of outcomes."""
        newest = max(member.window.newest, member.headerless.unanswered.newest)
        if newest > float("-inf"):
            empty_at = max(newest + pool.rules.window.within, at + ASK_AGAIN)
            self._set(empty_at, pool, member, Due.WINDOW_EMPTY)

    def set_pause_ends(self, pool: PoolState) -> None:
        """Set the end of a pause."""
        if pool.paused is not None and pool.paused.until is not None:
            self._timers.set(Timer(pool.paused.until, pool.order, 0, Due.PAUSE_ENDS, pool.name, ""))

    def set_pin_ends(self, pool: PoolState, member: Member) -> None:
        """Set the end of a pin."""
        if member.pinned_until is not None:
            self._set(member.pinned_until, pool, member, Due.PIN_ENDS)

    def _set(self, at: float, pool: PoolState, member: Member, due: Due) -> None:
        self._timers.set(Timer(at, pool.order, member.order, due, pool.name, member.address))

    def renew(self, pools: Sequence[PoolState], now: float) -> None:
        """Set every timer anew from the state: pools or times have changed."""
        self._timers.replace([])
        for pool in pools:
            settled = pool.last_ejection + pool.rules.guard.settle
            if settled > now:
                self._timers.set(Timer(settled, pool.order, 0, Due.SETTLED, pool.name, ""))
            self.set_pause_ends(pool)
            for member in pool.members.values():
                self._renew_member(pool, member, now)

    def _renew_member(self, pool: PoolState, member: Member, now: float) -> None:
        if member.ejection is not None and member.ejection.until is not None:
            self._set(member.ejection.until, pool, member, Due.READMIT)
        self.set_pin_ends(pool, member)
        self.set_untested(pool, member)
        if member.withheld is not None:
            self.set_window_empty(pool, member, now)

    def _say(
        self,
        pool: PoolState,
        member: Member,
        action: Action,
        reason: Reason,
        at: float,
        *,
        source: Source = Source.POLICY,
        evidence: Evidence = _NOTHING,
        why: str = "",
    ) -> None:
        ejection = member.ejection
        self.decisions.append(
            Decision(
                at=at,
                pool=pool.name,
                upstream=member.address,
                action=action,
                reason=reason,
                source=source,
                enforced=pool.rules.enforce,
                until=ejection.until if ejection is not None and action is Action.EJECT else None,
                strikes=ejection.strikes if ejection is not None else member.strikes,
                evidence=evidence,
                why=why,
            )
        )


def _evidence(tripped: Tripped, comparison: Comparison | None) -> Evidence:
    seen = tripped.seen
    peers = None if comparison is None else Counts(comparison.counted, comparison.bad)
    return Evidence(seen.counted, seen.bad, dict(seen.kinds), peers, None if comparison is None else comparison.p)


def _seen(member: Member, at: float) -> Evidence:
    seen = member.seen(at)
    return Evidence(seen.counted, seen.bad, dict(seen.kinds))
