"""Tells the service manager how far the controller is: readiness notification of systemd, sd_notify(3)."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping


class Notices:
    """Sends notices to the socket that the service manager named; without one, nowhere.

    Args:
        environ: Where `NOTIFY_SOCKET` stands.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        path = environ.get("NOTIFY_SOCKET", "")
        # A leading @ means a name in the abstract namespace, which begins with a NUL byte.
        self._address = "\0" + path[1:] if path.startswith("@") else path
        self.problem = ""
        """Why the latest notice could not be sent; empty: it was."""

    def ready(self, text: str) -> None:
        """The controller runs, or has taken over a new configuration; `text` is shown by `systemctl status`."""
        self._send(f"READY=1\nSTATUS={_one_line(text)}")

    def reloading(self) -> None:
        """The configuration is being reread."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """The controller stops."""
        self._send("STOPPING=1")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.sendto(text.encode(), self._address)
        except OSError as error:
            self.problem = f"NOTIFY_SOCKET: {error.strerror}"
        else:
            self.problem = ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
