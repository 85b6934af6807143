"""A real Caddy writes logs, and they are read as what happened at the upstreams."""

from __future__ import annotations

import http.client
import socket
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tailhealth.config import Config
from tailhealth.service.parsing import Parsed, Parsing
from tests.real.caddy import Caddy, logged, reverse_proxy, until
from tests.real.servers import DEADLINE, Behaviour, Upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.real


class Site:
    """A Caddy with two upstreams, and a client of it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.first, self.second = Upstream(), Upstream()
        stack.callback(self.first.stop)
        stack.callback(self.second.stop)
        self._folder = folder
        self._stack = stack
        self.caddy: Caddy | None = None

    def start(
        self,
        *,
        encoder: dict[str, Any] | None = None,
        handlers: list[Any] | None = None,
        errors: list[Any] | None = None,
        debug: bool = True,
    ) -> Caddy:
        """Start the Caddy. Handlers default to the first upstream with the recommended fields."""
        caddy = Caddy(self._folder, handlers or logged(reverse_proxy(self.first.address)), debug=debug)
        if encoder is not None:
            caddy.config["logging"]["logs"]["access"]["encoder"] = encoder
        if errors is not None:
            caddy.config["apps"]["http"]["servers"]["s"]["errors"] = {"routes": [{"handle": errors}]}
        self._stack.callback(caddy.stop)
        caddy.start()
        self.caddy = caddy
        return caddy

    def ask(self, path: str = "/r/1") -> int | None:
        """Send a request and read the whole answer; None if it breaks off."""
        assert self.caddy is not None
        connection = http.client.HTTPConnection("127.0.0.1", self.caddy.port, timeout=DEADLINE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        except (http.client.HTTPException, OSError):
            return None
        else:
            return answer.status
        finally:
            connection.close()

    def leave(self, ready: Callable[[Upstream], bool], *, after_header: bool = False) -> None:
        """Send a request and go away as soon as the upstream has it, or (`after_header`) has begun to answer."""
        assert self.caddy is not None
        with socket.create_connection(("127.0.0.1", self.caddy.port), DEADLINE) as client:
            client.sendall(b"GET /left HTTP/1.1\r\nHost: x\r\n\r\n")
            self.first.wait(ready)
            if after_header:
                client.recv(100)

    def read(self, records: int, *, own: bool = False) -> tuple[list[Parsed], Parsing]:
        """Read the access log once it has so many lines, with Caddy's own log on demand."""
        assert self.caddy is not None
        log = self.caddy.access_log
        until(lambda: log.exists() and log.read_bytes().count(b"\n") >= records, f"{records} access lines")
        parsing = Parsing(Config(), [str(log), *([str(self.caddy.own_log)] if own else [])])
        return list(parsing.attempts()), parsing


@pytest.fixture(name="site")
def site_in(tmp_path: Path) -> Iterator[Site]:
    """Two upstreams, and a Caddy that the test starts."""
    with ExitStack() as stack:
        yield Site(tmp_path, stack)


def told(attempts: list[Parsed]) -> list[tuple[str, str | None]]:
    """Return verdict and kind of each attempt."""
    return [(str(one.outcome.verdict), one.outcome.kind and str(one.outcome.kind)) for one in attempts]


def test_answered_refused_and_abandoned(site: Site) -> None:
    """An answer is good, a dead upstream refused, a client that leaves before the header ignored; each with its upstream."""
    site.start(debug=False)
    assert site.ask() == 200
    site.first.behaviour = Behaviour.HANG
    site.leave(lambda upstream: upstream.in_flight == 1)
    site.read(2)
    site.first.behaviour = Behaviour.ANSWER
    site.first.status = 500
    assert site.ask() == 500
    site.first.refuse()
    assert site.ask() == 502

    attempts, parsing = site.read(4)

    assert sorted(told(attempts)) == sorted([
        ("good", None), ("ignored", "abandoned_early"), ("bad", "status"), ("bad", "refused"),
    ])  # fmt: skip
    assert {one.attempt.upstream for one in attempts} == {site.first.address}
    assert all(abs(one.attempt.ended - time.time()) < 60 for one in attempts)
    assert (parsing.tally.records, parsing.tally.lines, dict(parsing.tally.skipped)) == (4, 4, {})


def test_timed_out(site: Site) -> None:
    """A proxy that gives up waiting for the header is a time-out of the upstream."""
    transport = {"protocol": "http", "response_header_timeout": "150ms"}
    site.start(handlers=logged(reverse_proxy(site.first.address, transport=transport)), debug=False)
    site.first.behaviour = Behaviour.HANG
    assert site.ask() == 504

    attempts, _ = site.read(1)

    assert told(attempts) == [("bad", "timed_out")]
    assert (attempts[0].attempt.duration or 0) >= 0.15


def test_handle_errors_hides_nothing(site: Site) -> None:
    """A friendly page with status 200 for a dead upstream is no answer of the upstream."""
    site.start(errors=[{"handler": "static_response", "status_code": 200, "body": "sorry"}], debug=False)
    site.first.refuse()
    assert site.ask() == 200

    assert told(site.read(1)[0]) == [("bad", "no_answer")]


