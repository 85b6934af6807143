"""The systemd unit, and the notices that a real `run` sends to a socket like systemd's."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.real.caddy import caddy, logged, reverse_proxy
from tests.real.controller import DEADLINE, SCALED, running

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real

UNIT = Path(__file__).parents[2] / "contrib" / "systemd" / "tailhealth.service"


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """Listen where a service manager would."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind(str(tmp_path / "notify.sock"))
        one.settimeout(DEADLINE)
        yield one


def notice(manager: socket.socket) -> dict[str, str]:
    """Take the next notice."""
    lines = manager.recv(4096).decode().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_ready_reloading_stopping(tmp_path: Path, manager: socket.socket) -> None:
    """READY when it runs, RELOADING and READY again around a SIGHUP, also for a wrong configuration, STOPPING at the end."""
    with caddy(tmp_path, logged(reverse_proxy("127.0.0.1:1"))) as proxy:
        config = SCALED.format(admin=proxy.admin, state=tmp_path / "state", log=proxy.access_log, out="1s")
        with running(tmp_path, config, environ={"NOTIFY_SOCKET": f"{tmp_path}/notify.sock"}) as controller:
            ready = {"READY": "1", "STATUS": f"following {proxy.access_log}; caddy at {proxy.admin}"}
            assert notice(manager) == ready
            for text in (config, "wrong"):
                controller.reload(text)
                reloading = notice(manager)
                assert reloading["RELOADING"] == "1"
                assert reloading["MONOTONIC_USEC"].isdecimal()
                assert notice(manager) == ready
            assert controller.stop() == 0
            assert notice(manager) == {"STOPPING": "1"}


def test_a_proxy_that_is_down_does_not_delay_readiness(tmp_path: Path, manager: socket.socket) -> None:
    """An admin interface that can't be reached is a state that heals, not a start that failed."""
    config = SCALED.format(admin="http://127.0.0.1:1", state=tmp_path / "state", log=tmp_path / "access.log", out="1s")
    with running(tmp_path, config, environ={"NOTIFY_SOCKET": f"{tmp_path}/notify.sock"}):
        assert notice(manager)["READY"] == "1"


def test_a_socket_that_is_gone(tmp_path: Path) -> None:
    """Nobody to notify is said once per notice and stops nothing."""
    config = SCALED.format(admin="http://127.0.0.1:1", state=tmp_path / "state", log=tmp_path / "access.log", out="1s")
    with running(tmp_path, config, environ={"NOTIFY_SOCKET": f"{tmp_path}/gone.sock"}) as controller:
        assert controller.status()["view"]["pools"] == []
        assert "NOTIFY_SOCKET: No such file or directory" in controller.output()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    """`systemd-analyze verify` has nothing to say about it."""
    unit = tmp_path / "tailhealth.service"
    unit.write_text(UNIT.read_text(encoding="utf-8").replace("/usr/bin/tailhealth", f"{sys.executable} -m tailhealth"))
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if unit.name in line]) == (0, [])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_is_hardened(tmp_path: Path) -> None:
    """By systemd's own measure of exposure, 10 being the worst, it stays below 2."""
    unit = tmp_path / "tailhealth.service"
    unit.write_text(UNIT.read_text(encoding="utf-8"))
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    found = re.search(r"exposure level for .*: ([0-9.]+)", done.stdout)
    if found is None:
        pytest.skip(f"this systemd can't measure a file: {done.stderr.strip()}")
    assert float(found[1]) < 2.0


def test_the_commands_of_the_unit_exist() -> None:
    """Each command line of the unit is one that tailhealth understands."""
    lines = re.findall(r"^Exec\w+=-?/usr/bin/tailhealth (.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        name = line.split()[0]
        command = [sys.executable, "-m", "tailhealth", name, "--help"]
        assert "-c, --config" in subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=True).stdout
