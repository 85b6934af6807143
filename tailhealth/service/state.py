"""The state file: what must survive a crash, written before the proxy is touched (DESIGN section 8).

One controller per state directory: a lock says so. The file is replaced as a whole: written beside, synced, renamed, and the
directory synced, so that a crash leaves the old one or the new one. A file that can't be read is set aside and nothing is done
by guess: the proxy's marks then belong to nobody that this controller knows.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import msgspec

from tailhealth.core.model import Carried, Paused
from tailhealth.proxies.base import MARK, Entry, UpstreamState

if TYPE_CHECKING:
    from types import TracebackType

VERSION = 1
FILE, LOCK = "state.json", "lock"
DRY_RUN = "dry-run"
"""State and journal of a dry run stand in a folder of their own: it must not disturb what a real run left."""

Listing: TypeAlias = tuple[tuple[int, int | None], ...]
"""A list of upstreams as (index in the original, limit) of each."""


class StateError(Exception):
    """The state directory can't be used; the text names it and the remedy."""


class Kept(msgspec.Struct, frozen=True):
    """The operator's list of a place in which something is out or limited, and the lists that we left or meant to leave."""

    key: str
    mark: str | None
    """None: every listed upstream has an id of its own, or the proxy needs no mark."""
    pool: str
    original: tuple[Entry, ...]
    """The operator's list: objects, places, limits and weights."""
    left: Listing
    """What the proxy lists, as last read back."""
    aim: Listing | None = None
    """What it shall list after a change whose outcome is not confirmed."""
    generation: str = ""
    """The load of the proxy's configuration that it was true for; see `Place`."""


class Wish(msgspec.Struct, frozen=True):
    """How an upstream of a pool shall stand, from the decisions."""

    state: UpstreamState
    at: float = 0.0
    until: float | None = None
    """When an ejection ends by itself; to be shown, the decision comes from the engine."""
    why: str = ""
    max_in_flight: int = 1
    """The limit of a limited upstream."""
    good_peers: tuple[str, ...] | None = None
    """Of a limit: the pool's other upstreams whose latest outcome is not bad; None: all of them. See DESIGN section 6."""


class Wished(msgspec.Struct, frozen=True):
    """A wish with its upstream; serving is not written down."""

    pool: str
    upstream: str
    wish: Wish


class Contents(msgspec.Struct, frozen=True):
    """What the file holds."""

    token: str
    """Tells this controller's marks from those of others."""
    v: int = VERSION
    serial: int = 0
    """Number of the latest mark."""
    kept: tuple[Kept, ...] = ()
    retired: tuple[Kept, ...] = ()
    """The latest records that no place answered to any more, newest first: a change that hung on its way for minutes, or a
    configuration that was saved with our mark, may bring their mark back."""
    wished: tuple[Wished, ...] = ()
    carried: tuple[Carried, ...] = ()
    """What the engine needs back after a restart."""
    paused: tuple[Paused, ...] = ()
    positions: dict[str, Any] = {}
    """How far the log files are read; the followers know what it means."""

    def remembered(self) -> dict[tuple[str, str], Wish]:
        """Return what was desired last, by pool and upstream.

        What the engine carries is written first, when it decides, and the wish that follows from it with the change. After a
        crash between the two the engine's memory is the newer one.
        """
        carried = {(one.pool, one.upstream): one for one in self.carried}
        found = {}
        for one in self.wished:
            memory = carried.get((one.pool, one.upstream))
            if memory is None:
                found[one.pool, one.upstream] = one.wish
            elif memory.ejection is not None:
                ejection = memory.ejection
                newer = Wish(UpstreamState.OUT, ejection.since, ejection.until, ejection.why or ejection.reason.value)
                found[one.pool, one.upstream] = one.wish if one.wish.state is UpstreamState.OUT else newer
            elif memory.probation_since is not None and one.wish.state is UpstreamState.LIMITED:
                found[one.pool, one.upstream] = one.wish
        return found

    def mark(self, serial: int) -> str:
        """Name a mark."""
        return f"{MARK}{self.token}-{serial}"

    def known_pools(self) -> dict[str, list[str]]:
        """Return what it tells of pools and their upstreams, by name: a pool may have got another name meanwhile."""
        pools: dict[str, list[str]] = {one.pool: [entry.address for entry in one.original] for one in self.kept}
        for wished in self.wished:
            pools.setdefault(wished.pool, []).append(wished.upstream)
        return pools

    def owns(self, mark: str) -> bool:
        """Tell whether a mark is one of ours."""
        return mark.startswith(f"{MARK}{self.token}-")


class _Version(msgspec.Struct):
    v: int


class State:
    """A state directory that this process holds.

    Change the contents with `update`, which writes them before it returns, or with `note` where it is enough that they are
    written before anything that comes later. Threads may share it, as long as each changes fields of its own.
    """

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self.set_aside: Path | None = None
        """Where a file that could not be read was moved to."""
        self._lock = lock
        self._writing = Lock()
        self.contents = self._read() or Contents(token=secrets.token_hex(4))
        self._written = self.contents

    @classmethod
    def open(cls, folder: Path) -> State:
        """Lock a state directory and read its file; a directory that is missing is made.

        Raises:
            StateError: Another controller holds it, it can't be written, or its file is of a newer version.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StateError(f"{folder}: {error.strerror}: set [state] dir to a directory that can be written") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 20).decode("ascii", "replace").strip()
            os.close(lock)
            raise StateError(f"{folder}: process {holder or 'unknown'} runs on this state directory: stop it first") from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        with ExitStack() as held:
            held.callback(os.close, lock)
            opened = cls(folder, lock)
            held.pop_all()
        return opened

    def update(self, **changes: Any) -> None:
        """Replace fields of the contents, durably, along with all that was noted; nothing is written if nothing changes.

        Raises:
            StateError: The file can't be written. The contents in memory are then what they were.
        """
        with self._writing:
            contents = msgspec.structs.replace(self.contents, **changes)
            if contents != self.contents:
                self._write(contents)
                self.contents = contents

    def note(self, **changes: Any) -> None:
        """Replace fields of the contents in memory: the next change that is written takes them along."""
        with self._writing:
            self.contents = msgspec.structs.replace(self.contents, **changes)

    def sync(self) -> None:
        """Write what was noted, if it is not written yet.

        Raises:
            StateError: The file can't be written. It stays noted.
        """
        with self._writing:
            if self.contents != self._written:
                self._write(self.contents)

    def close(self) -> None:
        """Give the directory back."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _read(self) -> Contents | None:
        path = self.folder / FILE
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"{path}: {error.strerror}: it must be readable by the user that runs tailhealth") from error
        try:
            if (version := msgspec.json.decode(text, type=_Version).v) > VERSION:
                raise StateError(
                    f"{path}: version {version} is of a newer tailhealth: run that one, or set another [state] dir"
                )
            return msgspec.json.decode(text, type=Contents)
        except msgspec.DecodeError:
            self.set_aside = self._aside(path)
            return None

    @staticmethod
    def _aside(path: Path) -> Path:
        number = 1
        while (target := path.with_name(f"{path.name}.broken-{number}")).exists():
            number += 1
        path.rename(target)
        return target

    def _write(self, contents: Contents) -> None:
        path = self.folder / FILE
        text = msgspec.json.encode(contents)
        beside = path.with_name(f"{FILE}.new")
        try:
            with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise StateError(f"{path}: {error.strerror}: nothing is changed in the proxy while it can't be written") from error
        self._written = contents
