"""One pool: its members, what stops decisions in it, and what the guards say (DESIGN section 7)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import msgspec

from tailhealth.core.flights import Flights
from tailhealth.core.join import Join
from tailhealth.core.judge import GOOD, SWITCHING_PROTOCOLS
from tailhealth.core.member import Member
from tailhealth.core.model import Attempt, Ejection, Kind, Outcome, Paused, Pool, PoolMember, Reason, Source
from tailhealth.core.patterns import Patterns
from tailhealth.core.policy import Comparison, Others, common_cause, matches_any, too_few_left, trips
from tailhealth.core.rules import PoolRules
from tailhealth.core.window import Seen

DAY = 86_400.0
_BY_LATEST = (Reason.CONSECUTIVE_REFUSED, Reason.PROBATION)


class Tripped(NamedTuple):
    """An upstream that should leave, by these rules."""

    member: Member
    seen: Seen
    reasons: tuple[Reason, ...]


class Objection(NamedTuple):
    """What a guard said about one reason: None for no objection."""

    reason: Reason | None
    comparison: Comparison | None


class PoolState:
    """A pool's members in the operator's order, and what the pool's decisions depend on."""

    def __init__(self, name: str, order: int, rules: PoolRules) -> None:
        self.name = name
        self.order = order
        self.spec = Pool(name, ())
        self.is_split = False
        """Only some of the attempts at its upstreams belong to it."""
        self._hosts = self._paths = Patterns(())
        self.members: dict[str, Member] = {}
        self.last_ejection = -inf
        self.last_relief = -inf
        self.streamed_at = -inf
        """Latest sign of long bodies: requests in flight then do not prove that a header is missing."""
        self.paused: Paused | None = None
        self.blind: dict[str, str] = {}
        """Sources that can't be trusted, with the reason."""

        self.take_rules(rules)

    def take_rules(self, rules: PoolRules) -> None:
        """Let these rules hold, for the members too; nothing that is known is lost."""
        self.rules = rules
        default = rules.bad.default
        self.not_plain = default.status | default.busy | default.busy_with_retry_after | {SWITCHING_PROTOCOLS}
        self.plain_below = self._plain_below()
        """With a header sooner than this and a status not in `not_plain`, an answered attempt is good, whatever else it is."""
        self.long_body = inf if rules.bad.stalled_after is None else rules.bad.stalled_after
        """A good attempt of at least so many seconds is a sign of long bodies."""
        for member in self.members.values():
            member.take_rules(rules)

    def update(self, spec: Pool, flights: Callable[[str], Flights]) -> list[Member]:
        """Take the operator's list as it is now; what is no longer in it is forgotten.

        Returns:
            The members that are new.
        """
        self.spec = spec
        self.is_split = bool(spec.hosts or spec.paths)
        self._hosts, self._paths = Patterns(spec.hosts), Patterns(spec.paths)
        self.plain_below = self._plain_below()
        fresh = []
        members: dict[str, Member] = {}
        for order, one in enumerate(spec.members):
            member = self.members.get(one.address)
            if member is None:
                member = Member(one, order, self.rules, flights(one.address))
                fresh.append(member)
            member.spec = one
            member.order = order
            members[one.address] = member
        self.members = members
        return fresh

    def _plain_below(self) -> float:
        bad, default = self.rules.bad, self.rules.bad.default
        if self.is_split or bad.routes or default.ignore or default.grpc_status or default.total_slower_than is not None:
            return -inf
        return inf if default.slower_than is None else default.slower_than

    def add(self, address: str, flights: Flights) -> Member:
        """Add an upstream that the log showed, where no proxy tells the pools."""
        member = Member(PoolMember(address), len(self.members), self.rules, flights)
        self.members[address] = member
        return member

    def takes(self, attempt: Attempt) -> bool:
        """Tell whether an attempt at one of its upstreams belongs to this pool."""
        return self._hosts.match(attempt.host.lower()) and self._paths.match(attempt.path)

    @property
    def is_stopped(self) -> Reason | None:
        """Say why no ejection may be decided now: paused by the operator, or blind."""
        if self.paused is not None:
            return Reason.PAUSED
        return Reason.BLIND if self.blind else None

    def judges_stalled(self, member: Member, at: float, *, roundtrips: bool) -> bool:
        """Tell whether requests in flight at a member prove anything (DESIGN section 4, Stalled)."""
        if self.rules.bad.stalled_after is None or member.spec.unfollowed or member.ejection is not None:
            return False
        return roundtrips or at - self.streamed_at > DAY

    def more_stalled(self, at: float, join: Join) -> list[Member]:
        """Take a new sample of requests in flight.

        Returns:
            The members to ask about: those that show more stalled ones than before, and those whose withheld trip may have
            ended because they show fewer.
        """
        concerned = []
        after = self.rules.bad.stalled_after
        for member in self.members.values():
            before, member.stalled = member.stalled, 0
            if after is not None and member.flights.count:
                roundtrips = join.has_roundtrips(member.names)
                member.stalled = member.flights.stalled(after) if self.judges_stalled(member, at, roundtrips=roundtrips) else 0
            if member.stalled > before or (member.stalled < before and member.withheld is not None):
                concerned.append(member)
        return concerned

    def note_body(self, attempt: Attempt, outcome: Outcome) -> None:
        """Remember a sign of long bodies: a switched connection, or a good attempt as long as a stalled one."""
        is_long = outcome is GOOD and attempt.duration is not None and attempt.duration >= self.long_body
        if is_long or attempt.status == SWITCHING_PROTOCOLS:
            self.streamed_at = max(self.streamed_at, attempt.ended)

    def shift(self, by: float) -> None:
        """Move every running time with a wall clock that was set."""
        self.last_ejection += by
        self.last_relief += by
        self.streamed_at += by
        if self.paused is not None and self.paused.until is not None:
            self.paused = msgspec.structs.replace(self.paused, until=self.paused.until + by)
        for member in self.members.values():
            member.shift(by)

    # What should leave, and what objects

    def tripped(self, member: Member, at: float) -> Tripped | None:
        """Ask the rules about a member as of `at`."""
        if member.probation is None and not member.may_trip(at):
            return None
        seen = member.seen(at)
        clients = self.rules.window.clients or (2 if self.spec.sticky else 1)
        reasons = trips(seen, member.rows(at), self.rules.window, clients)
        probation, limit = member.probation, self.rules.probation
        # Stalled ones are bad outcomes too, dated now; what was in flight at the readmission is not among them.
        if probation is not None and limit is not None and probation.bad + member.stalled_now() >= limit.bad:
            reasons = (Reason.PROBATION, *reasons)
        return Tripped(member, seen, reasons) if reasons else None

    def objection(self, tripped: Tripped, reason: Reason, at: float) -> Objection:
        """Ask the guards in their order; the first that objects gives its reason."""
        member = tripped.member
        plain = self._plain_objection(member)
        if plain is not None:
            return Objection(plain, None)
        comparison = None
        if self.rules.guard.common_cause:
            comparison = self._compare(member, reason, tripped.seen, at)
            if comparison.holds:
                return Objection(Reason.COMMON_CAUSE, comparison)
        if reason is not Reason.PROBATION and at < self.last_ejection + self.rules.guard.settle:
            return Objection(Reason.SETTLE, comparison)
        return Objection(None, comparison)

    def _plain_objection(self, member: Member) -> Reason | None:
        if self.is_stopped is not None:
            return self.is_stopped
        if member.pinned_in:
            return Reason.PINNED
        if not member.is_primary or not member.spec.actionable or matches_any(member.address, self.rules.guard.protected):
            return Reason.PROTECTED
        return too_few_left(self.others(member), self.rules.guard)

    def others(self, member: Member) -> Others:
        """Count the rest of the pool's primaries."""
        primaries = [one for one in self.members.values() if one.is_primary]
        rest = [one for one in primaries if one is not member]
        serving = sum(one.is_in and one.spec.weight > 0 for one in rest)
        return Others(max(1, len(primaries)), sum(not one.is_in for one in rest), serving)

    def _compare(self, member: Member, reason: Reason, seen: Seen, at: float) -> Comparison:
        reach = at - self.rules.window.within
        if reason is Reason.CONSECUTIVE_UNANSWERED:
            # The row is this rule's window: what the upstream answered before the row would hide for minutes that it hangs.
            start = member.headerless.unanswered.since(reach).start
        else:
            start = reach if reason in _BY_LATEST else seen.oldest
            if Kind.STALLED.value in seen.kinds:
                # They are dated now, and tell of all the time that they waited: the peers' answers of that time speak too.
                start = min(start, at - self.long_body)
        peers = [one.as_peer(start, at) for one in self.members.values() if one is not member and one.is_in]
        suspect = member.as_peer(start, at, None if reason is Reason.CONSECUTIVE_UNANSWERED else seen)
        return common_cause(reason, suspect, peers, self.rules.window, self.rules.guard)

    def longest_out(self) -> Member | None:
        """Return the upstream that the policy put out first of those that are out."""
        out = [one for one in self.members.values() if one.ejection is not None and one.ejection.source is Source.POLICY]
        return min(out, key=lambda one: (_since(one.ejection), one.order), default=None)


def _since(ejection: Ejection | None) -> float:
    return inf if ejection is None else ejection.since
