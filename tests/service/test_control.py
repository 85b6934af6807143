"""The control socket: who may ask, what is answered, and what whoever asks is told when it can't be."""

from __future__ import annotations

import os
import socket
import stat
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
import pytest

from tailhealth.service.control import LINE, SOCKET, ControlError, ControlServer, Reply, Request, ask, is_there

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def done(reply: Reply) -> Future[Reply]:
    """Return an answer that is there already."""
    future: Future[Reply] = Future()
    future.set_result(reply)
    return future


def echo(request: Request) -> Future[Reply]:
    """Answer with the request."""
    return done(Reply(ok=True, data=msgspec.to_builtins(request)))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A state directory on whose socket requests are answered with themselves."""
    with ControlServer(tmp_path, echo):
        yield tmp_path


def raw(folder: Path, text: bytes) -> bytes:
    """Send bytes and read all that comes back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(folder / SOCKET))
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


def test_only_its_user_may_ask(folder: Path) -> None:
    """The socket is 0600 whatever the umask, from the moment it exists, and the umask stays what it was."""
    assert stat.S_IMODE((folder / SOCKET).stat().st_mode) == 0o600
    mask = os.umask(0o022)
    os.umask(mask)
    assert mask != 0o177


def test_a_request_comes_through_whole(folder: Path) -> None:
    """Every field arrives as it was given."""
    request = Request("eject", upstream="a:1", pool="p", duration=1.5, why="größer \u202e", force=True)
    assert msgspec.convert(ask(folder, request).data, Request) == request


@pytest.mark.parametrize("text", [b"", b"\n", b"[]\n", b'{"command": 1}\n', b"\xff\n"])
def test_what_is_no_request(folder: Path, text: bytes) -> None:
    """Whoever sends something else is told so, and the next one is answered."""
    reply = msgspec.json.decode(raw(folder, text), type=Reply)
    assert not reply.ok
    assert "not a request" in reply.error
    assert ask(folder, Request("status")).ok


def test_a_request_without_end(folder: Path) -> None:
    """No more of it is read than the longest request has, and the next one is answered."""
    with suppress(ConnectionResetError, BrokenPipeError):
        assert b"not a request" in raw(folder, b'{"command": "' + b"x" * LINE * 20)
    assert ask(folder, Request("status")).ok


def test_one_that_leaves_disturbs_nobody(folder: Path) -> None:
    """A connection that is closed at once, or before its answer, costs only itself."""
    for text in (b"", b'{"command":"status"}\n'):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(folder / SOCKET))
            connection.sendall(text)
    assert ask(folder, Request("status")).ok


def test_several_wait_at_a_time(tmp_path: Path) -> None:
    """An answer that takes long holds up no other."""
    slow: Future[Reply] = Future()
    with ControlServer(tmp_path, lambda request: slow if request.command == "slow" else echo(request)):
        found: list[Reply] = []
        waiting = threading.Thread(target=lambda: found.append(ask(tmp_path, Request("slow"))))
        waiting.start()
        assert ask(tmp_path, Request("quick")).ok
        slow.set_result(Reply(ok=False, error="no"))
        waiting.join(10)
        assert found == [Reply(ok=False, error="no")]


def test_a_socket_that_was_left_behind(tmp_path: Path) -> None:
    """One of a controller that died is replaced; after an orderly end none is there."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / SOCKET))
    assert not is_there(tmp_path)
    with ControlServer(tmp_path, echo):
        assert is_there(tmp_path)
        assert ask(tmp_path, Request("status")).ok
    assert not (tmp_path / SOCKET).exists()


@pytest.mark.parametrize("leave", [False, True])
def test_nobody_runs(tmp_path: Path, *, leave: bool) -> None:
    """With no socket, and with one that nobody listens on, the remedy is told."""
    if leave:
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(tmp_path / SOCKET))
    with pytest.raises(ControlError, match="no controller runs here: start `tailhealth run`"):
        ask(tmp_path, Request("status"))


def test_one_that_does_not_answer(tmp_path: Path) -> None:
    """A controller that hangs, or dies over a request, is named as that within the patience."""
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / SOCKET))
        mute.listen()
        with pytest.raises(ControlError, match="does not answer"):
            ask(tmp_path, Request("status"), patience=0.05)

        def hang_up() -> None:
            # The first one is whoever gave up.
            for _ in range(2):
                connection, _ = mute.accept()
                connection.close()

        killer = threading.Thread(target=hang_up)
        killer.start()
        with pytest.raises(ControlError, match="does not answer"):
            ask(tmp_path, Request("status"), patience=10)
        killer.join(10)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may ask anybody")
def test_one_that_may_not_be_asked(folder: Path) -> None:
    """Another user is told whose controller it is."""
    (folder / SOCKET).chmod(0)
    with pytest.raises(ControlError, match="ask as the user that runs the controller"):
        ask(folder, Request("status"))
