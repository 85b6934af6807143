"""Makes nginx lines for tests, and reads them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tailhealth.core.model import Attempt
from tailhealth.logs.nginx import NginxReader
from tailhealth.logs.reading import Event, Tally
from tailhealth.logs.rules import FieldRule, LogRules

if TYPE_CHECKING:
    from collections.abc import Iterable

BASE = 1796000000.0
"""2026-11-30T00:53:20Z."""

GOOD: dict[str, Any] = {
    "msec": "1796000000.000",
    "remote_addr": "192.0.2.10",
    "request_method": "GET",
    "host": "shop.example.test",
    "request_uri": "/r/1",
    "status": "200",
    "request_time": "0.300",
    "upstream_addr": "10.9.0.1:8080",
    "upstream_status": "200",
    "upstream_connect_time": "0.001",
    "upstream_header_time": "0.100",
    "upstream_response_time": "0.300",
}


def line(without: Iterable[str] = (), **values: Any) -> bytes:
    """Write the line of a good request with some values changed or left out."""
    members = {name: value for name, value in {**GOOD, **values}.items() if name not in set(without)}
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def read(data: bytes, rules: LogRules | None = None, now: float | None = None) -> tuple[list[Event], Tally]:
    """Read a whole file in one block."""
    tally = Tally()
    reader = NginxReader(rules or LogRules(), 3, "access.log", tally)
    return reader.feed(data, 0, now) + reader.finish(), tally


def attempts(data: bytes, rules: LogRules | None = None) -> list[Attempt]:
    """Read a whole file whose lines all can be used."""
    events, tally = read(data, rules)
    assert not tally.skipped, tally.examples
    return [event for event in events if isinstance(event, Attempt)]


def only(data: bytes, rules: LogRules | None = None) -> Attempt:
    """Read a file with one attempt."""
    (attempt,) = attempts(data, rules)
    return attempt


def mapping(**fields: str) -> LogRules:
    """Map fields to keys; `key@ms` names a unit."""
    rules = {}
    for name, text in fields.items():
        key, _, unit = text.partition("@")
        rules[name] = FieldRule(key, unit or None)
    return LogRules(fields=rules)
