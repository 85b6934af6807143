"""What the tails of the logs show of each pool, told by the engine that a running controller has; nothing is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

import msgspec

from tailhealth.config import Config
from tailhealth.core.engine import Engine
from tailhealth.core.judge import SWITCHING_PROTOCOLS, UPLOAD_BYTES, header_time, measure
from tailhealth.core.model import Attempt, Idle, InFlight, Outcome, Pool, Pools, Started, Verdict
from tailhealth.core.quiet import TooQuiet, too_quiet
from tailhealth.core.rules import Settings, Yardstick
from tailhealth.core.view import View, view
from tailhealth.logs.reading import Event
from tailhealth.proxies.base import Load
from tailhealth.service.checks.facts import Answer, Stranger, Traffic

_AFTER = 1.0
"""Seconds after the newest line at which the picture is taken."""


class Told(msgspec.Struct, frozen=True):
    """What the engine tells of it."""

    view: View
    quiet: tuple[TooQuiet, ...]
    traffic: dict[str, Traffic]
    strangers: tuple[Stranger, ...]


class _Pool:
    def __init__(self) -> None:
        self.attempts = 0
        self.healthy: list[Answer] = []
        self.switched: set[str] = set()


class _Observer:
    """Notes each judged attempt."""

    def __init__(self, settings: Settings) -> None:
        self.pools: dict[str, _Pool] = {}
        self._settings = settings
        self._lenient: dict[Yardstick, Yardstick] = {}

    def observe(self, attempt: Attempt, pool: str, upstream: str, outcome: Outcome) -> None:
        """Take one attempt; the outcome is judged anew, without limits of time."""
        del outcome
        found = self.pools.setdefault(pool, _Pool())
        found.attempts += 1
        if attempt.status == SWITCHING_PROTOCOLS:
            found.switched.add(upstream)
        yardstick = self._settings.rules(pool).bad.yardstick(attempt.method, attempt.host, attempt.path)
        waited = header_time(attempt)
        uploaded = attempt.body_bytes >= UPLOAD_BYTES and not yardstick.uploads
        if waited is not None and not uploaded and measure(attempt, self._without_limits(yardstick)).verdict is Verdict.GOOD:
            found.healthy.append(Answer(attempt, waited, yardstick))

    def _without_limits(self, yardstick: Yardstick) -> Yardstick:
        if yardstick not in self._lenient:
            self._lenient[yardstick] = msgspec.structs.replace(yardstick, slower_than=None, total_slower_than=None)
        return self._lenient[yardstick]


def told(config: Config, pools: Sequence[Pool] | None, load: Load | None, events: Sequence[Event], now: float) -> Told:
    """Let an engine read the lines as history.

    Args:
        config: The rules.
        pools: The proxy's pools; None: it can't be read, and the log's upstreams are one pool.
        load: What the proxy counts.
        events: Of all logs.
        now: Wall clock in epoch seconds: the time of a log without lines.
    """
    settings = config.settings()
    observer = _Observer(settings)
    engine = Engine(settings, discover=pools is None, observe=observer.observe)
    oldest = min((one.ended for one in events), default=now)
    end = max((one.ended for one in events), default=now) + _AFTER
    # What ended before the start is history and trips nothing: windows are filled as those of a controller that starts then.
    engine.feed([Started(end)])
    if pools is not None:
        engine.feed([Pools(end, tuple(pools)), Idle(end + settings.lateness)])
    engine.feed(sorted(events, key=attrgetter("ended", "file", "offset")))
    counts = InFlight(end, None if load is None else load.counts, "" if load is None else load.process)
    engine.feed([counts, Idle(end + 2 * settings.lateness)])
    quiet = too_quiet(engine.pools.values(), end, oldest)
    return Told(view(engine, end), quiet, _traffic(observer), _strangers(engine, end - config.longest_within()))


def _traffic(observer: _Observer) -> dict[str, Traffic]:
    return {name: Traffic(one.attempts, tuple(one.healthy), frozenset(one.switched)) for name, one in observer.pools.items()}


def _strangers(engine: Engine, since: float) -> tuple[Stranger, ...]:
    """Name the addresses that still get requests: older ones may have left the proxy since."""
    recent: Counter[str] = Counter()
    for address in engine.strangers.names():
        recent[address] += sum(one.ended >= since for one in engine.strangers.recall(address))
    return tuple(Stranger(address, count) for address, count in recent.items() if count)
