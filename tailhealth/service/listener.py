"""The read-only HTTP listener on loopback: `/metrics`, `/status`, `/healthz` (DESIGN section 9, `[listen]`)."""

from __future__ import annotations

import socket
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST

from tailhealth.service.control import ControlError
from tailhealth.service.metrics import exposition
from tailhealth.service.served import InThread
from tailhealth.service.status import Status

Ask = Callable[[], Status]
"""Returns the state, or raises ControlError."""

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_TEXT, _JSON = "text/plain; charset=utf-8", "application/json"


class ListenError(Exception):
    """The address can't be listened at; the text names it and the remedy."""


class _Handler(BaseHTTPRequestHandler):
    server: Listener
    server_version = "tailhealth"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        if not _is_local(self.headers.get("Host", "")):
            # A page in somebody's browser must not read this by way of a name that leads here.
            self._answer(HTTPStatus.FORBIDDEN, _TEXT, b"this Host is not served here: ask by a loopback address\n")
            return
        try:
            status = self.server.ask()
        except ControlError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, f"{error}\n".encode())
            return
        path = self.path.partition("?")[0]
        if path == "/metrics":
            self._answer(HTTPStatus.OK, CONTENT_TYPE_LATEST, exposition(status))
        elif path == "/status":
            self._answer(HTTPStatus.OK, _JSON, msgspec.json.encode(status) + b"\n")
        elif path == "/healthz":
            self._answer(*healthz(status))
        else:
            self._answer(HTTPStatus.NOT_FOUND, _TEXT, b"there are /metrics, /status and /healthz\n")

    def _answer(self, code: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's signature
        """Say nothing: who reads metrics is nobody's concern."""


def healthz(status: Status) -> tuple[HTTPStatus, str, bytes]:
    """Say whether the controller can do its work: it sees its logs, and reaches its proxy."""
    troubles = [f"{one.kind}: {one.why}" for one in status.conditions]
    troubles += [f"blind: {reason}" for pool in status.view.pools for reason in pool.blind.values()]
    troubles += [f"log: {one.why}" for one in status.inputs if one.state != "following" and one.why]
    if not troubles:
        return HTTPStatus.OK, _TEXT, b"ok\n"
    return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, "".join(f"{one}\n" for one in dict.fromkeys(troubles)).encode()


def _is_local(host: str) -> bool:
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    return name.lower() in _LOCAL


class Listener(InThread, HTTPServer):
    """Answers from `with` on until its end.

    Args:
        address: `host:port` on loopback.
        ask: Asks the controller for its state.

    Raises:
        ListenError: The address is taken, or not ours.
    """

    def __init__(self, address: str, ask: Ask) -> None:
        self.ask = ask
        host, _, port = address.rpartition(":")
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host.strip("[]"), int(port)), _Handler)
        except OSError as error:
            raise ListenError(f"listen.http: {address}: {error.strerror}: choose another port") from error
