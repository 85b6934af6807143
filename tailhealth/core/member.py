"""One upstream in one pool: its window, its rows, and whether it is in, out, or on probation."""

from __future__ import annotations

from collections import Counter
from math import inf

import msgspec

from tailhealth.core.flights import Flights
from tailhealth.core.judge import BEFORE_ACTION, WHILE_OUT, has_header
from tailhealth.core.model import Attempt, Ejection, Kind, Outcome, PoolMember, Reason, Verdict
from tailhealth.core.policy import Peer
from tailhealth.core.rows import Headerless, Rows
from tailhealth.core.rules import PoolRules, ProbationRules
from tailhealth.core.window import Mark, Seen, Window

ABSENCES = 16
"""So many times out are remembered, for the attempts that began in one and ended after it."""
PROOF_PERIODS = 10
"""A strike is forgotten after this many times `for` in rotation, and a probation without traffic ends after as long."""


class Probation(msgspec.Struct):
    """The time after a readmission, until enough good outcomes."""

    since: float
    good: int = 0
    bad: int = 0
    heard: float = 0.0
    """When the latest counted outcome ended, or the readmission."""


class Totals(msgspec.Struct):
    """What an upstream was seen to do since the start."""

    good: int = 0
    bad: Counter[str] = msgspec.field(default_factory=Counter)
    ignored: Counter[str] = msgspec.field(default_factory=Counter)
    avoided_bad: int = 0
    """Bad attempts that began while it was out: what the policy would have spared."""
    lost_good: int = 0
    """Good attempts that began while it was out: the price."""
    ejections: int = 0
    out_seconds: float = 0.0


