"""A program on a pseudo-terminal: what it draws, keys for it, and other sizes of its window."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

DEADLINE = 20.0
"""Seconds after which waiting is a failure."""

HOME = "\x1b[H"
"""Begins each picture."""
SEQUENCE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|.)")
_LOGIN = "import os, sys; os.login_tty(int(sys.argv[1])); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


class Pseudo:
    """`tailhealth` with these arguments, as the session on a terminal of its own.

    Args:
        arguments: Of `tailhealth`.
        size: Columns and lines.
        environment: Added to the environment of the test; None removes a variable.
        command: Instead of `tailhealth`: arguments of the Python interpreter.
    """

    def __init__(
        self,
        arguments: Sequence[str] = (),
        size: tuple[int, int] = (80, 24),
        environment: Mapping[str, str | None] | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        wanted = {
            "TERM": "xterm-256color",
            "TZ": "UTC",
            "NO_COLOR": None,
            "COLUMNS": None,
            "LINES": None,
            **(environment or {}),
        }
        merged = {**os.environ, **{name: value for name, value in wanted.items() if value is not None}}
        for name, value in wanted.items():
            if value is None:
                merged.pop(name, None)
        self.output = ""
        self.size = size
        self._master, self._slave = pty.openpty()
        self.modes = termios.tcgetattr(self._slave)
        self._set_size()
        run = list(command or ["-m", "tailhealth", *arguments])
        self._child = subprocess.Popen(
            [sys.executable, "-c", _LOGIN, str(self._slave), *run], pass_fds=[self._slave], env=merged, stderr=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait(DEADLINE)
        if self._child.stderr is not None:
            self._child.stderr.close()
        os.close(self._master)
        os.close(self._slave)

    @property
    def pid(self) -> int:
        """Process id of the program."""
        return self._child.pid

    def until(self, condition: Callable[[list[str]], bool], what: str) -> list[str]:
        """Wait for a picture drawn from now on that fulfils a condition, and return it."""
        seen = max(0, len(self.output.split(HOME)) - 2)
        end = time.monotonic() + DEADLINE
        while True:
            fresh = self.output.split(HOME)[1 + seen :]
            for part in fresh:
                lines = SEQUENCE.sub("", part).replace("\r", "").split("\n")[: self.size[1]]
                if len(lines) == self.size[1] and condition(lines):
                    return lines
            left = end - time.monotonic()
            if not self._read(min(left, 1.0)) and (left <= 0 or self._child.poll() is not None):
                raise AssertionError(f"{what} did not come; the end of the output:\n{self.output[-3000:]}")

    def until_line(self, text: str) -> list[str]:
        """Wait for a picture with this text in one of its lines."""
        return self.until(lambda lines: any(text in line for line in lines), text)

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        """Give the window another size; the system tells the program."""
        self.size = (columns, lines)
        self._set_size()

    def drain(self) -> None:
        """Read what was drawn, so that the program never waits for the terminal; what is old is thrown away."""
        while self._read(0.0):
            self.output = self.output[-(1 << 16) :]

    def ended(self) -> int:
        """Wait until it ends; return its exit code."""
        end = time.monotonic() + DEADLINE
        while self._child.poll() is None and time.monotonic() < end:
            self._read(0.05)
        while self._read(0.0):
            pass
        return self._child.wait(0.1)

    def modes_now(self) -> list[object]:
        """Return the modes of the terminal."""
        return list(termios.tcgetattr(self._slave))

    def _set_size(self) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", self.size[1], self.size[0], 0, 0))

    def _read(self, timeout: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, timeout))
        if ready:
            self.output += os.read(self._master, 1 << 16).decode(errors="replace")
        return bool(ready)
