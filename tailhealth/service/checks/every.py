"""All findings, and all that is worth knowing besides."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tailhealth.config import STDIN
from tailhealth.service.checks import about_logs, about_nginx, about_pools, about_traffic
from tailhealth.service.checks.facts import Facts
from tailhealth.service.checks.finding import Finding, Note


def _proxy(facts: Facts) -> Iterator[Finding]:
    if facts.proxy.trouble is not None:
        yield facts.proxy.trouble
    if facts.state_problem:
        yield Finding("state_unreadable", "state", facts.state_problem)


CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _proxy,
    about_nginx.files,
    about_nginx.blocks,
    about_nginx.processes,
    about_logs.unreadable,
    about_logs.in_lines,
    about_logs.unlogged,
    about_logs.by_nginx,
    about_pools.nothing,
    about_pools.unactionable,
    about_pools.ambiguous,
    about_pools.unmarked,
    about_pools.tables,
    about_pools.protected,
    about_pools.strangers,
    about_traffic.too_quiet,
    about_traffic.limits,
    about_traffic.other_judges,
    about_traffic.upgrades,
    about_traffic.stalled,
)


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Find all that is to be mended, each once, the proxy's own trouble first."""
    return tuple(dict.fromkeys(one for check in CHECKS for one in check(facts)))


def notes(facts: Facts) -> tuple[Note, ...]:
    """Tell what was found and is well."""
    return tuple(_notes(facts))


def _notes(facts: Facts) -> Iterator[Note]:
    for group in facts.proxy.groups:
        listed = [entry.address for entry in group.standings[0].original]
        places = len(group.standings)
        where = f" in {places} places" if places > 1 else ""
        yield Note("pool", group.name, f"{len(listed)} upstreams{where}: {', '.join(listed)}")
    held = facts.proxy.load.held_down if facts.proxy.load is not None else frozenset()
    if held:
        yield Note("held_down", "proxy", f"the proxy's own checks hold down: {', '.join(sorted(held))}")
    for log in facts.logs:
        if not log.missing and not log.unreadable:
            seen = f"{log.records} access records among its last {log.lines} lines"
            text = seen if log.lines else "no lines yet: nothing can be told of them"
            yield Note("log", log.path, text)
    if any(log.path == STDIN for log in facts.config.log):
        yield Note("log", STDIN, "standard input is read by `run` alone, and was not looked at")
    for check in facts.proxy.own_checks:
        if check.active:
            yield Note("active_check", facts.proxy.pool_of(check.place), f"the proxy checks it by itself: {check.words}")
    yield from _stalled(facts)
    nginx = facts.proxy.nginx
    if nginx is not None and 0 < nginx.leaving <= nginx.workers:
        yield Note("old_workers", "proxy", f"{nginx.leaving} old workers still finish requests after a reload")


def _stalled(facts: Facts) -> Iterator[Note]:
    """Say where hung requests can't be seen, where nothing can be done about it or it was chosen."""
    settings = facts.config.settings()
    for pool in facts.view.pools:
        off = pool.stalled_off
        if facts.proxy.trouble is None and off is not None:
            chosen = settings.rules(pool.name).bad.stalled_after is None
            if chosen or facts.config.proxy.kind != "caddy":
                load = facts.proxy.load
                why = off if chosen or load is None or not load.problem else load.problem
                yield Note("stalled_off", pool.name, f"hung requests are found only when they end: {why}")
