"""What a real nginx logs is read as its upstreams' own counters say it happened."""

from __future__ import annotations

import socket
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tailhealth.core.judge import judge
from tailhealth.core.model import Attempt, End, Kind, Verdict
from tailhealth.core.rules import BadRules
from tailhealth.logs.detect import open_reader
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import LogRules
from tests.real.caddy import until
from tests.real.nginx import Nginx, log_format, nginx
from tests.real.servers import DEADLINE, Behaviour, Upstream, free_port, upstreams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real

LOCATIONS = """
proxy_connect_timeout 2s;
proxy_cache_path cache keys_zone=kept:1m;
upstream pair {{ server {a} max_fails=0; server {b} max_fails=0; }}
upstream half {{ server {a} max_fails=0; server {dead} max_fails=0; }}
upstream none {{ server {dead} down; server {b} down; }}
server {{
    listen 127.0.0.1:$PORT;
    location /pair {{ proxy_pass http://pair; }}
    location /half {{ proxy_pass http://half; }}
    location /none {{ proxy_pass http://none; }}
    location /retry {{ proxy_next_upstream error timeout http_500; proxy_pass http://pair; }}
    location /a {{ proxy_pass http://{a}; }}
    location /short {{ proxy_read_timeout 300ms; proxy_pass http://{a}; }}
    location /flow {{ proxy_buffering off; proxy_pass http://{a}; }}
    location /hidden {{ error_page 502 =200 /sorry; proxy_pass http://{dead}; }}
    location /moved {{ error_page 502 = /other; proxy_pass http://{dead}; }}
    location = /other {{ proxy_pass http://{b}; }}
    location = /sorry {{ return 200 "sorry"; }}
    location /kept {{ proxy_cache kept; proxy_cache_valid 200 1h; proxy_pass http://{b}; }}
    location /limit {{ return 503; }}
}}
"""


