"""nginx's processes as `/proc` shows them: which master runs, with which workers, and how many old ones still end requests."""

from __future__ import annotations

from pathlib import Path

import msgspec

PROC = Path("/proc")
_MASTER, _WORKER, _LEAVING = "nginx: master process", "nginx: worker process", "nginx: worker process is shutting down"


class Process(msgspec.Struct, frozen=True):
    """A process that can't be taken for a later one with the same number."""

    pid: int
    started: int
    """Clock ticks after boot."""


class Workers(msgspec.Struct, frozen=True):
    """The workers of a master."""

    current: frozenset[Process]
    """Those that take new connections."""
    leaving: frozenset[Process]
    """Those that a reload told to go, and that still have requests to finish (case 113)."""


def master(pid_file: str) -> Process | None:
    """Find the running master; None: the file names none, or nginx does not run."""
    try:
        pid = int(Path(pid_file).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    one = _process(pid)
    return one if one is not None and _title(pid).startswith(_MASTER) else None


def workers(of: Process) -> Workers:
    """Find the workers of a master, old ones included."""
    current, leaving = [], []
    for pid in _children(of.pid):
        title, one = _title(pid), _process(pid)
        if one is None:
            continue
        if title == _LEAVING:
            leaving.append(one)
        elif title == _WORKER:
            current.append(one)
    return Workers(frozenset(current), frozenset(leaving))


def open_logs(of: Process) -> list[Path]:
    """Name the files that a master has open for writing, its error logs among them; empty if that may not be seen."""
    found: dict[Path, None] = {}
    try:
        for one in (PROC / str(of.pid) / "fd").iterdir():
            target = one.readlink()
            if one.lstat().st_mode & 0o200 and target.is_absolute() and target.is_file():
                found[target] = None
    except OSError:
        return list(found)
    return list(found)


def _children(pid: int) -> list[int]:
    try:
        return [int(one) for one in (PROC / str(pid) / "task" / str(pid) / "children").read_bytes().split()]
    except FileNotFoundError:
        # Some kernels are built without that file.
        return [int(one.name) for one in PROC.iterdir() if one.name.isdigit() and _parent(int(one.name)) == pid]
    except OSError:
        return []


def _fields(pid: int) -> list[bytes]:
    """Read the fields of `stat` that follow the name, which may hold anything."""
    try:
        return (PROC / str(pid) / "stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return []


def _parent(pid: int) -> int:
    fields = _fields(pid)
    return int(fields[1]) if fields else 0


def _process(pid: int) -> Process | None:
    fields = _fields(pid)
    return Process(pid, int(fields[19])) if fields and fields[0] != b"Z" else None


def _title(pid: int) -> str:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0").decode("utf-8", "replace").split("\0")[0].strip()
    except OSError:
        return ""
