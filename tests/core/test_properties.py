"""What must hold for every log (DESIGN section 2, issue 2): order, ticks, caps, names."""

from __future__ import annotations

from random import Random
from typing import TypeAlias

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tailhealth.core.engine import Engine
from tailhealth.core.model import Action, Attempt, Decision, End, Idle, InFlight, Input, Pool, PoolMember, Pools, Source
from tailhealth.core.rules import BadRules, EjectRules, GuardRules, PoolRules, Settings, WindowRules, Yardstick
from tests.core.harness import attempt, clock, silent

Logged: TypeAlias = Attempt | InFlight
LATENESS = 1.0
NODES = ("n0", "n1", "n2", "n3", "n4")
SEEDS = st.integers(0, 2**32 - 1)


def fleet(dice: Random, nodes: int) -> list[Logged]:
    """Make a log with bad spells: each node fails, refuses or hangs for a while, some lines end at the same moment."""
    spells = [(dice.randrange(nodes), dice.choice("frh"), start := dice.uniform(0, 200), start + dice.uniform(5, 120))
              for _ in range(dice.randrange(6))]  # fmt: skip
    lines: list[Logged] = []
    now = 0.0
    for offset in range(dice.randrange(50, 260)):
        now += dice.choice([0.0, 0.125, 0.5, 1.0, 3.0])
        node = dice.randrange(nodes)
        ill = {what for which, what, start, end in spells if which == node and start <= now < end}
        lines.append(_line(dice, NODES[node], clock(now), ill, offset))
    for second in range(5, int(now) + 5, 5):
        counts = {NODES[i]: dice.choice([0, 1, 9]) for i in range(nodes)}
        lines.append(InFlight(clock(float(second)), counts, "1"))
    return lines


def _line(dice: Random, node: str, ended: float, ill: set[str], offset: int) -> Attempt:
    client = f"192.0.2.{dice.randrange(4)}"
    where = {"client": client, "offset": offset, "file": dice.randrange(2)}
    if "r" in ill:
        return silent(node, ended, End.REFUSED, 0.0, **where)
    if "h" in ill:
        return silent(node, ended, End.ABANDONED, dice.choice([0.5, 3.0, 9.0]), **where)
    bad = "f" in ill or dice.random() < 0.05
    return attempt(node, ended, status=500 if bad else 200, header=dice.choice([0.0, 0.25, 2.0]), **where)  # type: ignore[arg-type]  # fields of an attempt


def some_rules(dice: Random) -> PoolRules:
    """Make rules with short times, so that a small log sees all of them."""
    return PoolRules(
        bad=BadRules(default=Yardstick(slower_than=20.0, abandoned_after=5.0), stalled_after=20.0),
        window=WindowRules(span=10.0, within=60.0),
        eject=EjectRules(base=dice.choice([5.0, 15.0]), jitter=dice.choice([0.0, 0.1])),
        guard=GuardRules(
            protected=dice.choice([(), ("n0", "*1")]),
            max_ejected=dice.choice([None, 0.5, 0.25]),
            min_serving=dice.choice([1, 2]),
            common_cause=dice.random() < 0.5,
            settle=dice.choice([0.0, 10.0]),
        ),
    )


def engine(rules: PoolRules, names: tuple[str, ...]) -> Engine:
    """Return an engine that knows its pool."""
    one = Engine(Settings(lateness=LATENESS, default=rules))
    one.feed([Pools(clock(0.0), (Pool("pool", tuple(PoolMember(name) for name in names)),))])
    return one


def by_time(one: Logged) -> tuple[float, int, int, int]:
    """Return the place of an input in a sorted file; polls come after the lines of their moment."""
    return (one.ended, 0, one.file, one.offset) if isinstance(one, Attempt) else (one.at, 1, 0, 0)


def replay(rules: PoolRules, nodes: int, inputs: list[Logged]) -> list[Decision]:
    """Return the decisions over a finished log, in order."""
    one = engine(rules, NODES[:nodes])
    ordered: list[Logged] = sorted(inputs, key=by_time)
    return one.feed(ordered) + one.finish()