class Site:
    """An nginx before two upstreams and an address where nobody listens."""

    def __init__(self, proxy: Nginx, a: Upstream, b: Upstream, dead: str) -> None:
        self.proxy, self.a, self.b, self.dead = proxy, a, b, dead
        self.requests = 0

    def get(self, path: str, body: bytes = b"") -> int:
        """Ask for a path and return the status."""
        with self.ask(path, body) as client:
            answer = b""
            while part := client.recv(1 << 16):
                answer += part
        return int(answer.split(b" ", 2)[1])

    @contextmanager
    def ask(self, path: str, body: bytes = b"") -> Iterator[socket.socket]:
        """Send a request; at the end of the block the client leaves."""
        self.requests += 1
        with socket.create_connection(("127.0.0.1", self.proxy.port), DEADLINE) as client:
            head = f"{'POST' if body else 'GET'} {path} HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n"
            client.sendall(head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            yield client

    def read(self, name: str = "access.log") -> tuple[list[Attempt], Tally]:
        """Read the log once it has a line for each request."""
        log = self.proxy.folder / name
        until(lambda: log.exists() and log.read_bytes().count(b'"status":') >= self.requests, "the last line of the log")
        tally = Tally()
        reader = open_reader(LogRules(), 0, name, tally)
        events = reader.feed(log.read_bytes(), 0) + reader.finish()
        assert tally.records == self.requests
        assert not tally.skipped, tally.examples
        return [event for event in events if isinstance(event, Attempt)], tally


@contextmanager
def site(folder: Path, before: str = "") -> Iterator[Site]:
    """Run a site for the length of a `with` block; `before` goes before its servers."""
    with upstreams(2) as (a, b):
        dead = f"127.0.0.1:{free_port()}"
        with nginx(folder, before + LOCATIONS.format(a=a.address, b=b.address, dead=dead)) as proxy:
            yield Site(proxy, a, b, dead)


def kinds(found: list[Attempt]) -> list[tuple[str, Kind | None]]:
    """Name each attempt's upstream and what is bad about it."""
    return [(one.upstream, judge(one, BadRules()).kind) for one in found]


def test_attempts_equal_the_upstreams_counters(tmp_path: Path) -> None:
    """Over answers, retries, error pages, a cache and answers of nginx's own, each upstream has the attempts that it saw."""
    with site(tmp_path) as here:
        for number in range(12):
            here.get(f"/pair/{number}")
            here.get(f"/half/{number}")
            here.get(f"/kept/{number % 3}")
            here.get(f"/limit/{number}")
            here.get(f"/hidden/{number}")
            here.get(f"/moved/{number}")
        here.a.status = 500
        assert {here.get(f"/retry/{number}") for number in range(6)} == {200}
        found, tally = here.read()

        assert Counter(one.upstream for one in found if one.upstream != here.dead) == {
            here.a.address: len(here.a.seen),
            here.b.address: len(here.b.seen),
        }
        assert {judge(one, BadRules()).kind for one in found if one.upstream == here.dead} == {Kind.REFUSED}
        assert (tally.unattributed, tally.pool_events) == (12 + 9, 0)
        assert Counter(one.path for one in found if one.upstream == here.b.address)["/moved/1"] == 1
        assert [one.status for one in found if one.path.startswith("/retry") and one.upstream == here.a.address] == [500] * 3


def test_no_server_left(tmp_path: Path) -> None:
    """A group whose servers are all down is an event of the pool and nobody's attempt."""
    with site(tmp_path) as here:
        assert here.get("/none/1") == 502
        found, tally = here.read()

        assert (found, tally.pool_events, tally.unattributed) == ([], 1, 0)


def test_time_outs_and_breaks(tmp_path: Path) -> None:
    """Silence, a reset and a 502 of the upstream's own are three things."""
    with site(tmp_path) as here:
        here.a.behaviour = Behaviour.HANG
        assert here.get("/short/1") == 504
        here.a.behaviour = Behaviour.RESET
        assert here.get("/a/2") == 502
        here.a.behaviour, here.a.status = Behaviour.ANSWER, 502
        assert here.get("/a/3") == 502
        found, _ = here.read()

        assert kinds(found) == [(here.a.address, kind) for kind in (Kind.TIMED_OUT, Kind.REFUSED, Kind.STATUS)]
        assert [one.status for one in found] == [None, None, 502]
        assert found[0].duration == pytest.approx(0.3, abs=0.2)


def test_clients_that_leave(tmp_path: Path) -> None:
    """Before the header a leaving client says how long it waited; after it the upstream has answered."""
    with site(tmp_path) as here:
        here.a.behaviour = Behaviour.HANG
        with here.ask("/a/waited"):
            here.a.wait(lambda one: one.in_flight == 1, "the request at the upstream")
        until(lambda: b"/a/waited" in here.proxy.access_log.read_bytes(), "the line of the client that left")
        here.a.behaviour = Behaviour.STREAM
        with here.ask("/flow/body") as client:
            assert client.recv(12) == b"HTTP/1.1 200"
        until(lambda: b"/flow/body" in here.proxy.access_log.read_bytes(), "the line of the client that left the body")
        (waited, body), _ = here.read()

        assert (waited.end, waited.status, waited.header_came) == (End.ABANDONED, None, False)
        assert judge(waited, BadRules()).kind is Kind.ABANDONED_EARLY
        assert (body.status, body.header_came, judge(body, BadRules()).verdict) == (200, True, Verdict.GOOD)
        assert (waited.client, waited.host, waited.method) == ("127.0.0.1", "shop.test", "GET")


def test_uploads_are_seen(tmp_path: Path) -> None:
    """The size of a request is in the line, so that an upload is not taken for a slow upstream."""
    with site(tmp_path, "client_max_body_size 8m;") as here:
        assert here.get("/a/up", bytes(2 << 20)) == 200
        (attempt,), _ = here.read()

        assert attempt.body_bytes >= 2 << 20
        assert attempt.method == "POST"


@pytest.mark.parametrize(
    ("escape", "quoted", "hints"),
    [("json", True, []), ("default", True, ["escape_default"]), ("json", False, ["unquoted"]), ("default", False, None)],
)
def test_other_formats_tell_the_same(tmp_path: Path, escape: str, quoted: bool, hints: list[str] | None) -> None:
    """However the same variables are written, the same attempts are read from them."""
    other = f"{log_format('other', escape, quoted=quoted)}\naccess_log other.log other;\n"
    with site(tmp_path, other) as here:
        for number in range(4):
            here.get(f'/half/{number}"\\\u20ac'.encode().decode("latin-1"))
            here.get(f"/limit/{number}")
            here.get(f"/moved/{number}")
        found, _ = here.read()
        again, tally = here.read("other.log")

        assert [(one.upstream, one.ended, one.end, one.status) for one in again] == [
            (one.upstream, one.ended, one.end, one.status) for one in found
        ]
        assert hints is None or list(tally.hints) == hints
