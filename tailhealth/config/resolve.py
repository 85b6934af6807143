"""From the tables of the file to the settings of the core: defaults that depend on others, routes that inherit."""

from __future__ import annotations

from msgspec import UNSET

from tailhealth.config.rules import Bad, BadRoute, Eject, Guard, Probation, Window
from tailhealth.config.schema import Document, PoolTable
from tailhealth.core import rules

_INHERITED = (
    "status",
    "grpc_status",
    "slower_than",
    "total_slower_than",
    "refused",
    "timed_out",
    "truncated",
    "busy",
    "uploads",
)


def settings(document: Document) -> rules.Settings:
    """Return what the engine needs to know."""
    return rules.Settings(
        lateness=document.lateness,
        default=pool_rules(document),
        pools={name: pool_rules(table) for name, table in document.pool.items()},
    )


def pool_rules(table: Document | PoolTable) -> rules.PoolRules:
    """Return the settings of one pool, or of all pools without a table."""
    return rules.PoolRules(
        enforce=table.mode == "enforce",
        bad=bad_rules(table.bad),
        window=_window(table.window),
        eject=_eject(table.eject),
        probation=None if table.probation is None else _probation(table.probation),
        guard=_guard(table.guard),
        backups=frozenset(table.upstreams) if isinstance(table, PoolTable) else frozenset(),
    )


def bad_rules(bad: Bad) -> rules.BadRules:
    """Return `[bad]` with effective values: routes inherit, half of this and the greatest of that are worked out."""
    default = _yardstick(bad, BadRoute())
    routes = tuple(rules.Route(_yardstick(bad, one), one.method, one.host, one.path) for one in bad.route)
    yardsticks = [default, *(route.yardstick for route in routes)]
    stalled_after = bad.stalled_after
    if stalled_after is UNSET:
        limits = [one.slower_than for one in yardsticks if one.slower_than is not None and not one.ignore]
        stalled_after = max(limits) if len(limits) == len(yardsticks) else None
    return rules.BadRules(default, routes, stalled_after)


def _yardstick(bad: Bad, route: BadRoute) -> rules.Yardstick:
    values = {name: getattr(bad, name) if (own := getattr(route, name)) is UNSET else own for name in _INHERITED}
    abandoned_after = bad.abandoned_after if route.abandoned_after is UNSET else route.abandoned_after
    if abandoned_after is UNSET:
        abandoned_after = None if values["slower_than"] is None else values["slower_than"] / 2
    busy = values.pop("busy")
    return rules.Yardstick(
        **values,
        abandoned_after=abandoned_after,
        busy=busy.always,
        busy_with_retry_after=busy.with_retry_after,
        ignore=route.ignore,
    )


def _window(table: Window) -> rules.WindowRules:
    return rules.WindowRules(
        last=table.last,
        span=table.span,
        within=table.within,
        min_requests=table.min_requests,
        ratio=table.ratio,
        consecutive_refused=table.consecutive_refused,
        consecutive_unanswered=table.consecutive_unanswered,
        unanswered_after=table.unanswered_after,
        clients=None if table.clients is UNSET else table.clients,
    )


def _eject(table: Eject) -> rules.EjectRules:
    return rules.EjectRules(base=table.for_, backoff=table.backoff, cap=table.max, jitter=table.jitter)


def _probation(table: Probation) -> rules.ProbationRules:
    return rules.ProbationRules(requests=table.requests, bad=table.bad, max_in_flight=table.max_in_flight)


def _guard(table: Guard) -> rules.GuardRules:
    return rules.GuardRules(
        protected=table.protected,
        max_ejected=table.max_ejected,
        min_serving=table.min_serving,
        common_cause=table.common_cause,
        chance=table.chance,
        settle=table.settle,
    )
