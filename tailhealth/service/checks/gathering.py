"""Reads all that `check` looks at: our state, the proxy, the tails of the logs. Nothing is changed anywhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tailhealth.config import Config
from tailhealth.core.model import Pool
from tailhealth.proxies import caddy_checks, nginx_checks
from tailhealth.proxies.base import Forbidden, Place, ProxyError, Retryable
from tailhealth.proxies.caddy import Caddy
from tailhealth.proxies.caddy_config import snapshot
from tailhealth.proxies.nginx import Nginx
from tailhealth.proxies.nginx_process import master, workers
from tailhealth.proxies.nginx_reload import asked
from tailhealth.service.checks.facts import Facts, NginxFacts, ProxyFacts
from tailhealth.service.checks.finding import Finding
from tailhealth.service.checks.peek import Peek, peek
from tailhealth.service.checks.tails import TAIL, tails
from tailhealth.service.checks.traffic import told
from tailhealth.service.naming import ConfiguredNames
from tailhealth.service.pools import core_pools, grouped
from tailhealth.service.proxying import access_of, proxy_of, setup_of
from tailhealth.service.standing import Standing, survey
from tailhealth.service.state import Contents, StateError

_REMEDIES = {
    "caddy": "see that Caddy runs, and that [proxy] admin is the address of its admin interface (`admin` in the Caddyfile)",
    "nginx": "see to it, or correct `include`, `test` and `pid` of [proxy]",
    "nginx-plus": "see that nginx runs, and that [proxy] admin is the address at which its `api` is served",
}


def gather(config: Config, now: float, tail: int = TAIL) -> Facts:
    """Read everything.

    Args:
        config: What to look for.
        now: Wall clock in epoch seconds.
        tail: Bytes of each log.

    Raises:
        ConfigError: A header's value can't be read.
    """
    state, state_problem = Peek(Contents(token="")), ""
    try:
        state = peek(config.state_dir())
    except StateError as error:
        state_problem = str(error)
    logs, events = tails(config, tail)
    proxy = _proxy(config, state)
    known = told(config, _pools(proxy), proxy.load, events, now)
    return Facts(config, proxy, logs, known.view, known.quiet, known.traffic, known.strangers, state_problem)


def _pools(proxy: ProxyFacts) -> tuple[Pool, ...] | None:
    if proxy.trouble is not None:
        return None
    held_down = frozenset() if proxy.load is None else proxy.load.held_down
    return core_pools(proxy.groups, proxy.standings, held_down, frozenset())


def _proxy(config: Config, state: Peek) -> ProxyFacts:
    try:
        found = {"caddy": _caddy, "nginx": _nginx, "nginx-plus": _plus}[config.proxy.kind](config, state)
    except ProxyError as error:
        return ProxyFacts(trouble=_trouble(config, error))
    naming = ConfiguredNames(config)
    groups = grouped(found.standings, naming)
    return msgspec.structs.replace(found, groups=groups, clashes=dict(naming.clashes))


def _trouble(config: Config, error: ProxyError) -> Finding:
    if isinstance(error, Forbidden):
        return Finding("forbidden", "proxy", str(error))
    code = "admin_unreachable" if isinstance(error, Retryable) else "no_proxy"
    return Finding(code, "proxy", str(error), _REMEDIES[config.proxy.kind])


def _caddy(config: Config, state: Peek) -> ProxyFacts:
    proxy = Caddy(access_of(config))
    raw = proxy.config()
    found = snapshot(raw)
    return ProxyFacts(
        standings=_standings(found.places, state),
        load=proxy.load(),
        outputs=found.outputs,
        own_checks=caddy_checks.own_checks(raw),
        stream_delays=caddy_checks.stream_delays(raw),
        portless=caddy_checks.portless(raw),
    )


def _nginx(config: Config, state: Peek) -> ProxyFacts:
    setup = setup_of(config)
    proxy = Nginx(setup)
    verdict = asked(setup)
    places = proxy.look().places
    main = proxy.main()
    running = master(setup.pid)
    now = None if running is None else workers(running)
    return ProxyFacts(
        standings=_standings(places, state),
        load=proxy.load(),
        own_checks=nginx_checks.own_checks(places),
        nginx=NginxFacts(
            main=main,
            refused="" if verdict.good else verdict.words,
            running=now is not None,
            workers=0 if now is None else len(now.current),
            leaving=0 if now is None else len(now.leaving),
            unwritable=_unwritable(setup.include),
        ),
    )


def _plus(config: Config, state: Peek) -> ProxyFacts:
    proxy = proxy_of(config, state)
    places = proxy.read().places
    return ProxyFacts(standings=_standings(places, state), load=proxy.load(), own_checks=nginx_checks.own_checks(places))


def _standings(places: Sequence[Place], state: Peek) -> tuple[Standing, ...]:
    contents = state.contents
    return survey(places, contents.kept, contents.owns, contents.retired).standings


def _unwritable(include: dict[str, str]) -> tuple[str, ...]:
    """Find what we may not write: the files are replaced, so their folders count too."""
    files = [Path(os.path.realpath(path)) for path in include.values()]
    return tuple(str(one) for file in files for one in (file, file.parent) if one.exists() and not os.access(one, os.W_OK))
