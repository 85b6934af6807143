"""Notices to a service manager."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from tailhealth.service.systemd import Notices

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_sent(tmp_path: Path) -> None:
    """One datagram each, in systemd's words; a text of several lines can't bring in another assignment."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(10)
        notices = Notices({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        notices.ready("following a.log\nERRNO=5")
        assert manager.recv(4096) == b"READY=1\nSTATUS=following a.log ERRNO=5"
        notices.reloading()
        first, second = manager.recv(4096).split(b"\n")
        assert first == b"RELOADING=1"
        assert second.startswith(b"MONOTONIC_USEC=")
        notices.stopping()
        assert manager.recv(4096) == b"STOPPING=1"
        assert notices.problem == ""


@pytest.mark.skipif(not os.path.exists("/proc/net/unix"), reason="only Linux has abstract names")  # noqa: PTH110 - as it is
def test_an_abstract_name() -> None:
    """A leading @ stands for the NUL byte of an abstract name."""
    name = f"tailhealth-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}")
        manager.settimeout(10)
        Notices({"NOTIFY_SOCKET": f"@{name}"}).stopping()
        assert manager.recv(4096) == b"STOPPING=1"


def test_nobody_to_notify(tmp_path: Path) -> None:
    """Without a socket nothing is sent and nothing is wrong; one that is gone is a problem until a notice arrives."""
    quiet = Notices({})
    quiet.ready("x")
    assert quiet.problem == ""
    path = tmp_path / "notify"
    notices = Notices({"NOTIFY_SOCKET": str(path)})
    notices.ready("x")
    assert notices.problem == "NOTIFY_SOCKET: No such file or directory"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        notices.ready("x")
    assert notices.problem == ""
