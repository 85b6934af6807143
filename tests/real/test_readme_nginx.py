"""What the README says of nginx, done on a real one: files, configuration, check, a dry run, an ejection that is taken back."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tailhealth.service.control import is_there
from tests.real.caddy import until
from tests.real.clients import asking
from tests.real.nginx import Nginx
from tests.real.servers import Upstream, upstreams
from tests.real.test_readme import BLOCKS, DEADLINE, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.real


class Setup:
    """The README's nginx with its files and tailhealth's configuration, in a folder and on loopback."""

    def __init__(self, folder: Path, nodes: list[Upstream]) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.log = folder / "tailhealth.log"
        self.servers = folder / "tailhealth" / "chat.conf"
        self.nodes = nodes
        self.proxy = Nginx(folder, self.adapted(BLOCKS["nginx-site"]).replace("listen 80;", "listen 127.0.0.1:$PORT;"))

    def adapted(self, text: str) -> str:
        """Put our paths and addresses in the place of the README's."""
        for number, node in enumerate(self.nodes, 1):
            text = text.replace(f"10.0.0.{number}:11434", node.address)
        for old, new in (
            ("/etc/nginx/tailhealth", self.folder / "tailhealth"),
            ("/var/log/nginx/tailhealth.log", self.log),
            (" tailhealth.toml", f" {self.folder / 'tailhealth.toml'}"),
        ):
            text = text.replace(old, str(new))
        return text

    def copy_files(self) -> None:
        """Do what the README says, in a clone of the repository, and write our addresses into the file."""
        for line in self.adapted(BLOCKS["nginx-files"]).splitlines():
            subprocess.run(shlex.split(line), cwd=ROOT, check=True, timeout=DEADLINE)
        self.servers.write_text(self.adapted(self.servers.read_text(encoding="utf-8")), encoding="utf-8")

    def write_config(self) -> None:
        """Write the README's configuration, with the way to this nginx: its own is not the system's."""
        own = (
            f"test = {self.proxy.command('-t')}\nreload = {self.proxy.command('-s', 'reload')}\n"
            f'pid = "{self.folder / "nginx.pid"}"\nmin_apply_interval = "100ms"\ninclude = '
        )
        text = self.adapted(BLOCKS["nginx-config"]).replace("include = ", own)
        (self.folder / "tailhealth.toml").write_text(text, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """No command writes into the home directory of whoever runs the tests."""
        return {**os.environ, "STATE_DIRECTORY": str(self.state)}

    def command(self, line: str) -> list[str]:
        """Return a command line of the README as we run it."""
        return [sys.executable, "-m", *shlex.split(self.adapted(line))]

    @contextmanager
    def running(self, line: str, state: Path) -> Iterator[None]:
        """Run the controller until the end of the block; it must end in order."""
        with subprocess.Popen(
            self.command(line), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=self.environment
        ) as process:
            try:
                until(lambda: is_there(state), "the controller", DEADLINE)
                yield
            finally:
                process.terminate()
                output, _ = process.communicate(timeout=DEADLINE)
            assert process.returncode == 0, output


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[Setup]:
    """The README's nginx, with clients and four nodes that answer."""
    with ExitStack() as stack:
        nodes = stack.enter_context(upstreams(4))
        made = Setup(tmp_path, nodes)
        made.copy_files()
        made.write_config()
        made.proxy.start()
        stack.callback(made.proxy.stop)
        stack.enter_context(asking(f"http://127.0.0.1:{made.proxy.port}/api/chat", count=2, patience=5.0))
        until(lambda: made.log.exists() and made.log.stat().st_size > 20_000, "some traffic", DEADLINE)
        yield made


def test_step_by_step(setup: Setup) -> None:
    """`check` finds nothing, a dry run leaves the file alone, a real one takes a server out and puts it back when it ends."""
    check, dry, real = BLOCKS["nginx-run"].splitlines()
    done = subprocess.run(
        setup.command(check), capture_output=True, text=True, timeout=DEADLINE, env=setup.environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all well" in done.stdout

    original = setup.servers.read_bytes()
    with setup.running(dry, setup.state / "dry-run"):
        assert setup.servers.read_bytes() == original

    sick = setup.nodes[0].address
    with setup.running(real, setup.state):
        eject = setup.command(f"tailhealth eject {sick} -c tailhealth.toml")
        until(
            lambda: subprocess.run(eject, capture_output=True, env=setup.environment, check=False).returncode == 0,
            "the order to be taken",
            DEADLINE,
        )
        until(lambda: f"server {sick} max_fails=0 down;" in setup.servers.read_text(), "the server to be down", DEADLINE)
    assert setup.servers.read_bytes() == original
