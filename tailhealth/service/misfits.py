"""What of our configuration means nothing in the proxy: protected patterns and `[pool]` tables without a match."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from tailhealth.config import Config
from tailhealth.core.policy import matches_any
from tailhealth.service.conditions import Condition, Kind


class Misfit(NamedTuple):
    """A key of the configuration without a match."""

    key: str
    text: str
    is_table: bool = False
    """It is a `[pool]` table, not a pattern."""


def misfits(config: Config, pools: Mapping[str, Collection[str]]) -> Iterator[Misfit]:
    """Find them: a list that protects what is not there is as good as none (incident C).

    Args:
        config: Ours.
        pools: The upstreams of the proxy's pools, by name; empty: nobody knows them yet, and nothing is said.
    """
    if not pools:
        return
    for name in config.pool:
        if name not in pools:
            yield Misfit(
                f"pool.{name}", "no pool of the proxy is meant by this table, or another table means it too", is_table=True
            )
    everywhere = config.guard.protected
    yield from _unmatched("guard.protected", everywhere, {one for each in pools.values() for one in each})
    for name, table in config.pool.items():
        own = tuple(one for one in table.guard.protected if one not in everywhere)
        yield from _unmatched(f"pool.{name}.guard.protected", own, pools.get(name, ()))


def conditions(config: Config, pools: Mapping[str, Collection[str]], since: float) -> tuple[Condition, ...]:
    """Return them as named states of a controller; `since` is when the configuration was read."""
    return tuple(Condition(Kind.MISFIT, f"{one.key}: {one.text}", since) for one in misfits(config, pools))


def _unmatched(key: str, patterns: tuple[str, ...], addresses: Collection[str]) -> Iterator[Misfit]:
    for pattern in patterns:
        if not any(matches_any(address, [pattern]) for address in addresses):
            yield Misfit(key, f"{pattern!r} matches no upstream, so it protects nothing")
