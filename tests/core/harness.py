"""Stories with clock times for the core: what the proxy's log says, and what must be decided on it.

A story is strict: a decision that it does not expect fails it at the next step.
"""

from __future__ import annotations

from typing import Self

import msgspec

from tailhealth.core.engine import Engine
from tailhealth.core.model import (
    Aborted,
    Action,
    Attempt,
    Blind,
    Command,
    Decision,
    End,
    Idle,
    InFlight,
    Input,
    Pool,
    PoolMember,
    Pools,
    Reason,
    Started,
    Stepped,
    Verb,
)
from tailhealth.core.rules import BadRules, EjectRules, GuardRules, PoolRules, ProbationRules, Settings, WindowRules

DAY = 1_795_910_400.0
"""Midnight before every story, in epoch seconds."""
POOL = "pool"


def clock(time: str | float) -> float:
    """Return a time of the story's day in epoch seconds: `10:00:05.5`, or seconds after 10:00."""
    if isinstance(time, str):
        hours, minutes, seconds = time.split(":")
        return DAY + int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    return DAY + 36_000 + time


def rules(
    *,
    bad: BadRules | None = None,
    window: WindowRules | None = None,
    eject: EjectRules | None = None,
    probation: ProbationRules | None = ProbationRules(),  # noqa: B008 - a frozen value
    guard: GuardRules | None = None,
    enforce: bool = True,
    backups: frozenset[str] = frozenset(),
) -> PoolRules:
    """Return the default rules of a pool with some replaced; without jitter unless given."""
    return PoolRules(
        enforce=enforce,
        bad=bad or BadRules(),
        window=window or WindowRules(),
        eject=eject or EjectRules(jitter=0.0),
        probation=probation,
        guard=guard or GuardRules(),
        backups=backups,
    )


def attempt(
    upstream: str,
    ended: float,
    *,
    status: int | None = 200,
    header: float | None = 0.0,
    took: float | None = None,
    end: End = End.ANSWERED,
    client: str = "192.0.2.1",
    **more: object,
) -> Attempt:
    """Return an attempt, by default one that is answered in no time; one without a header waited for `took` seconds."""
    duration = took if took is not None else header
    one = Attempt(
        ended=ended,
        upstream=upstream,
        end=end,
        started=ended - (duration or 0.0),
        status=status,
        header=header,
        header_came=header is not None,
        duration=duration,
        client=client,
    )
    return msgspec.structs.replace(one, **more) if more else one


def silent(upstream: str, ended: float, end: End, waited: float, **more: object) -> Attempt:
    """Return an attempt that ended without a header."""
    return attempt(upstream, ended, status=None, header=None, took=waited, end=end, **more)  # type: ignore[arg-type]  # as above


def pool(*nodes: str | PoolMember, name: str = POOL, **more: object) -> Pool:
    """Return a pool of upstreams in this order."""
    members = tuple(PoolMember(node) if isinstance(node, str) else node for node in nodes)
    one = Pool(name, members)
    return msgspec.structs.replace(one, **more) if more else one


