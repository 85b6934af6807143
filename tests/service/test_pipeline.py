"""A run and its repetition: what the log and the journal tell leads to the same decisions (DESIGN section 2)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tailhealth.core.engine import Engine
from tailhealth.core.model import (
    Action,
    Attempt,
    Blind,
    Command,
    Decision,
    End,
    Idle,
    InFlight,
    Input,
    PoolMember,
    Pools,
    Reconfigured,
    Started,
    Verb,
)
from tailhealth.core.rules import EjectRules, GuardRules, PoolRules, Settings, WindowRules
from tailhealth.logs.history import Block
from tailhealth.logs.reading import Event, LineReader
from tailhealth.service.pipeline import Replay, batches, runs_of
from tests.core.harness import attempt, pool, silent

T0 = 1_796_000_000.0
NODES = ("a:1", "b:1", "c:1")
RULES = PoolRules(
    window=WindowRules(last=6, within=60.0, min_requests=3),
    eject=EjectRules(base=5.0, cap=20.0),
    guard=GuardRules(common_cause=False, settle=1.0),
)
OTHER_RULES = msgspec.structs.replace(RULES, window=WindowRules(last=4, within=60.0, min_requests=2, ratio=0.5))
SETTINGS = Settings(lateness=1.0, default=RULES)
RELOADED = Settings(lateness=1.0, default=OTHER_RULES)


class Live:
    """A controller as far as the engine sees one: lines come in any order within `lateness`, everything else is journaled."""

    def __init__(self, dice: Random) -> None:
        self.dice = dice
        self.journal: list[Input] = []
        self.decisions: list[Decision] = []
        self.lines: list[Attempt] = []
        self.now = T0
        self._engine = Engine(SETTINGS)
        self._coming: list[tuple[float, Attempt]] = []

    def run(self, turns: int, started: Started) -> None:
        """Start, take turns, and stop in order."""
        self._engine = Engine(SETTINGS)
        history = [one for one in self.lines if one.ended >= started.at - RULES.window.within]
        self._tell(started, Pools(started.at, (pool(*NODES),)))
        self._engine.read(history)
        for _ in range(turns):
            self._turn()
        self._tell(*self._arrived(float("inf")))
        self.decisions += self._engine.finish()
        self.journal.append(Idle(self._engine.now))

    def restart(self, turns: int) -> None:
        """Stop, and start again with what a restart knows."""
        self.now += self.dice.uniform(0.0, 20.0)
        self.run(turns, Started(self.now, self._engine.carry(), self._engine.carry_paused()))

    def _turn(self) -> None:
        dice = self.dice
        self.now += dice.uniform(0.0, 1.5)
        for _ in range(dice.randrange(4)):
            ended = self.now - dice.uniform(0.0, 0.2)
            line = self._line(dice.choice(NODES), ended)
            self.lines.append(line)
            self._coming.append((ended + dice.uniform(0.0, 0.7), line))
        told: list[Input] = []
        if dice.random() < 0.15:
            told.append(self._event())
        self._tell(*told, *self._arrived(self.now), Idle(self.now))

    def _line(self, node: str, ended: float) -> Attempt:
        bad = self.dice.random() < (0.6 if node == "a:1" else 0.15)
        kinds = [lambda: silent(node, ended, End.REFUSED, 0.0), lambda: attempt(node, ended, status=500)]
        line = self.dice.choice(kinds)() if bad else attempt(node, ended)
        return msgspec.structs.replace(line, offset=len(self.lines))

    def _event(self) -> Input:
        at = max(self.now, self._engine.now)
        node = self.dice.choice(NODES)
        events: list[Input] = [
            Command(at, Verb.EJECT, node, duration=3.0),
            Command(at, Verb.READMIT, node),
            Command(at, Verb.PIN_IN, node, duration=2.0),
            Command(at, Verb.PAUSE, duration=4.0),
            Command(at, Verb.RESUME),
            Blind(at, "log", "unreadable"),
            Blind(at, "log", None),
            InFlight(at, {one: self.dice.randrange(3) for one in NODES}, "1"),
            Pools(at, (pool(*NODES, PoolMember("d:1"), name=self.dice.choice(["pool", "chat"])),)),
            Reconfigured(at, self._engine.settings, RELOADED if self._engine.settings == SETTINGS else SETTINGS),
        ]
        return self.dice.choice(events)

    def _arrived(self, until: float) -> list[Attempt]:
        arrived = [line for at, line in self._coming if at <= until]
        self._coming = [one for one in self._coming if one[0] > until]
        self.dice.shuffle(arrived)
        return arrived

    def _tell(self, *inputs: Input) -> None:
        self.journal += [one for one in inputs if not isinstance(one, Attempt | Idle)]
        self.decisions += self._engine.feed(inputs)


def written_and_read(inputs: list[Input]) -> Iterator[Input]:
    """Take inputs through JSON, as the journal does."""
    for one in inputs:
        yield msgspec.convert(msgspec.json.decode(msgspec.json.encode(one)), type(one))


def in_lots(dice: Random, lines: list[Attempt]) -> Iterator[list[Event]]:
    """Cut lines, in order, into batches of any size."""
    rest: list[Event] = sorted(lines, key=lambda one: (one.ended, one.offset))
    while rest:
        size = dice.randrange(1, 40)
        yield rest[:size]
        rest = rest[size:]


def decided(replay: Replay, *lots: list[Attempt]) -> list[Decision]:
    """Return what a replay decides about batches of lines."""
    return list(replay.decisions([[*lot] for lot in lots]))


@given(seed=st.integers(0, 1 << 32), runs=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_a_day_is_repeated_exactly(seed: int, runs: int) -> None:
    """Whatever came in whatever order within `lateness`, with restarts and reloads: replay takes the same decisions."""
    dice = Random(seed)
    live = Live(dice)
    live.run(80, Started(T0))
    for _ in range(runs - 1):
        live.restart(60)
    replay = Replay(SETTINGS, runs=runs_of(written_and_read(live.journal)))
    assert list(replay.decisions(in_lots(dice, live.lines))) == live.decisions


def test_the_property_is_not_empty() -> None:
    """The days above have ejections by the policy and by an operator, and reloads under which decisions were taken."""
    seen: set[object] = set()
    for seed in range(20):
        live = Live(Random(seed))
        live.run(80, Started(T0))
        seen |= {(one.action, one.source) for one in live.decisions} | {type(one) for one in live.journal}
    assert {Reconfigured, InFlight, Blind, Command} <= seen
    assert {action for action, _ in (one for one in seen if isinstance(one, tuple))} == set(Action)


def test_runs_are_told_apart() -> None:
    """Each start begins one; it ends where it was stopped, or at the next start if it was killed."""
    one, two, three = Started(10.0), Started(20.0), Started(30.0)
    lost, order = Idle(5.0), Command(12.0, Verb.PAUSE)
    runs = runs_of([lost, one, order, Idle(15.0), two, three])
    assert [run.started for run in runs] == [one, two, three]
    assert [run.inputs for run in runs] == [[order], [], []]
    assert [run.ended for run in runs] == [15.0, 30.0, float("inf")]


def test_a_clock_that_went_back_between_runs() -> None:
    """A run that stopped after the next one started, by its clock, ends where that one begins."""
    assert [run.ended for run in runs_of([Started(10.0), Idle(25.0), Started(20.0)])] == [20.0, float("inf")]


def test_orders_after_the_last_line() -> None:
    """What was ordered, and what came of it, is repeated also where no line followed, even of a whole run."""
    pools = Pools(T0, (pool("a:1", "b:1"),))
    eject = Command(T0 + 5, Verb.EJECT, "a:1", duration=10.0)
    later: list[Input] = [Started(T0 + 100), Pools(T0 + 100, pools.pools), Command(T0 + 101, Verb.EJECT, "b:1"), Idle(T0 + 110)]
    replay = Replay(SETTINGS, runs=runs_of([Started(T0), pools, eject, Idle(T0 + 20), *later]))
    found = decided(replay, [attempt("a:1", T0 + 1)])
    assert [(one.action, one.upstream, one.at - T0) for one in found] == [
        (Action.EJECT, "a:1", 5.0), (Action.READMIT, "a:1", 15.0), (Action.EJECT, "b:1", 101.0),
    ]  # fmt: skip


def test_lines_after_the_end_of_a_run_were_not_seen() -> None:
    """While nobody ran, nothing was decided; the next run knows these lines as history."""
    names = (pool("a:1", "b:1"),)
    journal: list[Input] = [Started(T0), Pools(T0, names), Idle(T0 + 10), Started(T0 + 20), Pools(T0 + 20, names)]
    lines = [attempt("a:1", T0 + 11 + number, status=500) for number in range(6)]
    replay = Replay(SETTINGS, runs=runs_of(journal))
    assert decided(replay, lines) == []
    again = Replay(SETTINGS, runs=runs_of(journal))
    found = decided(again, [*lines, attempt("a:1", T0 + 21, status=500)])
    assert [(one.action, one.at) for one in found] == [(Action.EJECT, T0 + 21)]


def test_without_a_journal() -> None:
    """The log alone decides from its first line on, over the pools that are given, or its own upstreams as one."""
    lines = [attempt(node, T0 + number, status=500 if node == "a:1" else 200) for number in range(4) for node in NODES]
    by_log = Replay(SETTINGS)
    assert [(one.pool, one.upstream) for one in decided(by_log, lines)] == [("log", "a:1")]
    named = Replay(SETTINGS, pools=Pools(float("-inf"), (pool(*NODES, name="chat"),)))
    assert [one.pool for one in decided(named, lines[:5], lines[5:])] == ["chat"]


def test_other_rules_stay_other_rules() -> None:
    """Asked what other rules would have done, a reload of that day is passed over."""
    reload = Reconfigured(T0 + 1, SETTINGS, RELOADED)
    journal: list[Input] = [Started(T0), Pools(T0, (pool("a:1", "b:1"),)), reload]
    lines = [attempt("a:1", T0 + 2 + number, status=500) for number in range(3)]
    strict = msgspec.structs.replace(SETTINGS, default=msgspec.structs.replace(RULES, window=WindowRules(min_requests=8)))
    assert [one.at - T0 for one in decided(Replay(SETTINGS, runs=runs_of(journal)), lines)] == [3.0]
    assert decided(Replay(strict, runs=runs_of(journal)), lines) == []


class Lines(LineReader):
    """A reader that makes one attempt of each byte, and holds the last one back."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._held: list[Any] = []

    def read(self, block: bytes, offset: int, now: float | None = None) -> list[Any]:
        """Read."""
        del offset, now
        events = [*self._held, *(attempt("a:1", float(byte), file=self._file) for byte in block)]
        self._held = [events.pop()] if events else []
        return events

    def finish(self) -> list[Any]:
        """Hand on what was held back."""
        return self._held


def test_batches_keep_together_what_belongs_together() -> None:
    """Blocks of several files that cover one time are one batch; at the end each reader hands on what it held back."""

    def block(file: int, data: bytes, *, together: bool) -> Block:
        return Block(data, 0, file, str(file), "log", together)

    blocks = [block(0, b"\x01\x02", together=True), block(1, b"\x01\x03", together=False), block(0, b"\x04", together=False)]
    found = list(batches(blocks, lambda file, _: Lines(file)))
    assert [[(one.file, one.ended) for one in batch] for batch in found] == [
        [(0, 1.0), (1, 1.0)], [(0, 2.0)], [(0, 4.0), (1, 3.0)],
    ]  # fmt: skip
