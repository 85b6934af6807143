"""The snippets for nginx that we recommend: a real nginx runs with them, and tailhealth reads and changes what it needs."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tailhealth.core.model import Attempt, End
from tailhealth.logs.detect import open_reader
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import LogRules
from tailhealth.proxies.nginx import Nginx as Adapter
from tailhealth.proxies.nginx_reload import Setup
from tests.proxies.contract import change
from tests.real.caddy import until
from tests.real.nginx import Nginx
from tests.real.servers import DEADLINE, free_port, upstreams

pytestmark = pytest.mark.real

SNIPPETS = Path(__file__).parent.parent.parent / "contrib" / "nginx"
OWNED = "/etc/nginx/tailhealth/chat.conf"


def site(folder: Path, addresses: list[str]) -> Nginx:
    """Put the snippets into a folder, with its ports, paths and upstreams in the place of those of the example."""
    proxy = Nginx(folder, "include log_format.conf;\ninclude site.conf;")
    swaps = {
        "listen 80;": f"listen 127.0.0.1:{proxy.port};",
        OWNED: str(folder / "chat.conf"),
        "/var/log/nginx/tailhealth.log": str(folder / "tailhealth.log"),
    } | {f"10.0.0.{index}:11434": address for index, address in enumerate(addresses, 1)}
    for path in SNIPPETS.iterdir():
        text = path.read_text()
        for old, new in swaps.items():
            text = text.replace(old, new)
        (folder / path.name).write_text(text)
    return proxy


def get(proxy: Nginx, path: str) -> None:
    """Ask for a path, with a query that tries to forge a field."""
    with socket.create_connection(("127.0.0.1", proxy.port), DEADLINE) as client:
        client.sendall(f'GET {path}?","upstream_addr":"x" HTTP/1.0\r\nHost: chat.example.test\r\n\r\n'.encode())
        while client.recv(1 << 16):
            pass


def test_the_snippets(tmp_path: Path) -> None:
    """Each request is an attempt with its upstream, header time and end; a server leaves and the file is the original again."""
    with upstreams(3) as nodes:
        dead = f"127.0.0.1:{free_port()}"
        proxy = site(tmp_path, [*(one.address for one in nodes), dead])
        proxy.start()
        try:
            for number in range(8):
                get(proxy, f"/r/{number}")
            log = tmp_path / "tailhealth.log"
            until(lambda: log.exists() and log.read_bytes().count(b"\n") == 8, "the log's lines")
            tally = Tally()
            reader = open_reader(LogRules(), 0, "tailhealth.log", tally)
            found = [one for one in [*reader.feed(log.read_bytes(), 0), *reader.finish()] if isinstance(one, Attempt)]
            assert tally.records == 8
            assert not tally.skipped, tally.skipped
            assert not tally.hints, tally.hints
            assert {one.upstream for one in found if one.end is End.ANSWERED} == {one.address for one in nodes}
            assert {one.upstream for one in found if one.end is End.REFUSED} == {dead}
            assert all(one.header is not None for one in found if one.end is End.ANSWERED)
            assert {one.host for one in found} == {"chat.example.test"}

            original = (tmp_path / "chat.conf").read_bytes()
            pid = tmp_path / "nginx.pid"
            setup = Setup(
                {"chat": str(tmp_path / "chat.conf")},
                tuple(proxy.command("-t")),
                tuple(proxy.command("-s", "reload")),
                str(pid),
            )
            adapter = Adapter(setup)
            (place,) = adapter.read().places
            assert (place.problem, place.hosts, place.paths, place.logged) == ("", ("chat.example.test",), (), True)
            assert adapter.main().blocks["chat"].zone
            adapter.apply([change(place, place, frozenset({dead}))])
            for number in range(6):
                get(proxy, f"/s/{number}")
            until(lambda: log.read_bytes().count(b"\n") == 14, "the log's lines")
            assert log.read_bytes().count(dead.encode()) == sum(one.upstream == dead for one in found)
            (now,) = adapter.read().places
            adapter.apply([change(now, place)])
            assert (tmp_path / "chat.conf").read_bytes() == original
        finally:
            proxy.stop()
