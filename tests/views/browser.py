"""A headless Chromium, driven over a pipe by the DevTools protocol: no port, no driver program, no library."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""None: no Chromium is installed."""
PATIENCE = 40.0
"""Seconds that something in a page may take; machines may be busy."""
_FLAGS = (
    "--headless", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe", "--window-size=1280,1000",
    "--disable-dev-shm-usage",
)  # fmt: skip
_DOMAINS = ("Page", "Runtime", "Log", "Network")


class Browser:
    """A Chromium with an empty profile and one page.

    Args:
        flags: More options of its command line.
    """

    def __init__(self, *flags: str) -> None:
        assert PROGRAM is not None
        self.events: list[dict[str, Any]] = []
        """What the page told since it was opened, the oldest first."""
        self._profile = tempfile.mkdtemp(prefix="tailhealth-browser-")
        self.at = ""
        """Address of the page."""
        self._unread = b""
        self._number = 0
        self._session: str | None = None
        root = ("--no-sandbox",) if os.geteuid() == 0 else ()
        self._spawn([PROGRAM, *_FLAGS, *root, *flags, f"--user-data-dir={self._profile}", "about:blank"])

    def _spawn(self, arguments: list[str]) -> None:
        """Start it with our pipes as its descriptors 3 and 4, in a process group of its own."""
        their_input, self._input = os.pipe()
        self._output, their_output = os.pipe()
        # Out of the way of the numbers that they get in the child.
        high = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 20) for one in (their_input, their_output)]
        nowhere = os.open(os.devnull, os.O_RDWR)
        actions = [(os.POSIX_SPAWN_DUP2, old, new) for old, new in ((high[0], 3), (high[1], 4), (nowhere, 1), (nowhere, 2))]
        try:
            self._process = os.posix_spawn(arguments[0], arguments, os.environ, file_actions=actions, setpgroup=0)
        finally:
            for one in (their_input, their_output, *high, nowhere):
                os.close(one)

    def __enter__(self) -> Self:
        """Open the page."""
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in _DOMAINS:
                self.call(f"{domain}.enable")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        """End it with all its processes, and leave nothing behind."""
        os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        os.close(self._input)
        os.close(self._output)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._input, data) :]
        deadline = time.monotonic() + PATIENCE + 10.0
        while (answer := self._read(deadline)).get("id") != self._number:
            if "method" in answer:
                self.events.append(answer)
        assert "error" not in answer, f"{method}: {answer}"
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready = select.select([self._output], [], [], max(0.0, deadline - time.monotonic()))[0]
            assert ready, "the browser does not answer"
            data = os.read(self._output, 1 << 20)
            assert data, "the browser has ended"
            self._unread += data
        one, self._unread = self._unread.split(b"\0", 1)
        found: dict[str, Any] = json.loads(one)
        return found

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript condition holds."""
        assert self.comes(condition, PATIENCE), f"did not happen: {condition}"

    def comes(self, condition: str, within: float) -> bool:
        """Tell whether a JavaScript condition holds within so many seconds."""
        return bool(
            self.evaluate(
                "new Promise((done) => { const start = Date.now(); const look = () => {"
                f"if ({condition}) done(true); else if (Date.now() - start > {within * 1000}) done(false);"
                "else setTimeout(look, 50); }; look(); })"
            )
        )

    def open(self, path: Path) -> None:
        """Open a file and wait until its plots are drawn."""
        self.events.clear()
        self.at = path.absolute().as_uri()
        self.call("Page.navigate", url=self.at)
        self.wait("document.readyState === 'complete' && document.querySelector('details.figure[data-drawn]')")

    def prefer(self, scheme: str) -> None:
        """Prefer `light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def move_mouse(self, x: float, y: float) -> None:
        """Move the mouse to a place of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def requests(self) -> list[str]:
        """Return the addresses of all that the page asked for."""
        return [one["params"]["request"]["url"] for one in self.events if one["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """Return errors of the page: exceptions, what it logged as an error, what its policy refused."""
        found = []
        for one in self.events:
            about = one.get("params", {})
            if one["method"] == "Runtime.exceptionThrown":
                found.append(str(about["exceptionDetails"]))
            elif one["method"] == "Log.entryAdded" and about["entry"]["level"] == "error":
                found.append(str(about["entry"]["text"]))
            elif one["method"] == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
                found.append(str(about["args"]))
        return found
