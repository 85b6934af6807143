"""Why an upstream is in or out, in sentences: what was counted, what the guards said, until when, and what would change it.

Pure: everything that is known is an argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import tzinfo
from math import ceil

import msgspec

from tailhealth.core.model import Action, Decision, Reason, Source
from tailhealth.core.policy import base_time
from tailhealth.core.rules import PoolRules
from tailhealth.core.view import PoolView, Standing, UpstreamView
from tailhealth.views.reasons import guard_remedy, rule
from tailhealth.views.text import by_kind, countdown, duration, guard, harmless, moment, sentence, statement

SHOWN = 12
"""So many of the latest decisions are told."""


class Live(msgspec.Struct, frozen=True):
    """What the running controller says of the upstream in one pool."""

    pool: PoolView
    upstream: UpstreamView
    conditions: tuple[str, ...] = ()
    """What keeps it from acting on the pool, each a sentence."""


class Event(msgspec.Struct, frozen=True):
    """Something that was done to the proxy, or seen in it."""

    at: float
    text: str


class Facts(msgspec.Struct, frozen=True):
    """All that is known of an upstream in one pool."""

    upstream: str
    pool: str
    now: float
    rules: PoolRules
    decisions: Sequence[Decision] = ()
    """From the journal, the oldest first."""
    events: Sequence[Event] = ()
    """Changes in the proxy and drift, the oldest first."""
    notes: Sequence[str] = ()
    """Of the configuration, each with its table in front."""
    live: Live | None = None
    """None: no controller runs."""
    stopped: float | None = None
    """When the last run stopped in order; None: it runs, or was killed."""
    restored: float | None = None
    """When the operator's list was put back after the last change."""


