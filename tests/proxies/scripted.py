"""A server that plays scripts: what an admin interface may do to its callers, byte for byte."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Scripted:
    """A server that reads each request and answers with the next of its scripts; an empty script answers nothing."""

    def __init__(self, listener: socket.socket, scripts: list[list[bytes]]) -> None:
        self.requests: list[bytes] = []
        self._listener = listener
        self._scripts = scripts
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        for script in self._scripts:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.requests.append(self._request(connection))
                for part in script:
                    if part == b"hang":
                        self._stopped.wait(10)
                    elif part == b"drip":
                        self._drip(connection)
                    elif part == b"reset":
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
                    else:
                        connection.sendall(part)

    def _drip(self, connection: socket.socket) -> None:
        while not self._stopped.wait(0.02):
            try:
                connection.sendall(b" ")
            except OSError:
                return

    @staticmethod
    def _request(connection: socket.socket) -> bytes:
        text = b""
        while b"\r\n\r\n" not in text:
            text += connection.recv(65536)
        head, _, body = text.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            body += connection.recv(65536)
        return head + b"\r\n\r\n" + body

    def stop(self) -> None:
        """End the thread and close the socket."""
        self._stopped.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


@contextmanager
def scripted(*scripts: list[bytes], unix: Path | None = None) -> Iterator[tuple[str, Scripted]]:
    """Run a scripted server and tell its address."""
    listener = socket.socket(socket.AF_UNIX) if unix else socket.socket()
    listener.bind(str(unix) if unix else ("127.0.0.1", 0))
    listener.listen()
    server = Scripted(listener, list(scripts))
    try:
        yield (f"unix/{unix}" if unix else f"http://127.0.0.1:{listener.getsockname()[1]}"), server
    finally:
        server.stop()


def answer(status: int, body: bytes = b"null\n", extra: bytes = b"") -> list[bytes]:
    """Write an answer."""
    return [b"HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s" % (status, extra, len(body), body)]
