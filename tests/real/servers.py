"""Little upstreams on loopback: they answer, hang, refuse or break off, and they count whatever reaches them."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEADLINE = 10.0
"""Seconds after which waiting for an event is a failure."""


class Behaviour(StrEnum):
    """What an upstream does with a request."""

    ANSWER = "answer"
    HANG = "hang"
    """Read the request and send nothing until the behaviour changes; then answer."""
    BREAK_BODY = "break_body"
    """Announce a body, send a part of it and reset the connection."""
    RESET = "reset"
    """Reset the connection before a header."""
    STREAM = "stream"
    """Send the header and one chunk at once, hold the body open until the behaviour changes, then end it."""


class Seen(NamedTuple):
    """One request as the upstream saw it."""

    method: str
    path: str
    user_agent: str


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, owner: Upstream) -> None:
        self.owner = owner
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def cut(self) -> None:
        """Cut all connections, idle ones of a proxy's keep-alive included."""
        with self._lock:
            for one in self._open:
                with suppress(OSError):  # the other side was faster
                    one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet: clients and proxies that leave are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's signature
        """Keep quiet."""

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length:
            self.rfile.read(length)
        self.server.owner.serve(self)

    do_GET = do_POST = do_PUT = do_HEAD = _serve  # noqa: N815 - names that the base class looks for


class Upstream:
    """One HTTP server in threads. Set `behaviour`, `status` and `body` at any time; requests that hang notice the change."""

    def __init__(self, behaviour: Behaviour = Behaviour.ANSWER) -> None:
        self.status = 200
        self.body = b"fine\n"
        self.headers: dict[str, str] = {}
        self.delay = 0.0
        """Seconds before the header of an answer."""
        self.seen: list[Seen] = []
        self.in_flight = 0
        self._behaviour = behaviour
        self._changed = threading.Condition()
        self._stopped = False
        self._server: _Server | None = _Server(0, self)
        self.port: int = self._server.server_address[1]
        self._thread = self._start(self._server)

    @property
    def address(self) -> str:
        """The address as a proxy's configuration writes it."""
        return f"127.0.0.1:{self.port}"

    @property
    def behaviour(self) -> Behaviour:
        """What it does with requests now."""
        return self._behaviour

    @behaviour.setter
    def behaviour(self, value: Behaviour) -> None:
        with self._changed:
            self._behaviour = value
            self._changed.notify_all()

    def refuse(self) -> None:
        """Die like a process does: connections are cut, and new ones refused until `listen`."""
        if self._server is not None:
            self._server.shutdown()
            self._thread.join(DEADLINE)
            self._server.server_close()
            self._server.cut()
            self._server = None

    def listen(self) -> None:
        """Listen again at the same port."""
        if self._server is None:
            self._server = _Server(self.port, self)
            self._thread = self._start(self._server)

    def stop(self) -> None:
        """Let go of hanging requests and close everything."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self.refuse()

    def wait(self, condition: Callable[[Upstream], bool], what: str = "the upstream's condition") -> None:
        """Wait until `condition` holds, asked again whenever a request begins or ends."""
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self), DEADLINE):
                raise TimeoutError(f"{what} did not come true within {DEADLINE:g} s: {len(self.seen)} requests seen")

    def serve(self, handler: _Handler) -> None:
        """Deal with one request as `behaviour` says."""
        with self._changed:
            self.seen.append(Seen(handler.command, handler.path, handler.headers.get("User-Agent", "")))
            self.in_flight += 1
            behaviour = self._behaviour
            self._changed.notify_all()
        try:
            self._act(handler, behaviour)
        finally:
            with self._changed:
                self.in_flight -= 1
                self._changed.notify_all()

    def _act(self, handler: _Handler, behaviour: Behaviour) -> None:
        if behaviour is Behaviour.RESET:
            self._reset(handler)
        elif behaviour is Behaviour.BREAK_BODY:
            self._header(handler, len(self.body) + 1000)
            self._reset(handler)
        elif behaviour is Behaviour.STREAM:
            self._header(handler, len(self.body) * 2)
            self._hold(behaviour)
            handler.wfile.write(self.body)
        else:
            if behaviour is Behaviour.HANG:
                self._hold(behaviour)
            elif self.delay:
                with self._changed:
                    self._changed.wait_for(lambda: self._stopped, self.delay)
            self._header(handler, len(self.body))

    def _hold(self, behaviour: Behaviour) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._behaviour is not behaviour)

    def _header(self, handler: _Handler, length: int) -> None:
        handler.send_response(self.status)
        for name, value in self.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(length))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(self.body)
            handler.wfile.flush()

    @staticmethod
    def _reset(handler: _Handler) -> None:
        # Linger 0 makes the close a reset instead of an orderly end.
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        handler.close_connection = True

    @staticmethod
    def _start(server: _Server) -> threading.Thread:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        return thread


@contextmanager
def upstreams(count: int, delay: float = 0.0) -> Iterator[list[Upstream]]:
    """Run `count` upstreams that answer after `delay` seconds, and stop them at the end."""
    running = [Upstream() for _ in range(count)]
    for one in running:
        one.delay = delay
    try:
        yield running
    finally:
        for one in running:
            one.stop()


def free_port() -> int:
    """Find a loopback port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
