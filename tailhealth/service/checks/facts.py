"""All that `check` has read, as values: of the configuration, the proxy, and the tails of the logs."""

from __future__ import annotations

import msgspec

from tailhealth.config import Config
from tailhealth.core.model import Attempt
from tailhealth.core.quiet import TooQuiet
from tailhealth.core.rules import Yardstick
from tailhealth.core.view import View
from tailhealth.proxies.base import Load
from tailhealth.proxies.nginx_main import Main
from tailhealth.proxies.own_checks import OwnCheck
from tailhealth.service.checks.finding import Finding
from tailhealth.service.pools import Group
from tailhealth.service.standing import Standing
from tailhealth.service.thinning import Outputs


class LogFacts(msgspec.Struct, frozen=True):
    """A log, and what its tail shows."""

    path: str
    missing: bool = False
    unreadable: str = ""
    """Why it can't be read, in the system's words; empty: it can."""
    mode: int | None = None
    """Its permissions, where they may be seen."""
    lines: int = 0
    records: int = 0
    attempts: int = 0
    skipped: int = 0
    newest: float | None = None
    """Time of its newest attempt, in epoch seconds."""
    hints: dict[str, str] = {}
    """What its readers found, by code."""


class Answer(msgspec.Struct, frozen=True):
    """A healthy answer: good, were it not for how long it took."""

    attempt: Attempt
    waited: float
    """Seconds that are judged by `slower_than`."""
    yardstick: Yardstick


class Traffic(msgspec.Struct, frozen=True):
    """What a pool's requests show, as far as the tails of the logs reach."""

    attempts: int = 0
    healthy: tuple[Answer, ...] = ()
    switched: frozenset[str] = frozenset()
    """Upstreams that switched protocols (101): their connections live long."""


class Stranger(msgspec.Struct, frozen=True):
    """An address that the logs name and no pool has."""

    address: str
    attempts: int


class NginxFacts(msgspec.Struct, frozen=True):
    """What only an nginx has."""

    main: Main
    refused: str = ""
    """Why it does not take its configuration as it stands, in its own words; empty: it does."""
    running: bool = True
    """Its pid file names a running master."""
    workers: int = 0
    leaving: int = 0
    """Old workers that still finish requests after reloads."""
    unwritable: tuple[str, ...] = ()
    """Files and folders that must be writable, and are not."""


class ProxyFacts(msgspec.Struct, frozen=True):
    """What the proxy tells."""

    trouble: Finding | None = None
    """Why it can't be read; all else is empty then."""
    standings: tuple[Standing, ...] = ()
    groups: tuple[Group, ...] = ()
    clashes: dict[str, str] = {}
    """What is wrong with the `[pool]` tables, by the upstreams concerned."""
    load: Load | None = None
    outputs: Outputs = ()
    own_checks: tuple[OwnCheck, ...] = ()
    stream_delays: dict[str, float] = {}
    """Caddy: seconds that upgraded connections get at a change, by place."""
    portless: tuple[tuple[str, str], ...] = ()
    """Caddy: places with a dial address without a port."""
    nginx: NginxFacts | None = None

    def pool_of(self, place: str) -> str:
        """Name the pool of a place; the place itself where it has none."""
        found = (one.name for one in self.groups if any(each.place.key == place for each in one.standings))
        return next(found, place)


class Facts(msgspec.Struct, frozen=True):
    """All of it."""

    config: Config
    proxy: ProxyFacts
    logs: tuple[LogFacts, ...]
    view: View
    quiet: tuple[TooQuiet, ...] = ()
    traffic: dict[str, Traffic] = {}
    """By pool; without a proxy that can be read, all upstreams of the logs are the pool `log`."""
    strangers: tuple[Stranger, ...] = ()
    state_problem: str = ""
    """Why our own state file can't be read; empty: it can, or there is none."""