def test_broken_body(site: Site) -> None:
    """A body that the upstream breaks off is its fault; the access line names nobody, Caddy's warning does."""
    site.start()
    site.first.behaviour = Behaviour.BREAK_BODY
    site.ask()

    attempts, parsing = site.read(1, own=True)

    assert told(attempts) == [("bad", "truncated")]
    assert (site.first.address, True) == (attempts[0].attempt.upstream, attempts[0].attempt.header_came)
    assert parsing.tally.unattributed == 1


def test_client_leaves_in_the_body(site: Site) -> None:
    """A client that leaves in the middle of the body blames nobody."""
    site.start(handlers=logged(reverse_proxy(site.first.address, flush_interval=-1)))
    site.first.behaviour = Behaviour.STREAM
    site.leave(lambda upstream: upstream.in_flight == 1, after_header=True)

    attempts, _ = site.read(1, own=True)

    assert ("ignored", "client_left") in told(attempts)
    assert not [one for one in attempts if one.outcome.verdict == "bad"]


def test_retry_names_both_upstreams(site: Site) -> None:
    """Round-trip lines name the upstream that a retry hid; together with access lines each attempt counts once."""
    balancing = {"selection_policy": {"policy": "first"}, "try_duration": "2s", "try_interval": "20ms"}
    checks = {"passive": {"fail_duration": "10s"}}
    proxy = reverse_proxy(site.first.address, site.second.address, load_balancing=balancing, health_checks=checks)
    site.start(handlers=logged(proxy))
    site.first.refuse()
    assert site.ask() == 200

    attempts, parsing = site.read(1, own=True)
    alone, _ = site.read(1)

    assert [(one.attempt.upstream, str(one.attempt.end)) for one in attempts][-1] == (site.second.address, "answered")
    assert {one.attempt.upstream for one in attempts if one.outcome.verdict == "bad"} == {site.first.address}
    assert parsing.tally.duplicates == 1
    assert [(site.second.address, None)] == [(one.attempt.upstream, one.attempt.duration) for one in alone]


TIMES = ["unix_milli_float", "unix_nano", "iso8601", "rfc3339", "rfc3339_nano", "wall", "wall_milli", "wall_nano", "common_log"]
ENCODERS: list[dict[str, Any]] = [
    *({"format": "json", "time_format": name} for name in TIMES),
    {"format": "json", "time_format": "Mon, 02 Jan 2006 15:04:05.000 MST"},
    {"format": "json", "time_format": "Jan _2 15:04:05.000"},
    *({"format": "json", "duration_format": name} for name in ("seconds", "nano", "string", "ms", "ns")),
    *({"format": "json", "level_format": name} for name in ("upper", "color")),
    {"format": "json", "message_key": "message", "level_key": "severity", "time_key": "@timestamp", "name_key": "name"},
    {"format": "json", "name_key": "", "level_key": "", "caller_key": "caller"},
    {"format": "json", "message_key": "", "name_key": ""},
    {"format": "console"},
    {"format": "console", "time_format": "rfc3339_nano", "level_format": "upper"},
    {"format": "journald", "wrap": {"format": "json"}},
    {"format": "append", "wrap": {"format": "json"}, "fields": {"node": "edge-1", "upstream_region": "eu"}},
    {
        "format": "filter",
        "wrap": {"format": "json"},
        "fields": {
            "request>headers": {"filter": "delete"},
            "request>client_ip": {"filter": "hash"},
            "size": {"filter": "delete"},
        },
    },
]


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
def test_every_encoder(site: Site, encoder: dict[str, Any]) -> None:
    """Whatever format the operator chose, an answer and a refusal are read as such, with upstream and time."""
    site.start(encoder=encoder, debug=False)
    site.first.delay = 0.03
    began = time.time()
    assert [site.ask(), site.ask()] == [200, 200]
    site.first.refuse()
    assert site.ask() == 502

    attempts, parsing = site.read(3)

    assert told(attempts) == [("good", None), ("good", None), ("bad", "refused")], parsing.tally
    assert {one.attempt.upstream for one in attempts} == {site.first.address}
    assert all(began - 1.1 <= one.attempt.ended <= time.time() + 0.1 for one in attempts)
    assert all(0.03 <= (one.attempt.header or 0) < 5 for one in attempts[:2])
    assert all(0.03 <= (one.attempt.duration or 0) < 5 for one in attempts[:2])


def test_appended_status_and_duration(site: Site) -> None:
    """Appended fields with the names of Caddy's own do not change what the line says; a hint names the trouble."""
    handlers = [
        {"handler": "log_append", "key": "status", "value": "{http.reverse_proxy.status_code}"},
        {"handler": "log_append", "key": "duration", "value": "{http.reverse_proxy.upstream.duration_ms}"},
        *logged(reverse_proxy(site.first.address)),
    ]
    site.start(handlers=handlers, debug=False)
    site.first.delay = 0.02
    assert site.ask() == 200
    site.first.refuse()
    assert site.ask() == 502

    attempts, parsing = site.read(2)

    assert told(attempts) == [("good", None), ("bad", "refused")]
    assert 0.02 <= (attempts[0].attempt.duration or 0) < 2
    assert "duplicate_keys" in parsing.tally.hints
