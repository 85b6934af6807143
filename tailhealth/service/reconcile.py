"""Brings the proxy to what was decided, and tells what the operator did meanwhile (DESIGN section 8).

The driver of the pure parts: `standing` reads, `plan` decides what to change, `unrest` when to stop. It keeps no clock and no
thread: `step` does what is due once and says when it wants to be called again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tailhealth.core.heirs import heirs
from tailhealth.core.model import Command, Pools, Verb
from tailhealth.proxies.base import Conflict, CutOff, Fatal, Load, Proxy, Refused, Retryable, Unloadable, UpstreamState
from tailhealth.service.change import Restored, make, missed, restore, told
from tailhealth.service.conditions import Condition, Conditions, Kind, kind_of
from tailhealth.service.drift import What, drifts, records
from tailhealth.service.halt import Halts
from tailhealth.service.plan import Edit, Plan, plan
from tailhealth.service.pools import Group, Naming, core_pools, grouped, members, plain_naming, shared_addresses
from tailhealth.service.schedule import ApplyRules, Schedule
from tailhealth.service.standing import Survey, survey
from tailhealth.service.state import State, StateError, Wish, Wished
from tailhealth.service.thinning import Outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailhealth.proxies.base import Entry
    from tailhealth.service.journal import Journal

Told: TypeAlias = Pools | Command


class Step(msgspec.Struct, frozen=True):
    """What a step brought."""

    next_at: float
    """When the next step is due, unless something is desired or seen before."""
    inputs: tuple[Told, ...]
    """For the engine: the operator's pools when they changed, and what his hand in the proxy's configuration orders."""
    confirmed: dict[tuple[str, str], float]
    """(pool, upstream) that were read to be out of all lists, and since when: an attempt that begins there later is drift."""
    conditions: tuple[Condition, ...]
    """All that is not as it should be; empty: all is well."""
    outputs: Outputs = ()
    """The proxy's logs as its configuration tells of them."""


