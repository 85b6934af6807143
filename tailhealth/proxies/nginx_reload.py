"""Testing and reloading nginx, and knowing that it did: its own signal says success whatever becomes of it (case 112)."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tailhealth.proxies.base import Fatal, Forbidden, Refused, Retryable, Unloadable
from tailhealth.proxies.nginx_process import Process, master, open_logs, workers

EVERY = 0.02
"""Seconds between two looks at nginx's processes, which offer nothing to wait on."""
RETRIES_END = 1.5
"""Seconds without a further error after which a reload has failed: nginx tries to bind an address every half second."""
LONGEST = 1 << 20
"""Bytes of an error log that are read for nginx's words."""

_PATH = re.compile(r"configuration file (\S.*?) (?:syntax is ok|test is successful|test failed)")
_LEVEL = re.compile(r"\[(?:emerg|alert|crit|error)\] .*")
_NOT_RUNNING = re.compile(r"invalid PID number|\.pid\" failed \(2:|kill\(\d+, \d+\) failed \(3:")
_HOST = "host not found"
"""Words of an error that ends by itself when the name server answers."""


class Setup(msgspec.Struct, frozen=True):
    """How to reach an nginx (DESIGN section 9, `[proxy]`)."""

    include: dict[str, str]
    """For each upstream block the file with its `server` lines."""
    test: tuple[str, ...] = ("nginx", "-t")
    reload: tuple[str, ...] = ("nginx", "-s", "reload")
    pid: str = "/run/nginx.pid"
    timeout: float = 10.0
    """Seconds that each command, and the new workers after a reload, may take."""


class Verdict(msgspec.Struct, frozen=True):
    """What nginx says of its configuration as it stands in its files."""

    good: bool
    words: str
    """Its own, if it is not good."""
    path: str | None
    """The main configuration file; None: the command did not name it."""


def asked(setup: Setup) -> Verdict:
    """Ask nginx whether its configuration is good, as it stands in its files.

    Raises:
        Retryable: It did not end in time.
        Fatal: The command can't be run.
    """
    code, output = _run("test", setup.test, setup.timeout)
    path = _PATH.search(output)
    return Verdict(code == 0, words(output), path[1] if path else None)


def unloadable(verdict: Verdict, what: str) -> Unloadable:
    """Make an error of a failed test that is not about our change, in nginx's own words."""
    return Unloadable(f"{what}: {verdict.words} (mend that, and see that `nginx -t` succeeds)")


def refused(verdict: Verdict, what: str) -> Refused | Unloadable:
    """Make an error of a test that fails with our change, in nginx's own words."""
    return unloadable(verdict, what) if _HOST in verdict.words else Refused(f"{what}: {verdict.words}")


def reload(setup: Setup) -> str:
    """Let nginx load its configuration, and see that it did: new workers are there, and the old ones are told to go.

    Returns:
        What happened, for the journal. An nginx that does not run will read its files when it starts: that is no error.

    Raises:
        Unloadable: It keeps the old configuration, although its test succeeded; its own words say why.
        Retryable: Neither new workers nor an error came in time.
        Forbidden, Fatal: The command failed, or can't be seen to have worked.
    """
    running = master(setup.pid)
    if running is None and not runs(setup):
        return "nginx does not run, and will read the file when it starts"
    if running is None:
        raise Retryable("nginx was started while its file was changed")
    before = workers(running).current
    logs = {path: _size(path) for path in open_logs(running)}
    code, output = _run("reload", setup.reload, setup.timeout)
    if code != 0:
        raise _failed(setup, output)
    _see(setup, running, before, logs)
    leaving = len(workers(running).leaving - before)
    return "reloaded" + (f", {leaving} old workers of earlier reloads still finish requests" if leaving else "")


def words(output: str) -> str:
    """Find what nginx says in what it prints: its first error, else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [found[0] for line in lines if (found := _LEVEL.search(line))]
    return (errors or lines[-1:] or ["no further words"])[0][:500]


def runs(setup: Setup) -> bool:
    """Tell whether nginx runs, and can be seen to.

    Where its pid file names no master, only its own words are proof that it does not run.

    Raises:
        Fatal: It runs, and `pid` does not name it: no reload could be seen to have worked.
        Retryable, Forbidden: The command says neither.
    """
    if master(setup.pid) is not None:
        return True
    code, output = _run("reload", setup.reload, setup.timeout)
    if code != 0 and _NOT_RUNNING.search(output):
        return False
    if code != 0:
        raise _failed(setup, output)
    if master(setup.pid) is not None:
        return True
    raise Fatal(
        f"no reload can be seen to have worked: {setup.pid} names no running nginx: set `pid` of [proxy] to its pid file"
    )


def _failed(setup: Setup, output: str) -> Forbidden | Fatal:
    said = f"{' '.join(setup.reload)}: {words(output)}"
    if "(1: " in said or "(13: " in said:
        return Forbidden(f"{said} (tailhealth must run as root, or `reload` of [proxy] must be a command that it may run)")
    return Fatal(f"{said} (see `reload` of [proxy])")


def _see(setup: Setup, running: Process, before: frozenset[Process], logs: dict[Path, int]) -> None:
    """Wait until nothing but new workers takes connections, or the error log says why not."""
    pause, end = threading.Event(), time.monotonic() + setup.timeout
    errors: list[str] = []
    while True:
        now = workers(running).current
        if now and not now & before:
            return
        if master(setup.pid) is None:
            raise Retryable("nginx ended while it was told to reload")
        found = _errors(running, logs)
        if found != errors:
            errors, end = found, min(end, time.monotonic() + RETRIES_END)
        if time.monotonic() > end:
            break
        pause.wait(EVERY)
    if errors:
        raise Unloadable(f"nginx keeps its old configuration: {errors[-1] if 'still' in errors[-1] else errors[0]}")
    raise Retryable(f"no new workers of nginx came within {setup.timeout:g} s, and no error in its log: look into it")


def _errors(running: Process, logs: dict[Path, int]) -> list[str]:
    """Find what the master complains of since the reload began."""
    pattern = re.compile(rf"\[emerg\] {running.pid}#\d+: (.*)")
    return [f"[emerg] {found[1]}" for path, begin in logs.items() for found in pattern.finditer(_since(path, begin))]


def _since(path: Path, begin: int) -> str:
    try:
        with path.open("rb") as file:
            file.seek(begin)
            return file.read(LONGEST).decode("utf-8", "replace")
    except OSError:
        # It was moved away meanwhile: then there is nothing to say.
        return ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _run(key: str, command: Sequence[str], timeout: float) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Retryable(f"{' '.join(command)} did not end within {timeout:g} s") from error
    except OSError as error:
        raise Fatal(f"{command[0]}: {error.strerror}: set `{key}` of [proxy] to a command that tailhealth can run") from error
    return done.returncode, done.stdout.decode("utf-8", "replace")
