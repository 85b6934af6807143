"""The listener on loopback: who may ask, what is answered, over IPv4 and IPv6."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tailhealth.core.view import Standing
from tailhealth.service.control import ControlError
from tailhealth.service.inputs import InputView
from tailhealth.service.listener import Listener, ListenError, healthz
from tests.service.told import LOG, status
from tests.views.build import A, pool, upstream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tailhealth.service.listener import Ask
    from tailhealth.service.status import Status


def well() -> Status:
    """Return the state of a controller that can do its work."""
    return status(pool(upstream(A)), conditions=())


@contextmanager
def listening(host: str = "127.0.0.1", ask: Ask = well) -> Iterator[tuple[str, int]]:
    """Serve on a free port."""
    with Listener(f"{host}:0", ask) as listener:
        yield str(listener.server_address[0]), listener.server_address[1]


@pytest.fixture(scope="module")
def where() -> Iterator[tuple[str, int]]:
    """One listener for all tests that only ask."""
    with listening() as one:
        yield one


def get(where: tuple[str, int], path: str = "/healthz", **headers: str) -> tuple[int, str, bytes]:
    """Ask with these headers; return status, content type and body."""
    connection = http.client.HTTPConnection(*where, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9311", "127.0.0.1", "127.0.0.1:9311", "[::1]", "[::1]:9311"])
def test_a_loopback_host_is_served(where: tuple[str, int], host: str) -> None:
    """Whatever the port is called: a tunnel may have another one."""
    assert get(where, Host=host) == (200, "text/plain; charset=utf-8", b"ok\n")


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:9311",
        "localhost.evil.example",
        "127.0.0.1.evil.example:9311",
        "evil.example:127.0.0.1",
        "[::1].evil.example",
        "10.0.0.1",
        "[::1]:1:2",
    ],
)
@pytest.mark.parametrize("path", ["/metrics", "/status", "/healthz", "/"])
def test_a_foreign_host_is_refused(where: tuple[str, int], host: str, path: str) -> None:
    """A page in a browser that reaches this by a name of its own reads nothing, on no path."""
    code, _, body = get(where, path, Host=host)

    assert code == 403
    assert b"10.0.0.1" not in body


def test_no_host_at_all(where: tuple[str, int]) -> None:
    """An HTTP/1.0 request without a Host is refused: nobody says that it means us."""
    with socket.create_connection(where, 10) as connection:
        connection.sendall(b"GET /status HTTP/1.0\r\n\r\n")
        answer = connection.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.0 403 ")


def test_ipv6() -> None:
    """An address in brackets listens there, and a scraper's own Host is one that is served."""
    with listening("[::1]") as where:
        assert where[0] == "::1"
        assert get(where)[0] == 200


def test_paths(where: tuple[str, int]) -> None:
    """Metrics, status and health stand on their paths, whatever the query; nothing else is there."""
    metrics, shown, lost = get(where, "/metrics?x=1"), get(where, "/status"), get(where, "/metrics/x")

    assert metrics[0] == 200
    assert metrics[1].startswith("text/plain; version=")
    assert b"tailhealth_build_info" in metrics[2]
    assert shown[:2] == (200, "application/json")
    assert json.loads(shown[2])["view"]["pools"][0]["upstreams"][0]["address"] == A
    assert lost[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_is_read_only(where: tuple[str, int], method: str) -> None:
    """No other method does anything."""
    connection = http.client.HTTPConnection(*where, timeout=10)
    try:
        connection.request(method, "/status")
        assert connection.getresponse().status == 501
    finally:
        connection.close()


def test_a_controller_that_does_not_answer() -> None:
    """Whoever asks hears of it, instead of waiting for ever."""

    def silent() -> Status:
        raise ControlError("the controller does not answer")

    with listening(ask=silent) as where:
        assert get(where, "/metrics") == (503, "text/plain; charset=utf-8", b"the controller does not answer\n")


def test_healthy() -> None:
    """A controller that sees its logs and reaches its proxy is well, also with an upstream out: that is its work."""
    code, _, body = healthz(status(pool(upstream(A, standing=Standing.OUT)), conditions=()))

    assert (code, body) == (200, b"ok\n")


def test_unhealthy() -> None:
    """A condition, a blind pool and a log that can't be read each make it unhealthy, in words of their own, each once."""
    troubled = InputView(LOG, "waiting", "permission denied", 0, {}, None, None, 0, {})
    code, _, body = healthz(status(inputs=(troubled, troubled)))

    assert code == 503
    assert body.decode().splitlines() == [
        "generator: rewritten 4 times",
        "no_proxy: no",
        "blind: half of it is unreadable",
        "log: permission denied",
    ]


def test_a_taken_port() -> None:
    """The error names the key, the address and the remedy."""
    with listening() as (host, port), pytest.raises(ListenError, match=rf"^listen\.http: {host}:{port}: .*choose another port"):
        Listener(f"{host}:{port}", well)
