"""Notifications: one JSON event each, retried, never in anybody's way."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from tailhealth.config import parse
from tailhealth.service.notify import QUEUE, Command, DeliveryError, Notifier, Post, Webhook, receivers_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEADLINE = 10.0
EVENT = {"at": 1.5, "upstream": "10.0.0.1:80"}


class Scripted:
    """A receiver that fails as often as told, and says when it has taken enough."""

    name = "scripted"

    def __init__(self, failures: int, wanted: int = 1) -> None:
        self.taken: list[bytes] = []
        self.enough = threading.Event()
        self._failures = failures
        self._wanted = wanted

    def deliver(self, event: bytes) -> None:
        """Fail, or take it."""
        if self._failures:
            self._failures -= 1
            raise DeliveryError("scripted: not now")
        self.taken.append(event)
        if len(self.taken) >= self._wanted:
            self.enough.set()


@contextmanager
def hook(statuses: list[int]) -> Iterator[tuple[str, list[bytes], threading.Event]]:
    """Serve a webhook that answers with these statuses, then 200; tell when it has accepted one."""
    bodies: list[bytes] = []
    accepted = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            status = statuses.pop(0) if statuses else 200
            self.send_response(status)
            self.end_headers()
            if status == 200:
                accepted.set()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's signature
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/secret-token", bodies, accepted
    finally:
        server.shutdown()
        thread.join(DEADLINE)
        server.server_close()


def test_a_webhook_gets_the_event() -> None:
    """A real local server receives one JSON object by POST."""
    with hook([]) as (url, bodies, accepted):
        with Notifier([Webhook("notify[0].url", url)]) as notifier:
            notifier.tell("decision", EVENT)
            assert accepted.wait(DEADLINE)
        assert [orjson.loads(body) for body in bodies] == [{"v": 1, "type": "decision", **EVENT}]


def test_a_refusal_is_tried_again() -> None:
    """A webhook that answers 500 gets the same event again."""
    with hook([500, 503]) as (url, bodies, accepted):
        post = Post(Webhook("notify[0].url", url), pauses=(0.0, 0.0, 0.0))
        with post:
            post.put(b"{}")
            assert accepted.wait(DEADLINE)
        assert bodies == [b"{}"] * 3
        assert (post.delivered, post.dropped) == (1, 0)


def test_a_secret_address_is_never_named() -> None:
    """What is said of a failure names the key, not the address with its token."""
    with hook([]) as (url, _, _):
        dead = url
    post = Post(Webhook("notify[0].url", dead), pauses=())
    with post:
        post.put(b"{}")
    assert post.dropped == 1
    assert "notify[0].url" in post.problem
    assert "secret-token" not in post.problem


@pytest.mark.outside
def test_a_command_gets_the_event_on_standard_input(tmp_path: Path) -> None:
    """A command reads the event; its arguments are those of the configuration."""
    out = tmp_path / "event"
    code = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"
    with Notifier([Command([sys.executable, "-c", code, str(out)])]) as notifier:
        notifier.tell("decision", EVENT)
    assert orjson.loads(out.read_bytes()) == {"v": 1, "type": "decision", **EVENT}


def test_tries_come_to_an_end() -> None:
    """After the last try the event is counted as dropped, and the next one is delivered."""
    receiver = Scripted(failures=3)
    post = Post(receiver, pauses=(0.0, 0.0))
    with post:
        post.put(b"first")
        post.put(b"second")
        assert receiver.enough.wait(DEADLINE)
    assert receiver.taken == [b"second"]
    assert (post.delivered, post.dropped) == (1, 1)


def test_a_slow_receiver_loses_the_oldest() -> None:
    """A queue that is full drops its oldest event and says so; the one who tells never waits."""
    receiver = Scripted(failures=0, wanted=QUEUE)
    post = Post(receiver)
    for number in range(QUEUE + 2):
        post.put(b"%d" % number)
    assert post.dropped == 2
    assert "too slow" in post.problem
    with post:
        assert receiver.enough.wait(DEADLINE)
    assert [b"%d" % number for number in range(2, QUEUE + 2)] == receiver.taken


def test_stopping_does_not_wait_for_pauses() -> None:
    """The end of the controller interrupts the pause before the next try."""
    post = Post(Scripted(failures=5), pauses=(3600.0,))
    with post:
        post.put(b"{}")
    assert post.dropped == 1


def test_receivers_come_from_the_configuration() -> None:
    """Each [[notify]] table makes one receiver, in order."""
    config = parse(b'[[notify]]\nurl = "http://127.0.0.1:9/x"\n\n[[notify]]\ncommand = ["/bin/true", "-x"]\n')
    assert [one.name for one in receivers_of(config.notify)] == ["notify[0].url", "/bin/true"]
