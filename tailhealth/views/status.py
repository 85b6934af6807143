"""What `status` says beneath the picture: all that is not as it should be, each with its remedy. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Protocol

from tailhealth.core.quiet import TooQuiet
from tailhealth.core.view import PoolView
from tailhealth.views.text import duration, harmless, moment


class Trouble(Protocol):
    """A named state of the controller."""

    @property
    def why(self) -> str:
        """What is the matter, with the remedy."""
        ...

    @property
    def since(self) -> float:
        """Since when, in epoch seconds."""
        ...

    @property
    def pool(self) -> str | None:
        """The pool concerned; None: all."""
        ...


def troubles(conditions: Iterable[Trouble], zone: tzinfo) -> list[str]:
    """Say what keeps the controller from doing all that was decided."""
    return [
        f"{harmless(one.pool) + ': ' if one.pool else ''}{harmless(one.why)} (since {moment(one.since, zone)})"
        for one in conditions
    ]


def too_little_traffic(found: Iterable[TooQuiet]) -> list[str]:
    """Say which pools are too quiet to be judged by ratio, and what would help."""
    return [_too_little(one) for one in found]


def _too_little(one: TooQuiet) -> str:
    names = ", ".join(map(harmless, one.upstreams))
    counted = f"fewer than {one.min_requests} requests counted within {duration(one.within)} at {names}"
    if one.proposed is None:
        remedy = "no `within` up to a day would help; what is refused or unanswered in a row is still found"
    else:
        remedy = f'window.within = "{_toml(one.proposed)}" would do'
    return f"{harmless(one.pool)}: too little traffic to judge by ratio: {counted}; {remedy}"


def _toml(seconds: float) -> str:
    """Write a proposal, which is whole minutes, as the configuration takes it."""
    hours, minutes = divmod(round(seconds / 60), 60)
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")


def stalled_off(pools: Sequence[PoolView]) -> list[str]:
    """Say where requests in flight are not judged, and why."""
    return [
        f"{harmless(pool.name)}: hung requests are found only when they end: {harmless(pool.stalled_off)}"
        for pool in pools
        if pool.stalled_off is not None
    ]


def hints(inputs: Iterable[tuple[str, dict[str, str]]]) -> Iterator[str]:
    """Say what is wrong with the setup of each log, given as (path, hints)."""
    for path, found in inputs:
        for text in found.values():
            yield f"{harmless(path)}: {harmless(text)}"
