"""A double of the NGINX Plus API, as strict as the published reference: http upstreams and the process, nothing else.

What stands here is what the reference tells of the API: codes, bodies and texts. Whether an NGINX Plus does the same was never
seen. `reload` does what a load of the configuration does: the configured servers come back with other ids, changes are lost.
"""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DEFAULTS: dict[str, Any] = {
    "weight": 1,
    "max_conns": 0,
    "max_fails": 1,
    "fail_timeout": "10s",
    "slow_start": "0s",
    "route": "",
    "backup": False,
    "down": False,
}
KINDS: dict[str, tuple[type, str]] = {
    "weight": (int, "UpstreamBadWeight"),
    "max_conns": (int, "UpstreamBadMaxConns"),
    "max_fails": (int, "UpstreamBadMaxFails"),
    "fail_timeout": (str, "UpstreamBadFailTimeout"),
    "slow_start": (str, "UpstreamBadSlowStart"),
    "route": (str, "UpstreamBadRoute"),
    "down": (bool, "UpstreamConfFormatError"),
    "drain": (bool, "UpstreamConfFormatError"),
    "server": (str, "UpstreamBadAddress"),
}
"""What a PATCH may change, of which type, and the code of a value that is none."""
HREF = "https://nginx.org/en/docs/http/ngx_http_api_module.html"
LATEST = 9


class ApiError(Exception):
    """An error answer."""

    def __init__(self, status: int, text: str, code: str) -> None:
        super().__init__(text)
        self.status, self.text, self.code = status, text, code


