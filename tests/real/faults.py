"""A loopback proxy in front of an admin interface that resets, swallows, hangs and delays, request by request."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from tests.real.servers import DEADLINE

if TYPE_CHECKING:
    from collections.abc import Iterator


class Fault(StrEnum):
    """What happens to a request."""

    RESET = "reset"
    """It is read, not forwarded, and the connection is reset."""
    SWALLOW = "swallow"
    """It is forwarded, and its answer never comes: the connection is reset."""
    HANG = "hang"
    """It is read, and not forwarded until the proxy is told otherwise: then it arrives, far too late."""
    HANG_AFTER = "hang_after"
    """It is forwarded, and its answer does not come until the proxy is told otherwise."""
    HALF = "half"
    """Half of its answer comes, then the connection ends."""
    DELAY = "delay"
    """It is forwarded after a quarter of a second."""


class FaultyAdmin:
    """Listens at `address`, forwards to `target`. `patches` are the faults of the next changes, `always` that of all else."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.patches: list[Fault] = []
        self.always: Fault | None = None
        self.forwarded: list[str] = []
        """Method and path of each request that reached the target."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._let_go = threading.Event()
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept)
        self._accepting.start()

    @property
    def address(self) -> str:
        """The address for `[proxy] admin`."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def let_go(self) -> None:
        """End what hangs, and pass everything from now on."""
        self.patches, self.always = [], None
        self._let_go.set()

    def stop(self) -> None:
        """Close everything."""
        self.let_go()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join(DEADLINE)
        self._listener.close()
        for thread in self._threads:
            thread.join(DEADLINE)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            client.settimeout(DEADLINE)
            try:
                request = self._request(client)
                self._treat(client, request)
            except OSError:
                return  # the caller left, as it does when its time is over

    def _treat(self, client: socket.socket, request: bytes) -> None:
        fault = self.patches.pop(0) if request.startswith(b"PATCH") and self.patches else self.always
        if fault is Fault.HANG:
            self._let_go.wait(DEADLINE)
        if fault is Fault.DELAY:
            self._let_go.wait(0.25)
        answer = b"" if fault is Fault.RESET else self._forward(request)
        if fault is Fault.HANG_AFTER:
            self._let_go.wait(DEADLINE)
        if fault in {Fault.RESET, Fault.SWALLOW}:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
            return
        client.sendall(answer[: len(answer) // 2] if fault is Fault.HALF else answer)

    def _forward(self, request: bytes) -> bytes:
        host = b"%s:%d" % (self._target[0].encode(), self._target[1])
        request = re.sub(rb"(?im)^host: .*\r\n", b"Host: " + host + b"\r\n", request, count=1)
        request = re.sub(rb"(?im)^connection: .*\r\n", b"Connection: close\r\n", request, count=1)
        self.forwarded.append(request.split(b" HTTP/", 1)[0].decode())
        with socket.create_connection(self._target, DEADLINE) as target:
            target.sendall(request)
            parts = []
            while part := target.recv(65536):
                parts.append(part)
        return b"".join(parts)

    @staticmethod
    def _request(client: socket.socket) -> bytes:
        text = b""
        while b"\r\n\r\n" not in text:
            text += client.recv(65536) or b"\r\n\r\n"
        head, _, body = text.partition(b"\r\n\r\n")
        length = re.search(rb"(?im)^content-length: (\d+)", head)
        while length and len(body) < int(length[1]):
            body += client.recv(65536)
        return head + b"\r\n\r\n" + body


@contextmanager
def faulty(port: int) -> Iterator[FaultyAdmin]:
    """Put a faulty proxy in front of an admin interface on this loopback port."""
    one = FaultyAdmin(("127.0.0.1", port))
    try:
        yield one
    finally:
        one.stop()
