"""Operator's orders on their way: from a request on the control socket to the engine and back (DESIGN section 7)."""

from __future__ import annotations

from concurrent.futures import Future
from typing import NamedTuple

import msgspec

from tailhealth.core.address import canonical
from tailhealth.core.engine import Engine
from tailhealth.core.model import Command, Decision, Source, Verb
from tailhealth.service.control import Reply, Request


class OrderError(ValueError):
    """The order can't be given; the text says why and what would do."""


class _Waiting(NamedTuple):
    command: Command
    reply: Future[Reply]
    taken: list[Decision]


def command_of(request: Request, engine: Engine, at: float) -> Command:
    """Return a request as a command that takes its place among the engine's inputs.

    Raises:
        OrderError: No such order, upstream or pool.
    """
    try:
        verb = Verb(request.command)
    except ValueError:
        raise OrderError(f"{request.command}: no such command") from None
    if request.pool is not None and request.pool not in engine.pools:
        raise OrderError(f"{request.pool}: no such pool; there are: {', '.join(engine.pools) or 'none yet'}")
    upstream = "" if verb in (Verb.PAUSE, Verb.RESUME) else _upstream(request, engine)
    return Command(
        max(at, engine.now), verb, upstream, request.pool, duration=request.duration, why=request.why, force=request.force
    )


def _upstream(request: Request, engine: Engine) -> str:
    try:
        address = canonical(request.upstream)
    except ValueError as error:
        raise OrderError(f"{request.upstream}: {error}") from None
    pools = [pool for pool in engine.pools.values() if request.pool in (None, pool.name)]
    if not any(address in pool.members for pool in pools):
        known = sorted({name for pool in pools for name in pool.members})
        raise OrderError(f"{address}: no such upstream; there are: {', '.join(known) or 'none yet'}")
    return address


class OrderDesk:
    """Keeps who waits for which order, until the engine has passed it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: list[_Waiting] = []

    def take(self, command: Command, reply: Future[Reply]) -> None:
        """Remember who gave an order that was just handed to the engine."""
        self._waiting.append(_Waiting(command, reply, []))

    @property
    def has_passed(self) -> bool:
        """The engine has passed an order that is not answered yet."""
        return any(self._engine.frontier >= one.command.at for one in self._waiting)

    def settle(self, decisions: list[Decision]) -> None:
        """Answer the orders that the engine has passed, with the decisions that came of them."""
        still = []
        for one in self._waiting:
            one.taken.extend(_of(one.command, decisions))
            if self._engine.frontier >= one.command.at:
                one.reply.set_result(_answer(one.command, one.taken, self._engine))
            else:
                still.append(one)
        self._waiting = still

    def give_up(self) -> None:
        """The controller stops: nobody waits any longer."""
        for one in self._waiting:
            one.reply.set_result(Reply(ok=False, error="the controller is stopping"))
        self._waiting = []


def _of(command: Command, decisions: list[Decision]) -> list[Decision]:
    return [
        one for one in decisions if one.at == command.at and one.source is Source.OPERATOR and one.upstream == command.upstream
    ]


def _answer(command: Command, taken: list[Decision], engine: Engine) -> Reply:
    pools = [
        pool.name
        for pool in engine.pools.values()
        if command.pool in (None, pool.name) and (not command.upstream or command.upstream in pool.members)
    ]
    refused = [one for one in taken if one.action == "withheld"]
    if refused and len(refused) == len(taken):
        where = ", ".join(one.pool for one in refused)
        return Reply(ok=False, error=f"{command.upstream} is the last one serving in {where}: use --force to empty the pool")
    return Reply(ok=True, data={"command": command.verb.value, "pools": pools, "decisions": msgspec.to_builtins(taken)})
