"""Caddy lines as values, for tests: the shape of Caddy 2.11 with the recommended appended fields."""

from __future__ import annotations

import json
from typing import Any

from tailhealth.core.model import Aborted, Attempt
from tailhealth.logs.caddy import CaddyReader
from tailhealth.logs.detect import open_reader
from tailhealth.logs.reading import Event, Tally
from tailhealth.logs.rules import LogRules

BASE = 1_796_000_000.0
ABSENT: Any = object()
"""A field with this value is left out of the line."""
NOT_APPENDED: dict[str, Any] = {"upstream": ABSENT, "upstream_latency_ms": ABSENT, "retries": ABSENT}
"""Where nothing is appended to access lines: a Caddy before 2.8, or one without the snippet."""


def line(number: int = 0, **fields: Any) -> bytes:
    """Write an access line: a good answer of 20 ms, changed by `fields`."""
    members: dict[str, Any] = {
        "level": "info",
        "ts": BASE + number + 0.25,
        "logger": "http.log.access.log0",
        "msg": "handled request",
        "request": request(number),
        "bytes_read": 12,
        "user_id": "",
        "duration": 0.0215,
        "size": 2,
        "status": 200,
        "resp_headers": {"Server": ["Caddy"]},
        "upstream": "10.9.0.1:8080",
        "upstream_latency_ms": 18.4,
        "retries": 0,
    }
    return encoded({**members, **fields})


def roundtrip(number: int = 0, **fields: Any) -> bytes:
    """Write a round-trip line: a header after 18 ms, changed by `fields`."""
    members: dict[str, Any] = {
        "level": "debug",
        "ts": BASE + number + 0.2,
        "logger": "http.handlers.reverse_proxy",
        "msg": "upstream roundtrip",
        "upstream": "10.9.0.1:8080",
        "duration": 0.0184,
        "request": request(number),
        "headers": {"Server": ["x"]},
        "status": 200,
    }
    return encoded({**members, **fields})


def request(number: int = 0, **fields: Any) -> dict[str, Any]:
    """Return the request object of a line."""
    return {
        "remote_ip": "192.0.2.10",
        "remote_port": str(40000 + number),
        "client_ip": "192.0.2.10",
        "proto": "HTTP/1.1",
        "method": "GET",
        "host": "shop.example.test",
        "uri": f"/r/{number}?token=secret",
        "headers": {"User-Agent": ["probe/1"]},
        **fields,
    }


def encoded(members: dict[str, Any]) -> bytes:
    """Write members as Caddy does, without those that are ABSENT."""
    kept = {key: value for key, value in members.items() if value is not ABSENT}
    return json.dumps(kept, separators=(",", ":")).encode() + b"\n"


def events(data: bytes, rules: LogRules | None = None, now: float | None = None) -> tuple[list[Event], Tally]:
    """Read a whole file with the Caddy reader."""
    tally = Tally()
    reader = CaddyReader(rules or LogRules(), 0, "access.log", tally)
    return reader.feed(data, 0, now) + reader.finish(), tally


def detected(data: bytes, rules: LogRules | None = None) -> tuple[list[Event], Tally]:
    """Read a whole file with the reader for whatever it holds."""
    tally = Tally()
    reader = open_reader(rules or LogRules(), 0, "access.log", tally)
    return reader.feed(data, 0) + reader.finish(), tally


def attempt(data: bytes, rules: LogRules | None = None) -> Attempt:
    """Read a file that tells of exactly one attempt."""
    (one,) = events(data, rules)[0]
    assert isinstance(one, Attempt)
    return one


def aborted(data: bytes) -> Aborted:
    """Read a file that tells of exactly one aborted request."""
    (one,) = events(data)[0]
    assert isinstance(one, Aborted)
    return one