class Reconciler:
    """Reconciles one proxy with what is desired. Not thread-safe; every call takes the time that it happens at.

    Args:
        proxy: The proxy.
        state: Where intents are written before the proxy is touched. What was desired when it was written is desired again.
        journal: Where changes, drift and stops are written down.
        rules: When to act.
        naming: Names the pools; places that it leaves out are left alone.
        dry_run: Read and tell, change nothing.
    """

    def __init__(
        self,
        proxy: Proxy,
        state: State,
        journal: Journal,
        rules: ApplyRules | None = None,
        naming: Naming = plain_naming,
        *,
        dry_run: bool = False,
    ) -> None:
        self.groups: tuple[Group, ...] = ()
        """The pools with their places as last read, for status and check."""
        self._proxy = proxy
        self._state = state
        self._journal = journal
        self._schedule = Schedule(rules or ApplyRules())
        self._naming = naming
        self._dry_run = dry_run
        self._wishes = state.contents.remembered()
        self._held_down: frozenset[str] = frozenset()
        self._conditions = Conditions()
        self._halts = Halts()
        self._lists: dict[str, tuple[Entry, ...]] = {}
        self._shared: frozenset[str] = frozenset()
        self._told: list[Told] = []
        self._pools: Pools | None = None
        self._confirmed: dict[tuple[str, str], float] = {}
        self._outputs: Outputs = ()
        self._names: dict[str, str] = {}
        """Names that pools had, and their names now: a wish may have been on its way."""

    def desire(self, pool: str, upstream: str, wish: Wish) -> None:
        """Say how an upstream shall stand; `wish.at` is when that was decided. Serving is what all do that nobody mentions."""
        pool = self._names.get(pool, pool)
        if wish.state is not UpstreamState.SERVING:
            self._wishes[pool, upstream] = wish
        elif self._wishes.pop((pool, upstream), None) is None:
            return
        self._schedule.want(wish.at)

    def loaded(self, load: Load) -> None:
        """Take in what the proxy's own checks hold down, from a poll."""
        if load.counts is not None and load.held_down != self._held_down:
            self._held_down = load.held_down
            self._schedule.look()

    def look(self) -> None:
        """Read the proxy at the next step: something was seen that should not be."""
        self._schedule.look()

    def renamed(self, naming: Naming, rules: ApplyRules) -> None:
        """Take over what tailhealth's own configuration says now."""
        self._naming = naming
        self._schedule.rules = rules
        self._schedule.look()

    def shift(self, by: float) -> None:
        """The wall clock was set by so many seconds."""
        self._schedule.shift(by)

    def note_switched(self) -> None:
        """An upgraded connection was seen: changes that close such are made less often."""
        self._schedule.switched = True

    def note_aborted(self, at: float, count: int = 1) -> None:
        """Requests failed without an upstream: aborted, panicked, or answered 500 by the proxy itself (case 51)."""
        self._halts.note_failed(at, count)
        if self._halts.broke():
            self._schedule.look()

    def resume(self, pool: str | None) -> None:
        """Act again on a pool that is not acted on because a change broke it; None: on all of them."""
        for name in list(self._halts.broken) if pool is None else (pool,):
            self._halts.resume(name)
        self._schedule.look()

    def step(self, now: float) -> Step:
        """Do what is due at `now`, at most once."""
        if self._schedule.due() <= now:
            self._guarded(now)
        told, self._told = tuple(self._told), []
        return Step(self._schedule.due(), told, dict(self._confirmed), self._conditions.all(), self._outputs)

    def _guarded(self, now: float) -> None:
        """Work, and turn what goes wrong into a named state that heals."""
        try:
            self._work(now)
        except (Conflict, Retryable, StateError) as error:
            self._trouble(kind_of(error), error, now)
            self._schedule.failed(now)
        except Fatal as error:
            self._trouble(kind_of(error), error, now)
            self._schedule.hopeless(now)
        else:
            self._conditions.all_well()
            self._schedule.well()

    def _trouble(self, kind: Kind, error: Exception, now: float) -> None:
        if self._conditions.set(kind, str(error), now):
            self._journal.note("trouble", now, kind=kind.value, why=str(error))

    def _work(self, now: float) -> None:
        self._read(now)
        for pool in self._halts.judge():
            self._journal.note(Kind.STOPPED.value, now, pool=pool, why=self._halts.broken[pool])
        found = self._plan(now)
        if found.edits and not self._dry_run:
            self._change(found.edits, now)

    def _read(self, now: float) -> None:
        """Read the proxy, learn what the operator did, and tell the engine of it."""
        contents = self._state.contents
        snapshot = self._proxy.read()
        self._outputs = snapshot.outputs
        found = survey(snapshot.places, contents.kept, contents.owns, contents.retired)
        self._schedule.read(now)
        self._schedule.cuts_streams = any(place.cuts_streams for place in snapshot.places)
        self._shared = shared_addresses(found.standings)
        before = members(self.groups) or contents.known_pools()
        self.groups = grouped(found.standings, self._naming)
        old = heirs(before, members(self.groups))
        # What the operator did is told of the pools that the engine knows, by the names that it knows.
        self._follow_operator(found, [one.called(old.get(one.name, one.name)) for one in self.groups], now)
        self._rename({name: new for new, name in old.items()})
        self._lists = {one.place.key: one.original for one in found.standings}
        listed = {one.original[index].address for one in found.standings for index, _ in one.listing}
        out = {(group.name, one) for group in self.groups for standing in group.standings for one in standing.out - listed}
        self._confirmed = {key: self._confirmed.get(key, now) for key in sorted(out)}
        if not self._dry_run:
            self._state.update(**records(found, contents))
        self._tell_pools(found, now)

    def _rename(self, names: dict[str, str]) -> None:
        """Pools go on under other names, by old name."""
        self._names = {old: names.get(new, new) for old, new in self._names.items()} | names
        for group in self.groups:
            self._names.pop(group.name, None)
        self._wishes = {(names.get(pool, pool), upstream): wish for (pool, upstream), wish in self._wishes.items()}
        self._halts.rename(names)

    def _follow_operator(self, found: Survey, groups: Sequence[Group], now: float) -> None:
        for one in drifts(found, groups, self._lists, self._wishes):
            self._journal.note("drift", now, what=one.what.value, pool=one.pool, place=one.key, upstreams=one.upstreams)
            if one.what is not What.GONE:
                self._halts.note_rewrite(one.key, one.pool, now)
            for upstream in one.upstreams:
                self._wishes.pop((one.pool, upstream), None)
                if one.what is What.HAND:
                    why = "the proxy's configuration was changed by hand"
                    self._told.append(Command(now, Verb.READMIT, upstream, one.pool, why=why, by_config=True))

    def _tell_pools(self, found: Survey, now: float) -> None:
        halted = self._halts.halted(self.groups, now)
        self._name(Kind.GENERATOR, {pool: why for pool, why in halted.items() if pool not in self._halts.broken}, now)
        self._name(Kind.STOPPED, {pool: why for pool, why in halted.items() if pool in self._halts.broken}, now)
        self._name(Kind.UNACTIONABLE, {group.name: group.problem for group in self.groups if group.problem}, now)
        pools = Pools(now, core_pools(self.groups, found.standings, self._held_down, frozenset(halted)))
        if self._pools is None or self._pools.pools != pools.pools:
            # The orders of the operator's hand are about the pools that the engine knows, if it knows any.
            self._told.insert(0 if self._pools is None else len(self._told), pools)
            self._pools = pools

    def _name(self, kind: Kind, whys: dict[str, str], now: float) -> None:
        for new in self._conditions.only(kind, whys, now):
            self._journal.note("trouble", now, kind=kind.value, pool=new.pool, why=new.why)

    def _plan(self, now: float) -> Plan:
        """Work out what is to be changed now; what has to wait is left out and becomes due later."""
        halted = self._halts.halted(self.groups, now)
        acting = [group for group in self.groups if group.name not in halted]
        found = plan(acting, self._wishes, self._shared, self._held_down)
        last = "taking {} out would leave a place of the pool with nothing that can serve"
        self._name(Kind.LAST_UPSTREAM, {pool: last.format(upstream) for pool, upstream in found.denied}, now)
        back = self._halts.back(one for group in self.groups for one in group.standings)
        if back:
            return Plan(back, found.denied)
        edits = self._halts.permitted(found.edits, now)
        self._name(Kind.REFUSED, self._halts.refusals(), now)
        if not edits:
            self._schedule.nothing_to_lift()
        elif not self._schedule.may_apply(now, urgent=any(edit.urgent for edit in edits)):
            edits = ()
        return Plan(edits, found.denied)

    def _change(self, edits: tuple[Edit, ...], now: float) -> None:
        """Write the intent, change the proxy, read back: an answer of success is not proof."""
        changes = told(edits)
        try:
            applied = make(self._proxy, self._state, edits, wished=self._wished())
        except Refused as error:
            self._journal.note("apply", now, answer=str(error), changes=changes)
            self._halts.refused(edits, str(error), now)
            self._schedule.applied(now)
            self._schedule.want(now)
            return
        except Unloadable:
            # Nothing was done. What it says is told as a condition.
            raise
        except Retryable as error:
            self._journal.note("apply", now, answer=f"unknown: {error}", changes=changes)
            self._schedule.applied(now)
            self._find_out(edits, error, now)
            return
        self._journal.note("apply", now, answer=applied.answer, seconds=round(applied.seconds, 6), changes=changes)
        self._schedule.applied(now)
        done = now + applied.seconds
        self._read(done)
        wrong = missed(edits, self.groups)
        if wrong:
            raise Conflict(f"{applied.answer}, and yet {wrong[0]} does not list what it was given")
        self._halts.applied(edits, done)

    def _find_out(self, edits: tuple[Edit, ...], error: Retryable, now: float) -> None:
        """It may have been done. The reload that a change causes may cut its own answer off: then reading back tells at once.

        Raises:
            Retryable: It was not done, or did not answer in time: the next step finds by the record which it was.
        """
        if not isinstance(error, CutOff):
            raise error
        self._read(now)
        if missed(edits, self.groups):
            raise error
        self._halts.applied(edits, now)

    def _wished(self) -> tuple[Wished, ...]:
        return tuple(Wished(pool, upstream, wish) for (pool, upstream), wish in self._wishes.items())

    def restore(self, now: float, *, forget: bool = False) -> Restored:
        """Put the operator's list back everywhere; the running ejections stay in the state file unless `forget`.

        Raises:
            StateError: The state file can't be written.
        """
        if self._dry_run:
            return Restored(done=True, upstreams=())
        self._state.update(wished=() if forget else self._wished())
        return restore(self._proxy, self._state, self._journal, now, forget=forget)
