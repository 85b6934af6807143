"""A server that lives in threads of its own."""

from __future__ import annotations

import socket
import socketserver
from contextlib import suppress
from threading import Thread
from typing import Self

LOOK_EVERY = 0.5
"""Seconds between two looks whether to end; the end itself does not wait for one."""


class InThread(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Serves from `with` on until its end, which waits for no connection."""

    daemon_threads = True
    block_on_close = False

    def __enter__(self) -> Self:
        looks = {"poll_interval": LOOK_EVERY}
        self._thread = Thread(target=self.serve_forever, name=type(self).__name__, kwargs=looks, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # it only spares the wait for the next look whether to end
            self.socket.shutdown(socket.SHUT_RDWR)
        self.shutdown()
        self._thread.join()
        self.server_close()
