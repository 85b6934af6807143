"""Findings about what the logs show: is there enough to judge, and do the limits fit what is normal?"""

from __future__ import annotations

from collections.abc import Iterator

from tailhealth.config import format_duration
from tailhealth.core.propose import threshold
from tailhealth.core.rules import Yardstick
from tailhealth.proxies.own_checks import OwnCheck
from tailhealth.service.checks.facts import Answer, Facts, Traffic
from tailhealth.service.checks.finding import Finding
from tailhealth.views.status import too_little_traffic
from tailhealth.views.text import duration


def too_quiet(facts: Facts) -> Iterator[Finding]:
    """Find pools that can't be judged by ratio."""
    for one in facts.quiet:
        (text,) = too_little_traffic([one])
        yield Finding("too_little_traffic", one.pool, text.removeprefix(f"{one.pool}: "))


def limits(facts: Facts) -> Iterator[Finding]:
    """Find values of `slower_than` that healthy answers reach (DESIGN section 9)."""
    for pool, traffic in facts.traffic.items():
        longest: dict[Yardstick, Answer] = {}
        for one in traffic.healthy:
            before = longest.get(one.yardstick)
            if before is None or one.waited > before.waited:
                longest[one.yardstick] = one
        for yardstick, one in longest.items():
            if yardstick.slower_than is not None and one.waited >= yardstick.slower_than:
                text = (
                    f"slower_than is {duration(yardstick.slower_than)}, and a healthy answer took {duration(one.waited)}"
                    f" ({one.attempt.method} {one.attempt.path})"
                )
                more = format_duration(threshold(one.waited))
                remedy = f'set it to "{more}" or more for this route; `tailhealth calibrate` shows what is normal'
                yield Finding("slower_than_low", pool, text, remedy)


def other_judges(facts: Facts) -> Iterator[Finding]:
    """Find checks of the proxy's own that judge the same upstreams by what is normal here."""
    for check in facts.proxy.own_checks:
        pool = facts.proxy.pool_of(check.place)
        traffic = facts.traffic.get(pool, Traffic())
        yield from _active(check, pool, traffic) if check.active else _passive(check, pool, traffic)


def _active(check: OwnCheck, pool: str, traffic: Traffic) -> Iterator[Finding]:
    """A light check beside us is well; one that healthy answers of its own path would fail is incident A."""
    slow = [one.waited for one in traffic.healthy if one.attempt.path == check.path]
    if check.limit is not None and slow and max(slow) >= check.limit:
        fails = sum(one >= check.limit for one in slow)
        text = (
            f"the proxy's own active check ({check.words}) would fail healthy upstreams: {fails} of {len(slow)} healthy answers"
            f" on {check.path} took that long, the longest {duration(max(slow))}"
        )
        yield Finding("active_check_strict", pool, text, "let it ask for a light path, or give it more time")


def _passive(check: OwnCheck, pool: str, traffic: Traffic) -> Iterator[Finding]:
    healthy = [one for one in traffic.healthy if not check.upstreams or one.attempt.upstream in check.upstreams]
    normal = "the log shows no healthy answer yet"
    if healthy:
        fails = sum(check.fails(one.attempt.status, one.waited) for one in healthy)
        longest = max(one.waited for one in healthy)
        normal = (
            f"{fails} of {len(healthy)} healthy answers in the log are failures by its measure, the longest took"
            f" {duration(longest)}"
        )
    text = f"the proxy judges these upstreams by itself too ({check.words}); {normal}"
    yield Finding(
        "other_judge", pool, text, 'leave the judgement to one: switch this off, or set `mode = "observe"` for the pool'
    )


def upgrades(facts: Facts) -> Iterator[Finding]:
    """Find websockets that a change of Caddy's configuration would close (DESIGN section 8, Caddy)."""
    for group in facts.proxy.groups:
        switched = facts.traffic.get(group.name, Traffic()).switched
        if switched and any(facts.proxy.stream_delays.get(one.place.key) == 0 for one in group.standings):
            text = "upgraded connections (101) were seen, and every change of Caddy's configuration closes them at once"
            yield Finding("no_stream_close_delay", group.name, text, "set `stream_close_delay` in its `reverse_proxy` block")


def stalled(facts: Facts) -> Iterator[Finding]:
    """Find pools whose hung requests are found only when they end, where that can be mended."""
    if facts.proxy.trouble is not None or facts.config.proxy.kind != "caddy":
        return
    settings = facts.config.settings()
    for pool in facts.view.pools:
        if pool.stalled_off is not None and settings.rules(pool.name).bad.stalled_after is not None:
            load = facts.proxy.load
            why = f": {load.problem}" if load is not None and load.problem else ""
            remedy = (
                "let the admin interface serve /reverse_proxy/upstreams and /metrics"
                if why
                else "write round-trip lines into the log: `level DEBUG` and `include http.handlers.reverse_proxy`"
            )
            text = f"hung requests are found only when they end: {pool.stalled_off}{why}"
            yield Finding("stalled_off", pool.name, text, remedy)
