"""The same rules with something else in one place, to ask a log what would have come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from tailhealth.core.rules import BadRules, GuardRules, PoolRules, Settings, Yardstick


def neutral(settings: Settings) -> Settings:
    """Return the rules without those of latency, and with nothing ever ejected: what is measured must not depend on them."""
    return _each_pool(settings, _neutral)


def unguarded(settings: Settings) -> Settings:
    """Return the rules as a threshold alone judges, like the proxies' own checks: nothing objects, only the last one stays."""
    return _each_pool(settings, _unguarded)


def with_slower_than(settings: Settings, limits: dict[tuple[str, int | None], float]) -> Settings:
    """Return the rules with other values of `slower_than`, in seconds; what depends on it by default follows.

    Args:
        settings: The rules.
        limits: By pool and index of the route; None is what no route matches.
    """
    pools = dict(settings.pools)
    for pool in {name for name, _ in limits}:
        own = {route: seconds for (name, route), seconds in limits.items() if name == pool}
        pools[pool] = _limited(settings.rules(pool), own)
    return msgspec.structs.replace(settings, pools=pools)


def _each_pool(settings: Settings, change: Callable[[PoolRules], PoolRules]) -> Settings:
    pools = {name: change(rules) for name, rules in settings.pools.items()}
    return msgspec.structs.replace(settings, default=change(settings.default), pools=pools)


def _neutral(rules: PoolRules) -> PoolRules:
    replace = msgspec.structs.replace
    routes = tuple(replace(one, yardstick=_without_latency(one.yardstick)) for one in rules.bad.routes)
    bad = BadRules(_without_latency(rules.bad.default), routes, stalled_after=None)
    return replace(rules, bad=bad, guard=replace(rules.guard, max_ejected=0.0))


def _without_latency(yardstick: Yardstick) -> Yardstick:
    return msgspec.structs.replace(yardstick, slower_than=None, total_slower_than=None)


def _unguarded(rules: PoolRules) -> PoolRules:
    guard = GuardRules(protected=(), max_ejected=None, min_serving=1, common_cause=False, settle=0.0)
    return msgspec.structs.replace(rules, guard=guard)


def _limited(rules: PoolRules, limits: dict[int | None, float]) -> PoolRules:
    replace = msgspec.structs.replace
    bad = rules.bad
    default = _slower_than(bad.default, limits.get(None))
    routes = tuple(
        replace(one, yardstick=_slower_than(one.yardstick, limits.get(index))) for index, one in enumerate(bad.routes)
    )
    stalled_after = bad.stalled_after
    if stalled_after is not None and stalled_after == _greatest(bad.default, *(one.yardstick for one in bad.routes)):
        stalled_after = _greatest(default, *(one.yardstick for one in routes))
    return replace(rules, bad=BadRules(default, routes, stalled_after))


def _slower_than(yardstick: Yardstick, seconds: float | None) -> Yardstick:
    if seconds is None:
        return yardstick
    half = None if yardstick.slower_than is None else yardstick.slower_than / 2
    abandoned_after = seconds / 2 if yardstick.abandoned_after == half else yardstick.abandoned_after
    return msgspec.structs.replace(yardstick, slower_than=seconds, abandoned_after=abandoned_after)


def _greatest(*yardsticks: Yardstick) -> float | None:
    limits: Iterable[float] = (one.slower_than for one in yardsticks if one.slower_than is not None and not one.ignore)
    return max(limits, default=None)
