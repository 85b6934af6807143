"""The terminal of `top`: keys as they are pressed, and a word when it is resized."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import tty
from contextlib import ExitStack
from types import FrameType
from typing import Any, Self

_SPECIAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)")
"""Arrows and function keys: several characters that mean nothing here, and must not pass for Esc and letters."""
RESIZED = "resized"
"""What `Terminal.key` returns when the terminal has another size than before."""


class Terminal:
    """Keys one by one, from the terminal itself even where standard input is a log. Puts everything back at the end.

    Signals must be handled by the main thread, so it must be entered there.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._keys: int | None = None
        self._waiting: list[str] = []
        self._resized = False
        self._wake = -1

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._keys = self._open(stack)
            if self._keys is not None:
                before = termios.tcgetattr(self._keys)
                stack.callback(termios.tcsetattr, self._keys, termios.TCSADRAIN, before)
                tty.setcbreak(self._keys)
            self._wake, writer = os.pipe()
            stack.callback(os.close, self._wake)
            stack.callback(os.close, writer)
            os.set_blocking(writer, False)
            os.set_blocking(self._wake, False)
            stack.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(writer, warn_on_full_buffer=False))
            self._handle(stack, signal.SIGWINCH, self._note_resize)
            self._handle(stack, signal.SIGTERM, _leave)
            self._handle(stack, signal.SIGHUP, _leave)
            # A suspended program would leave the other screen and the keys as they are.
            self._handle(stack, signal.SIGTSTP, signal.SIG_IGN)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def key(self, timeout: float) -> str | None:
        """Wait for a key at most `timeout` seconds. Returns it, or RESIZED, or None if nothing came in time."""
        if self._waiting:
            return self._waiting.pop(0)
        sources = [self._wake] + ([] if self._keys is None else [self._keys])
        ready, _, _ = select.select(sources, [], [], max(0.0, timeout))
        if self._wake in ready:
            os.read(self._wake, 512)
        if self._resized:
            self._resized = False
            return RESIZED
        if self._keys in ready and self._keys is not None:
            self._take(os.read(self._keys, 512))
            return self._waiting.pop(0) if self._waiting else None
        return None

    def _take(self, data: bytes) -> None:
        if not data:
            self._keys = None  # the terminal is gone; there is nobody to press keys
        self._waiting += _SPECIAL.sub("", data.decode(errors="ignore"))

    def _note_resize(self, _number: int, _frame: FrameType | None) -> None:
        self._resized = True

    @staticmethod
    def _open(stack: ExitStack) -> int | None:
        if sys.stdin is not None and sys.stdin.isatty():
            return sys.stdin.fileno()
        try:
            keys = os.open("/dev/tty", os.O_RDONLY)
        except OSError:
            return None
        stack.callback(os.close, keys)
        return keys

    @staticmethod
    def _handle(stack: ExitStack, number: signal.Signals, handler: Any) -> None:
        stack.callback(signal.signal, number, signal.signal(number, handler))


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
