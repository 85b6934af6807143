"""The running controller: one loop that reads, decides, hands over and answers (DESIGN sections 2 and 8).

The loop never waits for the proxy: that is the worker's part. Everything that reaches the engine besides the lines is journaled
before it is judged, so that a day can be repeated.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from queue import Empty, SimpleQueue

import msgspec

from tailhealth.config import STDIN, Config
from tailhealth.core.engine import Engine
from tailhealth.core.judge import SWITCHING_PROTOCOLS
from tailhealth.core.model import (
    Aborted,
    Attempt,
    Decision,
    Idle,
    InFlight,
    Input,
    Kind,
    Outcome,
    Pools,
    Reconfigured,
    Started,
    Stepped,
    Verb,
)
from tailhealth.core.quiet import too_quiet
from tailhealth.core.view import view
from tailhealth.logs.waker import Waker
from tailhealth.service.clock import SteadyClock
from tailhealth.service.conditions import Condition
from tailhealth.service.control import Reply, Request
from tailhealth.service.inputs import LiveLogs
from tailhealth.service.journal import Journal
from tailhealth.service.keeping import Keeper
from tailhealth.service.misfits import conditions
from tailhealth.service.naming import ConfiguredNames
from tailhealth.service.notify import Tell, nobody
from tailhealth.service.numbers import Numbers
from tailhealth.service.orders import OrderDesk, OrderError, command_of
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import State
from tailhealth.service.status import Configuration, Status
from tailhealth.service.wishes import concerned, wish_for
from tailhealth.service.worker import Polled, Worker

LATEST = 50
"""How many decisions `status` shows."""


class Controller:
    """Runs next to one proxy.

    Args:
        config: The configuration.
        logs: The logs that are followed.
        state: What survives a restart.
        journal: Where everything is written down.
        worker: Talks to the proxy.
        waker: Ends a wait early when a log was written to, or something else is to be done.
        clock: Wall clock in epoch seconds.
        tell: Told of each decision, and of each new condition, by kind and fields.
        dry_run: For `status`: nothing is applied.
    """

    def __init__(
        self,
        config: Config,
        *,
        logs: LiveLogs,
        state: State,
        journal: Journal,
        worker: Worker,
        waker: Waker,
        clock: SteadyClock,
        tell: Tell = nobody,
        dry_run: bool = False,
    ) -> None:
        self.config = config
        self.latest: deque[Decision] = deque(maxlen=LATEST)
        self.conditions: tuple[Condition, ...] = ()
        self.engine = Engine(config.settings(), observe=self._observe)
        self._logs = logs
        self._state = state
        self._keeper = Keeper(state, journal, clock)
        self._journal = journal
        self._worker = worker
        self._waker = waker
        self._clock = clock
        self._numbers = Numbers()
        self._tell = tell
        self._desk = OrderDesk(self.engine)
        self._requests: SimpleQueue[tuple[Request, Future[Reply]]] = SimpleQueue()
        self._confirmed: dict[tuple[str, str], float] = {}
        self._dry_run = dry_run
        self._started = self._clock()
        self._read_at = self._started
        self._refused = ""
        self._wishes_from: float | None = None
        """When something changed by which the same decisions may want something else: every wish is told anew after it."""

    # From outside, in any thread

    def submit(self, request: Request) -> Future[Reply]:
        """Take a request from the control socket; the loop answers it."""
        reply: Future[Reply] = Future()
        self._requests.put((request, reply))
        self._waker.wake()
        return reply

    # The loop

    def start(self) -> None:
        """Take up what an earlier run left, then let the proxy be read."""
        contents = self._state.contents
        self._started = self._clock()
        started = Started(self._started, contents.carried, contents.paused)
        self._journal.input(started)
        self.engine.feed([started])
        self._worker.start()

    def turn(self, timeout: float) -> None:
        """Wait until there is something to do, at most `timeout` seconds, and do it."""
        if self._worker.died:
            raise RuntimeError("the part that talks to the proxy has failed; what it was is told above")
        if not self._logs.more:
            self._waker.wait(timeout)
        inputs: list[Input] = []
        by = self._clock.stepped()
        if by is not None:
            inputs.append(Stepped(self.engine.now, by))
            self._worker.shift(by)
        inputs += self._news()
        inputs += self._orders()
        events = self._logs.poll(self._clock)
        self._note_aborted(events)
        inputs += self._logs.blindness(self._clock())
        for one in inputs:
            self._journal.input(one)
        for pipe in self._logs.ended_pipes:
            self._waker.ended(pipe)
        # A tick may not pass what is still to be read.
        ticks = () if self._logs.more else (Idle(self._clock()),)
        self._act(self.engine.feed([*inputs, *events, *ticks]))
        if self._wishes_from is not None and self.engine.frontier >= self._wishes_from:
            self._wishes_from = None
            self._wish_all()
        self._keeper.turn()

    def reconfigure(self, config: Config) -> None:
        """Let another configuration hold: rules, names, logs and times change, and nothing that is known is lost."""
        at = max(self._clock(), self.engine.now)
        inputs: list[Input] = [
            Reconfigured(at, self.config.settings(), config.settings()),
            *self._logs.turn_to(config, at),
        ]
        self.config = config
        self._refused = ""
        self._read_at = self._wishes_from = at
        self._waker.turn_to([path for path in self._logs.paths if path != STDIN], config.lateness)
        self._journal.resize(config.journal.max_bytes, config.journal.keep)
        table = config.proxy
        rules = ApplyRules.of(table)
        self._worker.renamed(ConfiguredNames(config), rules, table.poll)
        for one in inputs:
            self._journal.input(one)
        self._act(self.engine.feed(inputs))

    def refuse(self, why: str) -> None:
        """Note that a configuration was not taken, and why; the old one holds."""
        self._refused = why
        self._journal.note("refused", self._clock(), why=why)

    def finish(self) -> None:
        """Judge what is there, and write down that this is the end. Nothing is applied any more."""
        decisions = self.engine.finish()
        for decision in decisions:
            self._journal.decision(decision)
        self._desk.give_up()
        self._keeper.note(self.engine)
        self._keeper.keep()
        self._journal.stopped(self.engine.now)

    def _act(self, decisions: list[Decision]) -> None:
        """Write down what was decided, keep what a restart needs, and hand the wishes to the worker."""
        if decisions or self._desk.has_passed:
            self._keeper.note(self.engine)
        if self._desk.has_passed:
            self._keeper.keep()  # what an order led to, decision or not, no crash may undo once it is answered
            self._desk.settle(decisions)
        if not decisions:
            return
        self.latest.extend(decisions)
        self._numbers.note(decisions)
        for decision in decisions:
            self._journal.decision(decision)
            self._tell("decision", msgspec.to_builtins(decision))
        for name, upstream in concerned(decisions):
            pool = self.engine.pools.get(name)
            member = None if pool is None else pool.members.get(upstream)
            if pool is not None and member is not None:
                self._worker.wish(name, upstream, wish_for(pool, member, decisions[-1].at))

    def _wish_all(self) -> None:
        """Tell every wish. After a crash this is what brings decisions of the earlier run to the proxy that never got there."""
        for pool in self.engine.pools.values():
            for upstream, member in pool.members.items():
                self._worker.wish(pool.name, upstream, wish_for(pool, member, self.engine.frontier))

    # What comes in

    def _news(self) -> list[Input]:
        """Take what the worker brought. Times never lie before what is judged already."""
        inputs: list[Input] = []
        for news in self._worker.news():
            at = max(news.at, self.engine.now)
            if isinstance(news, Polled):
                self._logs.note_in_flight(at, news.load.counts)
                inputs.append(InFlight(at, news.load.counts, news.load.process))
                continue
            self._confirmed = news.step.confirmed
            self._note_conditions(news.step.conditions)
            self._logs.note_outputs(news.step.outputs)
            inputs += [msgspec.structs.replace(told, at=at) for told in news.step.inputs]
            if any(isinstance(told, Pools) for told in news.step.inputs):
                self._wishes_from = at
        return inputs

    def _note_conditions(self, found: tuple[Condition, ...]) -> None:
        known = {(one.kind, one.pool) for one in self.conditions}
        for one in found:
            if (one.kind, one.pool) not in known:
                self._tell("condition", msgspec.to_builtins(one))
        self.conditions = found

    def _orders(self) -> list[Input]:
        """Take what was asked over the control socket."""
        inputs: list[Input] = []
        while True:
            try:
                request, reply = self._requests.get_nowait()
            except Empty:
                return inputs
            if request.command == "status":
                reply.set_result(Reply(ok=True, data=msgspec.to_builtins(self.status())))
                continue
            try:
                command = command_of(request, self.engine, self._clock())
            except OrderError as error:
                reply.set_result(Reply(ok=False, error=str(error)))
                continue
            if command.verb is Verb.RESUME:
                self._worker.resume(command.pool)
            inputs.append(command)
            self._desk.take(command, reply)

    def _observe(self, attempt: Attempt, pool: str, upstream: str, outcome: Outcome) -> None:
        """See each judged attempt: numbers for people, and a sign of drift where one began at an upstream that is out."""
        self._numbers.observe(attempt, pool, upstream, outcome)
        if attempt.status == SWITCHING_PROTOCOLS:
            self._worker.note_switched()
        if outcome.kind is Kind.WHILE_OUT and attempt.started > self._confirmed.get((pool, upstream), attempt.started):
            self._worker.look()

    def _note_aborted(self, events: list[Attempt | Aborted]) -> None:
        """Tell the worker of requests that failed without an upstream: right after an apply they accuse it (case 51)."""
        aborted = [event.ended for event in events if isinstance(event, Aborted)]
        if aborted:
            self._worker.note_aborted(max(aborted), len(aborted))

    # What is told

    def status(self) -> Status:
        """Return the whole state, for `status`, `top --attach` and the like."""
        now = self._clock()
        since = self._started - self.config.longest_within()
        upstreams = {name: tuple(pool.members) for name, pool in self.engine.pools.items()}
        return Status(
            at=now,
            started=self._started,
            dry_run=self._dry_run,
            configuration=Configuration(self.config.source, self._read_at, self._refused),
            view=view(self.engine, now),
            stats=self._numbers.stats.snapshot(now),
            inputs=tuple(self._logs.views()),
            decisions=tuple(self.latest),
            conditions=(*self.conditions, *conditions(self.config, upstreams, self._read_at)),
            journal=self._journal.problem,
            too_little_traffic=too_quiet(self.engine.pools.values(), now, since),
            decided=self._numbers.decided(),
            header_times=self._numbers.histograms.all(),
            applies=dict(self._journal.applies),
            journal_lost=self._journal.lost,
        )