@settings(max_examples=30)
@given(SEEDS)
def test_shuffled_within_lateness_nothing_changes(seed: int) -> None:
    """Lines that arrive less than `lateness` late give the decisions of the sorted file, in whatever portions."""
    dice = Random(seed)
    nodes = dice.randrange(1, 6)
    rules, inputs = some_rules(dice), fleet(dice, nodes)
    arriving = sorted(inputs, key=lambda one: by_time(one)[0] + dice.uniform(0.0, LATENESS * 0.999))
    live = engine(rules, NODES[:nodes])
    decisions: list[Decision] = []
    while arriving:
        portion = dice.choice([1, 2, 7, 50])
        decisions += live.feed(arriving[:portion])
        del arriving[:portion]

    assert replay(rules, nodes, inputs) == decisions + live.finish()
    assert live.late_lines == 0


@settings(max_examples=30)
@given(SEEDS)
def test_run_begins_with_replay(seed: int) -> None:
    """A run that ticks through the silence decides exactly what a plain replay does, and goes on after its end."""
    dice = Random(seed)
    nodes = dice.randrange(1, 6)
    rules, inputs = some_rules(dice), fleet(dice, nodes)
    arrivals = [(by_time(one)[0] + dice.uniform(0.0, LATENESS * 0.999), one) for one in inputs]
    last = max(arrival for arrival, _ in arrivals)
    ticks: list[tuple[float, Input]] = [(at, Idle(at)) for i in range(4000) if (at := clock(0.0) + i * 0.25) < last + 100.0]
    live = engine(rules, NODES[:nodes])
    decisions = [
        decision
        for _, one in sorted([*arrivals, *dice.sample(ticks, len(ticks) // 2)], key=lambda pair: pair[0])
        for decision in live.feed([one])
    ]

    plain = replay(rules, nodes, inputs)
    assert plain == decisions[: len(plain)]


@settings(max_examples=40)
@given(SEEDS)
def test_caps_hold(seed: int) -> None:
    """Never more out than allowed nor fewer serving than `min_serving`, never two within `settle`, nothing protected."""
    dice = Random(seed)
    nodes = dice.randrange(1, 6)
    rules = some_rules(dice)
    guard, out, last = rules.guard, set[str](), -1e9
    decisions = replay(rules, nodes, fleet(dice, nodes))
    assert decisions == sorted(decisions, key=lambda one: one.at)
    for one in decisions:
        assert one.source is Source.POLICY
        if one.action is Action.READMIT:
            out.remove(one.upstream)
        elif one.action is Action.EJECT:
            assert one.upstream not in out
            out.add(one.upstream)
            assert guard.max_ejected is None or len(out) <= guard.max_ejected * nodes
            assert nodes - len(out) >= guard.min_serving
            assert one.at - last >= guard.settle or one.reason == "probation"
            assert one.upstream not in {"n0", "n1"} or not guard.protected
            last = one.at


@settings(max_examples=25)
@given(SEEDS, st.permutations(["zeta", "alpha", "10.0.0.9:80", "[::1]:1", "mid"]))
def test_other_names_change_nothing_else(seed: int, others: list[str]) -> None:
    """With the order kept and no jitter, renaming the upstreams renames the decisions."""
    dice = Random(seed)
    nodes = dice.randrange(1, 6)
    rules = some_rules(dice)
    rules = msgspec.structs.replace(
        rules, eject=EjectRules(base=5.0, jitter=0.0), guard=msgspec.structs.replace(rules.guard, protected=())
    )
    inputs = fleet(dice, nodes)
    names = dict(zip(NODES, others, strict=True))
    renamed = engine(rules, tuple(others[:nodes]))
    decisions = renamed.feed([_renamed(one, names) for one in sorted(inputs, key=by_time)]) + renamed.finish()

    expected = [msgspec.structs.replace(one, upstream=names[one.upstream]) for one in replay(rules, nodes, inputs)]
    assert expected == decisions


def _renamed(one: Logged, names: dict[str, str]) -> Logged:
    if isinstance(one, InFlight) and one.counts is not None:
        return msgspec.structs.replace(one, counts={names[name]: count for name, count in one.counts.items()})
    return msgspec.structs.replace(one, upstream=names[one.upstream]) if isinstance(one, Attempt) else one


def test_the_logs_of_these_properties_are_not_idle() -> None:
    """The generated logs do lead to every kind of decision, or the properties would prove nothing."""
    seen = [one.action for seed in range(20) for one in replay(some_rules(Random(seed)), 4, fleet(Random(seed), 4))]

    assert all(seen.count(action) > 10 for action in Action)
