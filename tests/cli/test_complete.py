"""Shell completion: upstreams and pools from a running controller, silence without one, and a real bash that uses it."""

from __future__ import annotations

import os
import shutil
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from tailhealth.cli import main
from tailhealth.cli._complete import PATIENCE
from tailhealth.core.view import Standing
from tailhealth.service.control import SOCKET, ControlServer, Reply, Request
from tailhealth.service.state import DRY_RUN
from tests.cli.pseudo import DEADLINE, SEQUENCE, Pseudo
from tests.service.told import status
from tests.views.build import pool, upstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES = ("10.0.0.1:11434", "10.0.0.2:11434")
OTHER = "unix//run/app.sock"
STATUS = status(
    pool(upstream(NODES[0]), upstream(NODES[1], standing=Standing.OUT), name="chat"),
    pool(upstream(OTHER), upstream("10.0.0.9:1\nspoofed"), name="files"),
)


def told(request: Request) -> Future[Reply]:
    """Answer as a controller that is asked for its state."""
    assert request == Request("status")
    future: Future[Reply] = Future()
    future.set_result(Reply(ok=True, data=msgspec.to_builtins(STATUS)))
    return future


def silent(_: Request) -> Future[Reply]:
    """Never answer."""
    return Future()


def odd(_: Request) -> Future[Reply]:
    """Answer as a controller of another version."""
    future: Future[Reply] = Future()
    future.set_result(Reply(ok=True, data={"view": {"pools": [{"names": 1}]}}))
    return future


def configured(folder: Path) -> str:
    """Write a configuration with this state directory."""
    path = folder / "tailhealth.toml"
    path.write_text(f'[state]\ndir = "{folder}"\n', encoding="utf-8")
    return str(path)


@pytest.fixture
def config(tmp_path: Path) -> Iterator[str]:
    """The configuration of a controller that runs."""
    with ControlServer(tmp_path, told):
        yield configured(tmp_path)


