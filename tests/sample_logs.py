"""What the samples are made of: requests, Caddy's access lines for them, and the journal of polls that goes with them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import exp
from operator import attrgetter
from pathlib import Path
from typing import Any

import orjson

from tailhealth.config.pools import joined
from tailhealth.core.model import InFlight, Pool, PoolMember, Pools, Started
from tailhealth.service.journal import Journal

POLL = 5.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request at one upstream, as it went."""

    started: float
    ended: float
    upstream: str
    status: int
    """What the client got; 499: it gave up."""
    answered: bool
    """The upstream sent a header."""
    client: str
    port: int
    path: str
    host: str
    agent: str = "python-requests/2.32.5"
    sent: int = 700
    size: int = 300
    headers: dict[str, list[str]] = field(default_factory=dict)
    """Of the answer, besides the usual ones."""


def access_line(request: Request) -> bytes:
    """Write the line as Caddy 2.11 does, with the three fields that `log_append` adds."""
    duration = round(request.ended - request.started, 9)
    return orjson.dumps(
        {
            "level": "error" if request.status >= 500 else "info",
            "ts": round(request.ended, 7),
            "logger": "http.log.access.log0",
            "msg": "handled request",
            "request": {
                "remote_ip": request.client,
                "remote_port": str(request.port),
                "client_ip": request.client,
                "proto": "HTTP/1.1",
                "method": "POST",
                "host": request.host,
                "uri": request.path,
                "headers": {
                    "User-Agent": [request.agent],
                    "Accept": ["*/*"],
                    "Content-Type": ["application/json"],
                    "Content-Length": [str(request.sent)],
                },
            },
            "bytes_read": request.sent if duration > 0.1 else 0,
            "user_id": "",
            "duration": duration,
            "size": request.size if request.answered else 0,
            "status": request.status,
            "resp_headers": _answer_headers(request),
            "retries": 0,
            "upstream_latency_ms": round((duration - 0.000_9) * 1000, 6) if request.answered else None,
            "upstream": request.upstream,
        },
        option=orjson.OPT_APPEND_NEWLINE,
    )


def _answer_headers(request: Request) -> dict[str, Any]:
    if not request.answered:
        return {"Server": ["Caddy"]}
    return {
        "Via": ["1.1 Caddy"],
        "Date": [datetime.fromtimestamp(request.ended, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")],
        "Server": ["uvicorn"],
        "Content-Type": ["application/json"],
        "Content-Length": [str(request.size)],
        **request.headers,
    }


def write_log(path: Path, requests: Iterable[Request]) -> None:
    """Write the access log: a line stands where its request ended."""
    path.write_bytes(b"".join(map(access_line, sorted(requests, key=attrgetter("ended")))))


def write_journal(path: Path, requests: Sequence[Request], upstreams: Sequence[str], start: float, end: float) -> None:
    """Write the journal of a run that watched this and changed nothing: the pool, and the requests in flight at each poll."""
    path.unlink(missing_ok=True)
    with Journal(path) as journal:
        journal.input(Started(start))
        journal.input(Pools(start, (Pool(joined(upstreams), tuple(map(PoolMember, upstreams))),)))
        for number in range(1, int((end - start) / POLL)):
            at = start + number * POLL
            flying = [one.upstream for one in requests if one.started <= at < one.ended]
            journal.input(InFlight(at, {one: flying.count(one) for one in upstreams}, str(start)))
        journal.stopped(end)
    path.chmod(0o644)


class Dice:
    """Seeded dice for one sample."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)
        self._port = 40_000

    def lognormal(self, median: float, sigma: float, least: float, most: float) -> float:
        """Throw a time, lognormal and cut at both ends."""
        return min(most, max(least, median * exp(self._random.gauss(0.0, sigma))))

    def between(self, low: float, high: float) -> float:
        """Throw a number between two."""
        return self._random.uniform(low, high)

    def gap(self, rate: float) -> float:
        """Throw the time to the next of `rate` arrivals a second."""
        return self._random.expovariate(rate)

    def happens(self, chance: float) -> bool:
        """Throw whether something happens."""
        return self._random.random() < chance

    def one_of(self, values: Sequence[str], weights: Sequence[float] | None = None) -> str:
        """Throw one of several, by weight."""
        return self._random.choices(values, weights)[0]

    def port(self) -> int:
        """Return a port that a client's system would take next."""
        self._port = 40_000 + (self._port - 40_000 + self._random.randrange(2, 30)) % 20_000
        return self._port