class Story:
    """An engine that is told a story.

    Args:
        nodes: The upstreams of the pool `pool`, or whole pools.
        settings: The rules of every pool.
        lateness: As in the configuration; 0 judges each line when it comes.
        begins: Clock time of the first step.
    """

    def __init__(
        self,
        *nodes: str | PoolMember | Pool,
        settings: PoolRules | None = None,
        lateness: float = 0.0,
        begins: str | float = "10:00:00",
        pools: dict[str, PoolRules] | None = None,
        started: Started | None = None,
    ) -> None:
        self.engine = Engine(Settings(lateness=lateness, default=settings or rules(), pools=pools or {}))
        self.now = clock(begins)
        self.pending: list[Decision] = []
        self.told: list[Decision] = []
        whole = [one for one in nodes if isinstance(one, Pool)]
        if started is not None:
            self.feed(started)
        self.feed(Pools(self.now, tuple(whole) or (pool(*(one for one in nodes if not isinstance(one, Pool))),)))

    def feed(self, *inputs: Input) -> Self:
        """Tell the engine something."""
        decisions = self.engine.feed(inputs)
        self.pending += decisions
        self.told += decisions
        return self

    def at(self, time: str | float) -> Self:
        """Let time pass to a clock time. Whatever was decided until now must have been expected."""
        self.expects_nothing()
        self.now = clock(time)
        return self.feed(Idle(self.now))

    def after(self, seconds: float) -> Self:
        """Let some seconds pass."""
        return self.at(self.now + seconds - clock(0.0))

    # What the log says

    def sees(self, *attempts: Attempt | Aborted) -> Self:
        """Take lines as they are."""
        return self.feed(*attempts)

    def answers(self, *nodes: str, times: int = 1, **more: object) -> Self:
        """Each node answers well, now, so many times."""
        return self.sees(*(attempt(node, self.now, **more) for _ in range(times) for node in nodes))  # type: ignore[arg-type]  # keywords of `attempt`

    def fails(self, *nodes: str, times: int = 1, status: int = 500, **more: object) -> Self:
        """Each node answers with an error, now, so many times."""
        return self.answers(*nodes, times=times, status=status, **more)

    def refuses(self, *nodes: str, times: int = 1, **more: object) -> Self:
        """Each node refuses the connection, now, so many times."""
        return self.sees(*(silent(node, self.now, End.REFUSED, 0.0, **more) for _ in range(times) for node in nodes))

    def is_left(self, *nodes: str, waited: float, times: int = 1, **more: object) -> Self:
        """Clients give up on each node without a header, now, so many times."""
        return self.sees(*(silent(node, self.now, End.ABANDONED, waited, **more) for _ in range(times) for node in nodes))

    def aborts(self) -> Self:
        """A record ends that names no upstream."""
        return self.feed(Aborted(self.now, 200))

    # What else comes in

    def polls(self, process: str = "1", **counts: int) -> Self:
        """The proxy tells its requests in flight."""
        return self.feed(InFlight(self.now, counts, process))

    def misses_a_poll(self, process: str = "") -> Self:
        """The proxy can't be asked."""
        return self.feed(InFlight(self.now, None, process))

    def orders(self, verb: Verb, node: str = "", **more: object) -> Self:
        """An operator orders something."""
        return self.feed(msgspec.structs.replace(Command(self.now, verb, node), **more))

    def names(self, *pools: Pool) -> Self:
        """The proxy's configuration names these pools now."""
        return self.feed(Pools(self.now, pools))

    def goes_blind(self, source: str = "log", pool: str | None = None, reason: str | None = "unreadable") -> Self:
        """The input can't be trusted."""
        return self.feed(Blind(self.now, source, reason, pool))

    def sees_again(self, source: str = "log", pool: str | None = None) -> Self:
        """The input can be trusted again."""
        return self.goes_blind(source, pool, reason=None)

    def steps(self, by: float) -> Self:
        """The wall clock jumps."""
        self.feed(Stepped(self.now, by))
        self.now += by
        return self

    def finishes(self) -> Self:
        """The input ends."""
        decisions = self.engine.finish()
        self.pending += decisions
        self.told += decisions
        return self

    # What must be decided

    def expects(self, action: Action, node: str, reason: Reason, **fields: object) -> Self:
        """The next decision is this one; `fields` are further fields of it, times as clock times."""
        assert self.pending, f"expected {action} {node} {reason}, nothing was decided"
        first = self.pending.pop(0)
        for name in ("at", "until"):
            if isinstance(value := fields.get(name), str):
                fields[name] = clock(value)
        expected = {"action": action, "upstream": node, "reason": reason, **fields}

        assert expected == {name: getattr(first, name) for name in expected}
        return self

    def expects_nothing(self) -> Self:
        """Nothing more was decided."""
        assert [(one.at - clock(0.0), one.upstream, one.action.value, one.reason.value) for one in self.pending] == []
        return self

    def skips(self) -> Self:
        """What was decided up to now is told elsewhere."""
        self.pending.clear()
        return self

    def decided(self, action: Action) -> list[str]:
        """Name the upstreams of all decisions of one kind so far."""
        return [one.upstream for one in self.told if one.action is action]
