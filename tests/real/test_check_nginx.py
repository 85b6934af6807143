"""`check` on a real nginx: silent on a right setup, and each planted fault is found."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from functools import partial

import pytest

from tailhealth.proxies.nginx_process import Process, master, workers
from tests.real.caddy import until
from tests.real.checking import HOST, NginxSetup, check, nginx_setup
from tests.real.servers import DEADLINE, Behaviour

pytestmark = pytest.mark.real


def test_silent_on_a_right_setup() -> None:
    """The recommended snippets have no finding; that hung requests can't be seen is told, and is nobody's fault."""
    with nginx_setup() as setup:
        setup.serve()
        before = {path.name: path.read_bytes() for path in setup.folder.iterdir() if path.suffix == ".conf"}
        code, findings, said = setup.check()

        assert (code, findings) == (0, {})
        notes = {one["code"]: one for one in said["notes"]}
        assert set(notes) == {"pool", "log", "stalled_off"}
        assert "nginx (open source) does not count" in notes["stalled_off"]["text"]
        assert notes["pool"]["about"] == "chat"
        assert {path.name: path.read_bytes() for path in setup.folder.iterdir() if path.suffix == ".conf"} == before


def _format(*names: str) -> Callable[[NginxSetup], None]:
    """Take variables out of the log's format."""

    def plant(setup: NginxSetup) -> None:
        for name in names:
            setup.edit("log_format.conf", f"""        '"{name}":"${name}",'\n""", "")

    return plant


def _edit(name: str, old: str, new: str) -> Callable[[NginxSetup], None]:
    return lambda setup: setup.edit(name, old, new)


ACCESS_LOG = "tailhealth.log tailhealth;"
FAULTS: list[tuple[str, Callable[[NginxSetup], None], str]] = [
    ("no upstream", _format("upstream_addr"), "no_upstream_field"),
    ("no header time", _format("upstream_header_time"), "no_header_time"),
    ("key twice", _edit("log_format.conf", '"host":"$host"', '"host":"$host","status":"$status"'), "ambiguous"),
    ("buffered", _edit("site.conf", ACCESS_LOG, "tailhealth.log tailhealth buffer=32k flush=10ms;"), "buffered_log"),
    ("condition", _edit("site.conf", ACCESS_LOG, "tailhealth.log tailhealth if=$request_method;"), "conditional_log"),
    ("no zone", _edit("site.conf", "zone chat 64k;", ""), "no_zone"),
    ("max_fails", _edit("chat.conf", " max_fails=0", ""), "other_judge"),
]


@pytest.mark.parametrize(("plant", "code"), [pytest.param(*one[1:], id=one[0]) for one in FAULTS])
def test_planted_faults(plant: Callable[[NginxSetup], None], code: str) -> None:
    """What the log's format lacks, what holds lines back, and who else judges."""
    with nginx_setup() as setup:
        plant(setup)
        setup.serve()
        _, findings, _ = setup.check()

    assert code in findings
    assert len(findings) == (3 if code == "ambiguous" else 1), "lines that are skipped are no records either"


def test_an_include_file_that_is_not_included() -> None:
    """The block has its `server` lines elsewhere: nothing that is written to the file would matter."""
    with nginx_setup() as setup:
        lines = "\n".join(line for line in setup.include.read_text().splitlines() if line.startswith("server"))
        setup.edit("site.conf", f"include {setup.include};", lines)
        setup.serve()
        _, findings, _ = setup.check()

        assert set(findings) == {"place_unmanaged", "upstream_unmanaged"}
        assert f"put `include {setup.include};`" in findings["place_unmanaged"]["text"]
        assert "move it to the file" in findings["upstream_unmanaged"]["text"]


def test_a_block_that_is_not_there() -> None:
    """The configuration names another block than nginx has."""
    with nginx_setup() as setup:
        setup.block = "chat2"
        setup.serve()
        _, findings, _ = setup.check()

    assert list(findings) == ["place_unmanaged"]
    assert "no upstream block 'chat2'" in findings["place_unmanaged"]["text"]


def test_an_include_file_that_is_missing() -> None:
    """Nothing can be read of the pools; nginx's own test fails too."""
    with nginx_setup() as setup:
        setup.serve()
        setup.include.unlink()
        _, findings, _ = setup.check()

    assert list(findings) == ["admin_unreachable"]
    assert "chat.conf" in findings["admin_unreachable"]["text"]


def test_a_configuration_that_nginx_does_not_take() -> None:
    """The words of nginx itself are told."""
    with nginx_setup() as setup:
        setup.serve()
        setup.edit("site.conf", "proxy_read_timeout 300s;", "proxy_read_timeout 300x;")
        _, findings, _ = setup.check()

    assert list(findings) == ["nginx_test"]
    assert "proxy_read_timeout" in findings["nginx_test"]["text"]


def test_an_nginx_that_is_not_seen() -> None:
    """It does not run, or another pid file is named."""
    with nginx_setup() as setup:
        setup.serve()
        setup.proxy.stop()
        _, findings, _ = setup.check()

    assert list(findings) == ["nginx_not_seen"]


def _in_flight(setup: NginxSetup, count: int) -> bool:
    return sum(one.in_flight for one in setup.nodes) == count


def _reload(setup: NginxSetup, running: Process) -> None:
    before = workers(running).current
    setup.proxy.signal(signal.SIGHUP)
    until(lambda: bool(workers(running).current - before) and not workers(running).current & before, "new workers")


def test_old_workers_that_pile_up() -> None:
    """One generation of old workers is told, more than that is a finding."""
    with nginx_setup() as setup:
        setup.serve()
        for node in setup.nodes:
            node.behaviour = Behaviour.HANG
        running = master(f"{setup.folder}/nginx.pid")
        assert running is not None
        clients = []
        try:
            for number in range(2):
                client = socket.create_connection(("127.0.0.1", setup.proxy.port), DEADLINE)
                clients.append(client)
                client.sendall(f"GET /hang HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
                until(partial(_in_flight, setup, number + 1), "the request")
                _reload(setup, running)
                code, findings, said = setup.check()
                if number == 0:
                    assert (code, findings) == (0, {})
                    assert "old_workers" in {one["code"] for one in said["notes"]}
            assert list(findings) == ["old_workers"]
        finally:
            for client in clients:
                client.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_an_include_file_that_may_not_be_written() -> None:
    """Then no upstream can be taken out."""
    with nginx_setup() as setup:
        setup.serve()
        setup.include.chmod(0o444)
        _, findings, _ = setup.check()

    assert list(findings) == ["include_unwritable"]


def test_no_block_is_named() -> None:
    """Without `include`, nothing can be changed."""
    with nginx_setup() as setup:
        setup.serve()
        path = setup.config()
        text = path.read_text()
        path.write_text("\n".join(line for line in text.splitlines() if not line.startswith("include")))
        _, findings, _ = check(path)

    assert {"no_include", "no_pools"} <= set(findings)
