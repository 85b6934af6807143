"""The control socket: how commands, `status`, `explain` and `top --attach` reach a running controller (DESIGN section 9).

One request and one answer per connection, each a JSON object on a line. The socket is 0600 in the state directory: whoever may
write there may command.
"""

from __future__ import annotations

import os
import socket
import socketserver
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import msgspec

from tailhealth.service.served import InThread

SOCKET = "control.sock"
LINE = 1 << 16
"""The longest request, in bytes."""
PATIENCE = 30.0
"""Seconds that an answer may take: a command waits for its turn in the order of inputs, an apply for the proxy."""


class ControlError(Exception):
    """No answer from a controller; the text says why and what to do."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is asked of the controller."""

    command: str
    v: int = 1
    upstream: str = ""
    pool: str | None = None
    duration: float | None = None
    """`--for`, in seconds."""
    why: str = ""
    force: bool = False


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """The controller's answer."""

    ok: bool
    error: str = ""
    v: int = 1
    data: dict[str, Any] = {}


Handler = Callable[[Request], "Future[Reply]"]


class _Connection(socketserver.StreamRequestHandler):
    timeout = PATIENCE
    server: ControlServer

    def handle(self) -> None:
        try:
            line = self.rfile.readline(LINE)
            reply = self._reply(line)
            self.wfile.write(msgspec.json.encode(reply) + b"\n")
        except (TimeoutError, BrokenPipeError, ConnectionResetError):
            return  # whoever asked has left: there is nobody to tell

    def _reply(self, line: bytes) -> Reply:
        try:
            request = msgspec.json.decode(line, type=Request)
        except msgspec.DecodeError as error:
            return Reply(ok=False, error=f"not a request: {error}")
        try:
            return self.server.answer(request).result(PATIENCE)
        except TimeoutError:
            return Reply(ok=False, error=f"no answer within {PATIENCE:.0f} s; see `tailhealth status`")


class ControlServer(InThread, socketserver.UnixStreamServer):
    """Listens on the control socket and hands each request to the controller's loop."""

    def __init__(self, folder: Path, answer: Handler) -> None:
        self.answer = answer
        self.path = folder / SOCKET
        # The state directory's lock is ours: a socket that is left there belongs to a controller that died.
        self.path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            super().__init__(str(self.path), _Connection)
        finally:
            os.umask(before)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.path.unlink(missing_ok=True)


def is_there(folder: Path) -> bool:
    """Tell whether a controller listens on a state directory."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(folder / SOCKET))
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    except OSError:
        return True  # something is there; whoever asks it hears what is the matter
    return True


def ask(folder: Path, request: Request, patience: float = PATIENCE + 5) -> Reply:
    """Ask the controller that runs on a state directory.

    Raises:
        ControlError: No controller runs there, it may not be asked, or it does not answer within `patience` seconds.
    """
    path = folder / SOCKET
    try:
        with socket.socket(socket.AF_UNIX) as connection, connection.makefile("rwb") as stream:
            connection.settimeout(patience)
            connection.connect(str(path))
            stream.write(msgspec.json.encode(request) + b"\n")
            stream.flush()
            return msgspec.json.decode(stream.readline(), type=Reply)
    except (FileNotFoundError, ConnectionRefusedError):
        raise ControlError(
            f"{path}: no controller runs here: start `tailhealth run`, or name its configuration with -c"
        ) from None
    except PermissionError:
        raise ControlError(f"{path}: permission denied: ask as the user that runs the controller") from None
    except (TimeoutError, ConnectionResetError, BrokenPipeError, msgspec.DecodeError):
        raise ControlError(f"{path}: the controller does not answer: see its log") from None