class Explanation(msgspec.Struct, frozen=True):
    """The sentences, by what they answer."""

    pool: str
    where: str
    """Whether it is in or out."""
    why: tuple[str, ...]
    """Why, and what was counted."""
    change: tuple[str, ...]
    """What would change it."""
    history: tuple[str, ...]
    events: tuple[str, ...]
    notes: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield it as text."""
        yield self.where
        yield from (f"  {line}" for line in self.why)
        titles = ("what would change it", self.change), ("decisions", self.history), ("in the proxy", self.events)
        for title, lines in (*titles, ("notes", self.notes)):
            if lines:
                yield f"{title}:"
                yield from (f"  {line}" for line in lines)


def explain(facts: Facts, zone: tzinfo) -> Explanation:
    """Put together what is known of an upstream in one pool."""
    told = _Told(facts, zone)
    return Explanation(
        pool=facts.pool,
        where=told.where(),
        why=tuple(told.why()),
        change=tuple(told.change()),
        history=tuple(sentence(one, zone, dated=True) for one in facts.decisions[-SHOWN:]),
        events=tuple(f"{moment(one.at, zone)} {harmless(one.text)}" for one in facts.events[-SHOWN:]),
        notes=tuple(harmless(note) for note in facts.notes),
    )


class _Told:
    def __init__(self, facts: Facts, zone: tzinfo) -> None:
        self.facts = facts
        self.zone = zone
        self.name = f"{harmless(facts.upstream)} in pool {harmless(facts.pool)}"
        moves = [one for one in facts.decisions if one.action in (Action.EJECT, Action.READMIT)]
        self.last = moves[-1] if moves else None
        self.ejection = next((one for one in reversed(facts.decisions) if one.action is Action.EJECT), None)

    # Where it is

    def where(self) -> str:
        return f"{self.name}: " + (self._past() if self.facts.live is None else self._now(self.facts.live))

    def _now(self, live: Live) -> str:
        one = live.upstream
        if one.standing is Standing.OUT and one.ejection is not None:
            out = "out" if live.pool.enforced else "would be out (the pool is only observed, so it serves)"
            return f"{out} since {moment(one.ejection.since, self.zone)}, {self._until(one.ejection.until)}"
        if one.standing is Standing.HELD_DOWN:
            return "in the list, and held down by the proxy's own checks"
        if one.standing is Standing.PROBATION:
            needs = f"{one.probation_good} of the {one.probation_needs} good answers that it needs"
            return f"in, on probation: it has {needs}"
        pinned = ", pinned by the operator" if one.pinned else ""
        if one.withheld is not None:
            return f"in{pinned}, although it tripped: {guard(one.withheld)}"
        return f"in{pinned}"

    def _until(self, until: float | None) -> str:
        if until is None:
            return "until an operator readmits it"
        return f"until {moment(until, self.zone)} ({countdown(until - self.facts.now)} left)"

    def _past(self) -> str:
        last, facts = self.last, self.facts
        stopped = "" if facts.stopped is None else f" (it stopped {moment(facts.stopped, self.zone)})"
        nobody = f"no controller runs{stopped}; by its journal "
        if last is None or last.action is Action.READMIT:
            return nobody + ("it is in" if last is None else f"it is in since {moment(last.at, self.zone)}")
        if not last.enforced:
            return nobody + "it would be out, but the pool was only observed"
        where = "in the proxy's list again, which was restored" if self._is_restored() else "still out of the proxy's list"
        if last.until is not None and last.until <= facts.now:
            return nobody + f"it was out until {moment(last.until, self.zone)}, and is {where}"
        return nobody + f"it is out since {moment(last.at, self.zone)}, {self._until(last.until)}, and is {where}"

    def _is_restored(self) -> bool:
        return self.facts.restored is not None and self.last is not None and self.facts.restored >= self.last.at

    # Why

    def why(self) -> Iterator[str]:
        live = self.facts.live
        if live is None:
            if self.last is not None:
                yield from self._because(self.last)
            return
        one = live.upstream
        out = one.standing is Standing.OUT
        if out or one.standing is Standing.PROBATION:
            since = None if one.ejection is None else one.ejection.since
            cause = next((past for past in self.facts.decisions if past.action is Action.EJECT and past.at == since), None)
            found = cause or (self.ejection if one.ejection is None else None)
            if found is not None:
                yield from self._because(found)
            elif one.ejection is not None:
                yield "the decision is no longer in the journal" + (
                    f": {harmless(one.ejection.why)}" if one.ejection.why else ""
                )
        if not out:
            yield from self._window(one)
            withheld = next((past for past in reversed(self.facts.decisions) if past.action is Action.WITHHELD), None)
            if one.withheld is not None and withheld is not None and withheld.reason == one.withheld:
                yield f"{moment(withheld.at, self.zone)}: {statement(withheld)}"
        yield from self._around(live)

    def _because(self, decision: Decision) -> Iterator[str]:
        yield f"{moment(decision.at, self.zone)}: {statement(decision)}"
        if decision.action is not Action.EJECT:
            return
        told = rule(decision.reason, self.facts.rules)
        if told:
            yield told
        if decision.source is Source.POLICY:
            yield "no guard objected"

    def _window(self, one: UpstreamView) -> Iterator[str]:
        if not one.counted:
            yield f"nothing was counted within {duration(self.facts.rules.window.within)}"
        else:
            kinds = f" ({by_kind(one.kinds)})" if one.kinds else ""
            yield f"its window: {one.bad or 'none'} of {one.counted} counted requests bad{kinds}"
        if one.in_flight:
            stuck = f", {one.stalled} of them stuck for certain" if one.stalled else ""
            yield f"{one.in_flight} requests are in flight at it{stuck}"

    def _around(self, live: Live) -> Iterator[str]:
        if live.pool.paused:
            yield "decisions are paused: nothing is ejected, readmissions go on"
        for source, reason in live.pool.blind.items():
            yield f"blind, so nothing is ejected: {harmless(reason)} ({harmless(source)})"
        if not live.pool.enforced:
            yield 'mode = "observe": decisions are recorded and not applied'
        yield from (harmless(one) for one in live.conditions)

    # What would change it

    def change(self) -> Iterator[str]:
        if self.facts.live is not None:
            one = self.facts.live.upstream
            yield from self._next_move(one)
            if one.pinned:
                yield f"`tailhealth unpin {harmless(one.address)}` lets it be ejected again"
            if one.protected and one.withheld is None:
                yield "guard.protected names it: it is never ejected"
        elif self.last is not None and self.last.action is Action.EJECT and self.last.enforced:
            yield from self._next_start(self.last)

    def _next_move(self, one: UpstreamView) -> Iterator[str]:
        rules = self.facts.rules.probation
        if one.standing is Standing.OUT and one.ejection is not None:
            if one.ejection.until is not None:
                yield f"it comes back by itself {moment(one.ejection.until, self.zone)}" + self._then()
            yield f"`tailhealth readmit {harmless(one.address)}` brings it back now, without probation"
        elif one.standing is Standing.PROBATION and rules is not None:
            yield f"{_some(max(0, rules.requests - one.probation_good), 'more good answer')} will end the probation"
            yield f"{rules.bad} bad in it: ejected again, for {duration(base_time(one.strikes, self.facts.rules.eject))}"
        elif one.withheld is not None:
            yield guard_remedy(Reason(one.withheld), self.facts.rules, one.address)
        elif one.standing is Standing.SERVING and not one.pinned and not one.protected:
            yield from self._trip(one)

    def _then(self) -> str:
        rules = self.facts.rules.probation
        return "" if rules is None else f"; then {_some(rules.requests, 'good answer')} will end its probation"

    def _next_start(self, last: Decision) -> Iterator[str]:
        over = last.until is not None and last.until <= self.facts.now
        if not self._is_restored():
            yield "`tailhealth restore` puts it back into the proxy at once"
            yield "the next `tailhealth run` puts it back" + ("" if over else " when its time is over")
        elif not over:
            yield "a `tailhealth run` that starts before then takes it out again; `tailhealth restore --forget` drops that"

    def _trip(self, one: UpstreamView) -> Iterator[str]:
        window, eject = self.facts.rules.window, self.facts.rules.eject
        if window.ratio is not None and window.ratio < 1:
            more = max(window.min_requests - one.counted, ceil((window.ratio * one.counted - one.bad) / (1 - window.ratio)), 1)
            yield f"at most {_some(more, 'more bad request')} in a row will trip it"
        told = duration(base_time(one.strikes, eject))
        strikes = f" ({_some(one.strikes, 'strike')} in memory)" if one.strikes else ""
        yield f"its next ejection would last {told}{strikes}"


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" + "s" * (count != 1)
