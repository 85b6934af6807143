"""The demo's inference servers: `/api/version` always answers at once, `/api/chat` takes its time, or never answers."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

AGENT = "tailhealth-demo-client"
"""What the demo's clients call themselves: whatever else reaches a node was not theirs."""
FASTEST, SLOWEST = 0.1, 0.6
"""Seconds of a healthy answer: 10 to 60 s of a 14B model, a hundred times faster."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, owner: Node) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet: clients that give up are part of the show."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's signature
        """Keep quiet."""

    def do_GET(self) -> None:
        self.server.owner.count(self.headers.get("User-Agent", ""))
        self._answer(b'{"version":"demo"}')

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.owner.count(self.headers.get("User-Agent", ""))
        if self.server.owner.work():
            self._answer(b'{"message":"42"}')
        else:
            self.close_connection = True

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Node:
    """One inference server in threads of this process.

    Args:
        seed: Makes its answer times.
    """

    def __init__(self, seed: int) -> None:
        self.requests = 0
        self.strangers = 0
        """Requests that did not come from the demo's clients."""
        self._random = Random(seed)  # noqa: S311 - how long an answer takes is no secret
        self._changed = threading.Condition()
        self._wedged = False
        self._closed = False
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Return where it listens."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def wedge(self) -> None:
        """From now on `/api/chat` hangs; `/api/version` goes on answering."""
        with self._changed:
            self._wedged = True
            self._changed.notify_all()

    def unwedge(self) -> None:
        """Let go of what hangs and answer again."""
        with self._changed:
            self._wedged = False
            self._changed.notify_all()

    def close(self) -> None:
        """Stop listening and let go of everything."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def count(self, agent: str) -> None:
        """Count a request and who sent it."""
        with self._changed:
            self.requests += 1
            self.strangers += agent != AGENT

    def work(self) -> bool:
        """Take as long as an answer takes; False if it was closed meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._wedged, self._random.uniform(FASTEST, SLOWEST))
            self._changed.wait_for(lambda: self._closed or not self._wedged)
            return not self._closed