class Plus:
    """One NGINX Plus. `configured` are its upstream blocks as nginx.conf has them: names to servers, defaults left out."""

    def __init__(self, configured: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        self.configured = configured
        self.write = True
        self.versions = list(range(1, LATEST + 1))
        self.authorization: str | None = None
        """What the header of that name must be; None: nobody is turned away."""
        self.static: set[str] = set()
        """Blocks that the API can't change."""
        self.active: dict[str, int] = {}
        """Requests in flight by address."""
        self.states: dict[str, str] = {}
        """States by address that health checks or failed requests led to."""
        self.addresses: dict[str, str] = {}
        """What a name was resolved to when the configuration was loaded."""
        self.calls: list[str] = []
        self.before_patch: list[Any] = []
        """Called once each before a PATCH is looked at: what happens in the very moment."""
        self.before_servers: list[Any] = []
        """The same for a look at the servers of a block."""
        self.generation = 0
        self.ids = 0
        self.upstreams: dict[str, list[dict[str, Any]]] = {}
        self.lock = threading.RLock()
        self.reload()

    def reload(self) -> None:
        """Load the configuration: API changes are gone, and ids are others."""
        with self.lock:
            self.generation += 1
            self.upstreams = {name: [self._server(one) for one in servers] for name, servers in self.configured.items()}

    def _server(self, given: Mapping[str, Any]) -> dict[str, Any]:
        self.ids += 1
        return {"id": self.ids - 1, **DEFAULTS, **given}

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Answer one request."""
        with self.lock:
            self.calls.append(f"{method} {path}")
            parts = path.strip("/").split("/")
            if parts[0] != "api":
                raise ApiError(404, "path not found", "PathNotFound")
            if len(parts) == 1:
                return self._only("GET", method, self.versions)
            if not parts[1].isdigit() or int(parts[1]) not in self.versions:
                raise ApiError(404, "unknown version", "UnknownVersion")
            match parts[2:]:
                case ["nginx"]:
                    return self._only("GET", method, self._process())
                case ["http", "upstreams"]:
                    return self._only("GET", method, {name: self._working(name) for name in self.upstreams})
                case ["http", "upstreams", name]:
                    return self._only("GET", method, self._working(self._block(name)))
                case ["http", "upstreams", name, "servers"]:
                    while self.before_servers:
                        self.before_servers.pop()()
                    return self._only("GET", method, self._servers(self._block(name)))
                case ["http", "upstreams", name, "servers", number]:
                    return self._one(method, name, number, body)
            raise ApiError(404, "path not found", "PathNotFound")

    def _only(self, allowed: str, method: str, found: Any) -> tuple[int, Any]:
        if method != allowed:
            raise ApiError(405, "method disabled", "MethodDisabled")
        return 200, found

    def _process(self) -> dict[str, Any]:
        return {
            "version": "1.27.4",
            "build": "nginx-plus-r34",
            "address": "127.0.0.1",
            "generation": self.generation,
            "load_timestamp": "2026-11-30T00:53:20.000Z",
            "timestamp": "2026-11-30T00:53:21.000Z",
            "pid": 32212,
            "ppid": 32210,
        }

    def _block(self, name: str) -> str:
        if name not in self.upstreams:
            raise ApiError(404, "upstream not found", "UpstreamNotFound")
        return name

    def _servers(self, name: str) -> list[dict[str, Any]]:
        if name in self.static:
            raise ApiError(400, f'upstream "{name}" is static', "UpstreamStatic")
        return self.upstreams[name]

    def _working(self, name: str) -> dict[str, Any]:
        parents = {one.get("parent") for one in self.upstreams[name]}
        peers = [self._peer(one) for one in self.upstreams[name] if one["id"] not in parents]
        return {"peers": peers, "keepalive": 0, "zombies": 0, "zone": name}

    def _peer(self, server: Mapping[str, Any]) -> dict[str, Any]:
        address = server["server"]
        name = self.addresses.get(address, address)
        state = "down" if server["down"] else "draining" if server.get("drain") else self.states.get(address, "up")
        peer = {
            "id": server["id"],
            "server": address,
            "name": name,
            "backup": server["backup"],
            "weight": server["weight"],
            "state": state,
            "active": self.active.get(address, 0),
            "requests": 0,
            "responses": {"1xx": 0, "2xx": 0, "3xx": 0, "4xx": 0, "5xx": 0, "codes": {}, "total": 0},
            "sent": 0,
            "received": 0,
            "fails": 0,
            "unavail": 0,
            "health_checks": {"checks": 0, "fails": 0, "unhealthy": 0},
            "downtime": 0,
        }
        # Only a limit that is one is told.
        return peer | ({"max_conns": server["max_conns"]} if server["max_conns"] else {})

    def _one(self, method: str, name: str, number: str, body: bytes) -> tuple[int, Any]:
        if method not in {"GET", "PATCH"} or (method == "PATCH" and not self.write):
            raise ApiError(405, "method disabled", "MethodDisabled")
        if method == "PATCH":
            while self.before_patch:
                self.before_patch.pop()()
        # A wrong body is told before an upstream that is not there.
        settings = self._settings(body) if method == "PATCH" else {}
        servers = self._servers(self._block(name))
        if not re.fullmatch("[0-9]+", number):
            raise ApiError(400, f'invalid server ID "{number}"', "UpstreamBadServerId")
        server = next((one for one in servers if one["id"] == int(number)), None)
        if server is None:
            raise ApiError(404, f"Server with ID {number} does not exist", "UpstreamServerNotFound")
        if "parent" in server and "server" in settings:
            raise ApiError(400, f"server {number} address is immutable", "UpstreamServerImmutable")
        if "parent" in server and "weight" in settings:
            raise ApiError(400, f"server {number} weight is immutable", "UpstreamServerWeightImmutable")
        server |= settings
        if server.get("drain") is False:
            # The key is there only while it drains.
            del server["drain"]
        return 200, server

    @staticmethod
    def _settings(body: bytes) -> dict[str, Any]:
        try:
            given = json.loads(body)
        except ValueError:
            raise ApiError(415, "invalid JSON", "JsonError") from None
        if not isinstance(given, dict):
            raise ApiError(400, "invalid value", "UpstreamConfFormatError")
        for name, value in given.items():
            if name not in KINDS:
                raise ApiError(400, f'unknown parameter "{name}"', "UpstreamConfFormatError")
            kind, code = KINDS[name]
            if isinstance(value, dict | list):
                raise ApiError(400, "unsupported type", "UpstreamConfFormatError")
            if type(value) is not kind or (kind is int and isinstance(value, int) and value < (1 if name == "weight" else 0)):
                raise ApiError(400, f'invalid "{name}" value', code)
        return given


def _handler(plus: Plus) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's signature
            """Keep quiet."""

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if plus.authorization is not None and self.headers.get("Authorization") != plus.authorization:
                return self._send(401, b"<html><head><title>401 Authorization Required</title></head></html>\r\n", "text/html")
            try:
                status, found = plus.answer(self.command, self.path.partition("?")[0], body)
            except ApiError as error:
                said = {"status": error.status, "text": error.text, "code": error.code}
                status, found = error.status, {"error": said, "request_id": secrets.token_hex(16), "href": HREF}
            return self._send(status, json.dumps(found).encode(), "application/json")

        def _send(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PATCH = do_POST = do_DELETE = do_PUT = _serve  # noqa: N815 - names that the base class looks for

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True


@contextmanager
def plus_api(plus: Plus) -> Iterator[str]:
    """Serve the API of a double on loopback, and tell its address."""
    server = _Server(("127.0.0.1", 0), _handler(plus))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