def completed(*words: str) -> list[str]:
    """Return what is offered for the last word."""
    shell = ShellComplete(main, {}, "tailhealth", "_TAILHEALTH_COMPLETE")
    return [one.value for one in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize("words", [["eject"], ["readmit"], ["pin", "in"], ["pin", "out"], ["unpin"], ["explain"]])
def test_upstreams(config: str, words: list[str]) -> None:
    """Each command on an upstream offers those that begin so; a name that is no single word is left out."""
    name, *rest = words

    assert completed(name, "-c", config, *rest, "") == [*NODES, OTHER]
    assert completed(name, "-c", config, *rest, "10.0.0.2") == [NODES[1]]
    assert completed(name, "-c", config, *rest, "10.0.0.2:1") == [NODES[1]]
    assert completed(name, "-c", config, *rest, "10.0.0.3") == []


def test_upstreams_of_a_pool(config: str) -> None:
    """With `--pool`, only its own; an option's value that is wrong does not get into the way."""
    assert completed("eject", "-c", config, "--pool", "files", "") == [OTHER]
    assert completed("eject", "-c", config, "--for", "nonsense", "--pool", "chat", "") == [*NODES]


def test_pools(config: str) -> None:
    """Pools are offered as arguments and as the value of `--pool`."""
    assert completed("pause", "-c", config, "") == ["chat", "files"]
    assert completed("resume", "-c", config, "f") == ["files"]
    assert completed("eject", "-c", config, "--pool", "c") == ["chat"]


def test_where_they_stand(config: str) -> None:
    """Zsh and fish show beside the name where an upstream stands."""
    shell = ShellComplete(main, {}, "tailhealth", "_TAILHEALTH_COMPLETE")

    assert [one.help for one in shell.get_completions(["readmit", "-c", config], "10.")] == ["serving", "out"]


def test_a_dry_run_is_asked_where_no_other_runs(tmp_path: Path) -> None:
    """`explain` works with a dry run, and so does its completion."""
    (tmp_path / DRY_RUN).mkdir()
    with ControlServer(tmp_path / DRY_RUN, told):
        assert completed("explain", "-c", configured(tmp_path), "10.0.0.1") == [NODES[0]]


def test_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No controller, one that died, one of another version, a wrong configuration, none at all: nothing is offered or said."""
    path = configured(tmp_path)
    assert completed("eject", "-c", path, "") == []
    (tmp_path / SOCKET).write_text("left over", encoding="utf-8")
    assert completed("eject", "-c", path, "") == []
    with ControlServer(tmp_path, odd):
        assert completed("eject", "-c", path, "") == []
    Path(path).write_text("[stat]\n", encoding="utf-8")
    assert completed("eject", "-c", path, "") == []
    assert completed("eject", "-c", str(tmp_path / "missing.toml"), "") == []
    assert capfd.readouterr() == ("", "")


def test_it_does_not_wait_for_long(tmp_path: Path) -> None:
    """A controller that does not answer keeps nobody waiting at the prompt."""
    with ControlServer(tmp_path, silent):
        before = time.monotonic()
        assert completed("eject", "-c", configured(tmp_path), "") == []
        assert PATIENCE <= time.monotonic() - before < PATIENCE + 10


needs_bash = [pytest.mark.outside, pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")]


@pytest.mark.parametrize("shell", [pytest.param("bash", marks=needs_bash), "zsh", "fish"])
def test_each_shell_has_its_script(shell: str) -> None:
    """The lines of the reference print what the shell reads, under the name of the command; bash is asked for its version."""
    result = CliRunner().invoke(main, env={"_TAILHEALTH_COMPLETE": f"{shell}_source"}, prog_name="tailhealth")

    assert result.exit_code == 0
    assert "_TAILHEALTH_COMPLETE" in result.output
    assert f"{shell}_complete" in result.output


@pytest.mark.parametrize(
    ("shell", "current", "expected"),
    [("zsh", "4", "plain\n10.0.0.2\\:11434\nout\n"), ("fish", "10.0.0.2", "plain,10.0.0.2:11434\tout\n")],
)
def test_what_the_others_read(config: str, shell: str, current: str, expected: str) -> None:
    """The colon of an upstream is escaped for zsh, and fish gets where it stands behind a tab."""
    env = {
        "_TAILHEALTH_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": f"tailhealth readmit -c {config} 10.0.0.2",
        "COMP_CWORD": current,
    }

    assert CliRunner().invoke(main, env=env, prog_name="tailhealth").output == expected


SETUP = 'eval "$(_TAILHEALTH_COMPLETE=bash_source tailhealth)"; COMP_WORDBREAKS=${COMP_WORDBREAKS//:}'


class Bash:
    """A bash at a prompt that knows the completion of `tailhealth`."""

    def __init__(self, terminal: Pseudo) -> None:
        self._terminal = terminal

    def until(self, condition: Callable[[str], bool]) -> None:
        """Wait until what was printed fulfils a condition."""
        end = time.monotonic() + DEADLINE
        while not condition(SEQUENCE.sub("", self._terminal.output).replace("\r", "")):
            assert time.monotonic() < end, self._terminal.output
            self._terminal._read(0.5)

    def types(self, keys: str) -> None:
        """Type keys."""
        self._terminal.press(keys)


@pytest.mark.outside
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_real_bash(config: str) -> None:
    """As the reference says it is set up: a tab completes the command, the upstream over its colon, and an option."""
    scripts = Path(sys.executable).parent
    if not (scripts / "tailhealth").exists():
        pytest.skip("the command is not installed beside this Python")
    environment = {"PATH": f"{scripts}:{os.environ['PATH']}", "PS1": "ready> ", "HISTFILE": None}
    code = "import os; os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])"
    with Pseudo(size=(200, 24), environment=environment, command=["-c", code]) as terminal:
        bash = Bash(terminal)
        bash.types(f"{SETUP}; echo set' up'\n")
        bash.until(lambda seen: "\nset up" in seen)
        bash.types(f"tailhealth readm\t-c {config} 10.0.0.2:1\t--wh\t")
        bash.until(lambda seen: f"tailhealth readmit -c {config} {NODES[1]} --why " in seen)
