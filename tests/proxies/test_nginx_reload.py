"""nginx's commands and words, with commands that play nginx; a real one is in tests/real."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tailhealth.proxies.base import Fatal, Forbidden, Refused, Retryable
from tailhealth.proxies.nginx_process import Process, master, open_logs, workers
from tailhealth.proxies.nginx_reload import Setup, Verdict, asked, refused, reload, runs, words

GOOD = (
    "nginx: the configuration file /etc/my nginx/nginx.conf syntax is ok\n"
    "nginx: configuration file /etc/my nginx/nginx.conf test is successful\n"
)
BAD = (
    "nginx: [warn] conflicting server name\n"
    'nginx: [emerg] host not found in upstream "app3.internal" in /etc/nginx/nginx.conf:12\n'
    "nginx: configuration file /etc/nginx/nginx.conf test failed\n"
)


def says(text: str, code: int = 0) -> tuple[str, ...]:
    """Return a command that prints a text to standard error and ends with a code."""
    return (sys.executable, "-S", "-c", f"import sys; sys.stderr.write({text!r}); sys.exit({code})")


def setup(**keys: object) -> Setup:
    """Return a setup whose pid file is not there."""
    return Setup(include={}, **({"pid": "/nonexistent/nginx.pid"} | keys))  # type: ignore[arg-type] # keys of a test


@pytest.mark.outside
def test_a_test_that_is_good_names_the_configuration() -> None:
    """The path is where nginx says it is, blanks included."""
    assert asked(setup(test=says(GOOD))) == Verdict(
        good=True,
        words="nginx: configuration file /etc/my nginx/nginx.conf test is successful",
        path="/etc/my nginx/nginx.conf",
    )


@pytest.mark.outside
def test_a_test_that_fails_says_why() -> None:
    """The first error is the reason, not the warning before it nor the summary after it."""
    found = asked(setup(test=says(BAD, 1)))
    assert found.words == '[emerg] host not found in upstream "app3.internal" in /etc/nginx/nginx.conf:12'
    assert (found.good, found.path) == (False, "/etc/nginx/nginx.conf")


@pytest.mark.parametrize(
    ("output", "expected"), [("", "no further words"), ("a\n\n b \n", "b"), ("x: [crit] y\nz", "[crit] y")]
)
def test_words(output: str, expected: str) -> None:
    """Even a command that says nothing has words."""
    assert words(output) == expected


@pytest.mark.outside
def test_names_that_do_not_resolve_may_resolve_later() -> None:
    """All other errors are the configuration's."""
    assert isinstance(refused(asked(setup(test=says(BAD, 1))), "x"), Retryable)
    assert isinstance(refused(asked(setup(test=says("nginx: [emerg] unknown directive", 1))), "x"), Refused)


@pytest.mark.outside
def test_a_command_that_is_not_there_or_does_not_end() -> None:
    """Both name the key of the configuration or the command."""
    with pytest.raises(Fatal, match="set `test` of"):
        asked(setup(test=("/nonexistent/nginx", "-t")))
    endless = (sys.executable, "-S", "-c", "import sys; sys.stdin.read(); import threading; threading.Event().wait(30)")
    with pytest.raises(Retryable, match=r"did not end within 0\.2 s"):
        asked(setup(test=endless, timeout=0.2))


@pytest.mark.outside
@pytest.mark.parametrize(
    "text",
    [
        'nginx: [error] open() "/run/nginx.pid" failed (2: No such file or directory)\n',
        'nginx: [error] invalid PID number "" in "/run/nginx.pid"\n',
        "nginx: [alert] kill(4711, 1) failed (3: No such process)\n",
    ],
)
def test_an_nginx_that_does_not_run_needs_no_reload(text: str) -> None:
    """Its own words are the proof; it will read its files when it starts."""
    down = setup(reload=says(text, 1))
    assert not runs(down)
    assert "when it starts" in reload(down)


@pytest.mark.outside
@pytest.mark.parametrize(
    ("text", "code", "error", "said"),
    [
        ("nginx: [alert] kill(1, 1) failed (1: Operation not permitted)", 1, Forbidden, "not permitted.*run as root"),
        ('nginx: [error] open() "/run/nginx.pid" failed (13: Permission denied)', 1, Forbidden, "denied"),
        ("sudo: a password is required", 1, Fatal, "password is required.*see `reload`"),
        ("", 0, Fatal, "set `pid` of"),
    ],
)
def test_a_reload_that_can_not_be_made_or_seen(text: str, code: int, error: type[Exception], said: str) -> None:
    """The reason and the remedy are named before anything is changed."""
    with pytest.raises(error, match=said):
        runs(setup(reload=says(text, code)))


def test_a_pid_file_that_names_something_else(tmp_path: Path) -> None:
    """Only a master process of nginx is one."""
    path = tmp_path / "nginx.pid"
    assert master(str(path)) is None
    for text in ("", "x", str(os.getpid()), "999999999", "1"):
        path.write_text(text)
        assert master(str(path)) is None


def test_processes_without_nginx() -> None:
    """This process has no workers of nginx; one that is gone has nothing at all."""
    me = Process(os.getpid(), 0)
    assert workers(me).current == workers(me).leaving == frozenset()
    assert open_logs(Process(999_999_999, 0)) == []


def test_open_logs_are_files_that_are_written(tmp_path: Path) -> None:
    """Files that are only read are none."""
    with (tmp_path / "error.log").open("w"), (tmp_path / "read").open("w+") as both, (tmp_path / "read").open():
        found = open_logs(Process(os.getpid(), 0))
        assert tmp_path / "error.log" in found
        assert Path(both.name) in found
    with (tmp_path / "read").open():
        assert tmp_path / "read" not in open_logs(Process(os.getpid(), 0))