class Member:
    """State of an upstream in a pool. Changed only by the engine, in the order of the inputs."""

    __slots__ = (
        "absences", "acted_at", "address", "asked_at", "attentive", "ejection", "flights", "headerless", "order",
        "pinned_in", "pinned_until", "probation", "proof_good", "proof_since", "rules", "spec", "stalled", "strikes",
        "totals", "window", "withheld",
    )  # fmt: skip

    def __init__(self, spec: PoolMember, order: int, rules: PoolRules, flights: Flights) -> None:
        self.address = spec.address
        self.spec = spec
        self.order = order
        self.rules = rules
        self.flights = flights
        self.window = Window(rules.window.last, rules.window.span, rules.window.within)
        self.headerless = Headerless(rules.window)
        self.ejection: Ejection | None = None
        self.probation: Probation | None = None
        self.acted_at = -inf
        self.absences: tuple[tuple[float, float], ...] = ()
        """The latest times out, from when to when."""
        self.strikes = 0
        self.proof_since = -inf
        self.proof_good = 0
        self.pinned_in = False
        self.pinned_until: float | None = None
        self.withheld: Reason | None = None
        self.asked_at = -inf
        self.stalled = 0
        self.attentive = False
        """A good outcome may change more than the window: a probation, a strike, a row or a withheld trip is on."""
        self.totals = Totals()

    def take_rules(self, rules: PoolRules) -> None:
        """Let these rules hold from now on."""
        self.rules = rules
        self.window.reshape(rules.window.last, rules.window.span, rules.window.within)
        self.headerless.take_rules(rules.window)

    # What an attempt leaves behind

    def note(self, attempt: Attempt, outcome: Outcome) -> None:
        """Take an outcome into the window and the rows."""
        ended = attempt.ended
        late = ended < self.window.newest
        if outcome.verdict is not Verdict.IGNORED:
            self.window.add(ended, _mark(attempt, outcome))
        if has_header(attempt):
            self.headerless.break_at(ended)
            return
        in_a_row = not late or not self.window.was_answered_after(ended)
        refused = outcome.kind is Kind.REFUSED
        waited = attempt.duration is not None and attempt.duration >= self.rules.window.unanswered_after
        self.headerless.add(ended, attempt.client, in_a_row=in_a_row, refused=refused, waited=waited)
        self.relax()

    def amend(self, old: Attempt, before: Outcome, new: Attempt, after: Outcome) -> None:
        """Put the outcome of a later, fuller view in the place of the earlier one."""
        if before.verdict is not Verdict.IGNORED:
            self.window.take_back(old.ended, _mark(old, before))
            self._unhear(before)
        if after.verdict is not Verdict.IGNORED:
            self.window.add(new.ended, _mark(new, after))
        self.tally(before, -1)
        self.tally(after)

    def _unhear(self, outcome: Outcome) -> None:
        """Take an outcome back from the probation and the proof that it counted for."""
        good = outcome.verdict is Verdict.GOOD
        if good:
            self.proof_good = max(0, self.proof_good - 1)
        if self.probation is not None and good:
            self.probation.good = max(0, self.probation.good - 1)
        elif self.probation is not None:
            self.probation.bad = max(0, self.probation.bad - 1)

    def tally(self, outcome: Outcome, by: int = 1) -> None:
        """Count an outcome for the totals."""
        if outcome.verdict is Verdict.GOOD:
            self.totals.good += by
        elif outcome.kind is not None:
            (self.totals.bad if outcome.verdict is Verdict.BAD else self.totals.ignored)[outcome.kind] += by

    def take_good(self, ends: list[float]) -> None:
        """Take good outcomes that change nothing but the window, in the order of their ends, none before its newest."""
        self.window.extend(ends)
        self.flights.ended += len(ends)
        self.totals.good += len(ends)

    def missed(self, attempt: Attempt, outcome: Outcome) -> Outcome:
        """Count an attempt that says nothing about the time now: it began while the upstream was out, or before that.

        Those that began while it was out are what the policy would have spared, and its price.
        """
        out_since = inf if self.ejection is None else self.ejection.since
        if attempt.started < out_since and not any(since <= attempt.started < until for since, until in self.absences):
            return BEFORE_ACTION
        if outcome.verdict is Verdict.BAD:
            self.totals.avoided_bad += 1
        elif outcome.verdict is Verdict.GOOD:
            self.totals.lost_good += 1
        return WHILE_OUT

    # Questions

    def seen(self, at: float) -> Seen:
        """Return what its window shows now, stalled requests included."""
        return self.window.seen(at, self.stalled_now())

    def stalled_now(self) -> int:
        """Count requests that are stuck for certain; 0 while the rule is off or can't be judged here."""
        if not self.stalled or self.rules.bad.stalled_after is None:
            return 0
        return min(self.stalled, self.flights.stalled(self.rules.bad.stalled_after))

    def may_trip(self, at: float) -> bool:
        """Tell cheaply whether some rule of `[window]` may hold: a pool that fails busily is asked at every line."""
        rules, rows = self.rules.window, self.headerless
        counted, bad = self.window.rate(at, self.stalled_now())
        if rules.ratio is not None and counted >= rules.min_requests and bad / counted >= rules.ratio:
            return True
        return bool(
            (rules.consecutive_refused is not None and rows.refused.attempts >= rules.consecutive_refused)
            or (rules.consecutive_unanswered is not None and rows.unanswered.attempts >= rules.consecutive_unanswered)
        )

    def rows(self, at: float) -> Rows:
        """Count the attempts in a row without a header, no older than `within`."""
        return self.headerless.since(at - self.rules.window.within)

    def hangs(self, ended: float) -> bool:
        """Tell whether the attempt that ended then made a row of unanswered ones that is long enough to ask about."""
        limit, row = self.rules.window.consecutive_unanswered, self.headerless.unanswered
        return limit is not None and row.newest == ended and row.attempts >= limit

    def as_peer(self, start: float, at: float, seen: Seen | None = None) -> Peer:
        """Show its outcomes since `start` for a comparison; the suspect's are those that its window shows, `seen`."""
        stalled = self.stalled_now()
        shown = seen or self.window.since(start, at, stalled)
        latest = self.window.latest if self.window.newest >= start else None
        refused = latest is Kind.REFUSED and not stalled
        answered, unanswered = shown.counted - shown.unanswered, self.headerless.long_ones(start, at)
        return Peer(shown.counted, shown.bad, answered, unanswered, stalled > 0 or latest is not None, refused)

    def proof_rules(self) -> ProbationRules:
        """Return how many good outcomes count as proof, also where there is no probation."""
        return self.rules.probation or ProbationRules()

    @property
    def untested_at(self) -> float | None:
        """When its probation ends for want of traffic; None: it is on no probation."""
        return None if self.probation is None else self.probation.heard + PROOF_PERIODS * self.rules.eject.base

    @property
    def names(self) -> tuple[str, ...]:
        """All addresses by which a log may call it, its own first."""
        return tuple(dict.fromkeys((self.address, *self.spec.names)))

    @property
    def is_primary(self) -> bool:
        """Backups stand apart, unless the pool's own table lists them."""
        return not self.spec.backup or self.address in self.rules.backups

    @property
    def is_in(self) -> bool:
        """In the proxy's list and not held down by the proxy's own checks: serving, by DESIGN section 1."""
        return self.ejection is None and not self.spec.held_down

    # Changes

    def forget_strikes(self, at: float) -> None:
        """Forget one strike per completed period in rotation that has enough good outcomes in it: proof, not only time."""
        period = PROOF_PERIODS * self.rules.eject.base
        while self.strikes and at - self.proof_since >= period:
            if self.proof_good >= self.proof_rules().requests:
                self.strikes -= 1
            self.proof_since += period
            self.proof_good = 0
            if self.proof_since + period <= at:
                # Nothing was counted since: whole periods without an outcome prove nothing.
                self.proof_since += (at - self.proof_since) // period * period

    def prove(self, ended: float) -> None:
        """Count a good outcome as proof against a strike."""
        self.forget_strikes(ended)
        self.proof_good += 1

    def forget_outcomes(self) -> None:
        """Empty the window and the rows."""
        self.window.clear()
        self.headerless.clear()
        self.stalled = 0

    def relax(self) -> None:
        """Pay less attention again once nothing but the window can change at a good outcome."""
        self.attentive = bool(self.probation is not None or self.strikes or self.withheld is not None or self.headerless)

    def leave(self, ejection: Ejection) -> None:
        """Go out of rotation."""
        self.ejection = ejection
        self.probation = None
        self.withheld = None
        self.acted_at = ejection.since
        self.attentive = True
        self.totals.ejections += 1

    def come_back(self, at: float, *, probation: bool) -> None:
        """Return to rotation with a clean sheet, on probation or not."""
        if self.ejection is not None:
            self.totals.out_seconds += at - self.ejection.since
            self.absences = (*self.absences, (self.ejection.since, at))[-ABSENCES:]
        self.ejection = None
        self.acted_at = at
        self.forget_outcomes()
        self.flights.readmitted()
        self.probation = Probation(since=at, heard=at) if probation and self.rules.probation is not None else None
        self.proof_since = at
        self.proof_good = 0
        self.attentive = True

    def shift(self, by: float) -> None:
        """Move every running time with a wall clock that was set, and forget the outcomes of the old one."""
        self.forget_outcomes()
        if self.ejection is not None:
            until = None if self.ejection.until is None else self.ejection.until + by
            self.ejection = msgspec.structs.replace(self.ejection, since=self.ejection.since + by, until=until)
        if self.probation is not None:
            self.probation.since += by
            self.probation.heard += by
        if self.pinned_until is not None:
            self.pinned_until += by
        self.acted_at += by
        self.absences = tuple((since + by, until + by) for since, until in self.absences)
        self.proof_since += by
        self.asked_at = -inf


def _mark(attempt: Attempt, outcome: Outcome) -> Mark | None:
    """Return what a window keeps of a counted outcome: nothing but its time if it is good."""
    return None if outcome.kind is None else Mark(outcome.kind, attempt.client, has_header(attempt))
