"""The journal: what went into the engine besides the log, what came out, and what was done to the proxy, as JSON lines.

Each record is one object with `"v": 1`, its `"type"` and `"at"`. With the log files it repeats a run exactly (DESIGN
section 2). Nothing of a client is in it: attempts are not journaled, their lines are in the log. A record is handed to the
system in one write before the call returns; it is not synced, so that only a crash of the whole machine can lose it.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from tailhealth.core.model import Blind, Command, Decision, Idle, InFlight, Input, Pools, Reconfigured, Started, Stepped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

VERSION = 1
RECORDED: dict[type[Input], str] = {
    Started: "started",
    InFlight: "in_flight",
    Pools: "pools",
    Blind: "blind",
    Stepped: "stepped",
    Command: "command",
    Reconfigured: "reconfigured",
}
"""Inputs of the engine that are journaled, by the type of their record."""
DECISION, STOPPED = "decision", "stopped"
_INPUTS = {name: kind for kind, name in RECORDED.items()}
_LONGEST = 1 << 26
"""Bytes of a line beyond which it is no record."""


class JournalError(Exception):
    """The journal can't be opened or read; the text names the file and the remedy."""


class Journal:
    """Appends records to a file that only its user may read, and starts a new file when it has grown.

    Threads may share it. A write that fails does not stop the controller: `problem` says why and `lost` counts, until one
    succeeds again.

    Args:
        path: The file; older ones are called `.1` (the newest) to `.<keep>`.
        max_bytes: Size at which a new file begins.
        keep: How many older files stay.

    Raises:
        JournalError: The file can't be opened.
    """

    def __init__(self, path: Path, max_bytes: int = 64 << 20, keep: int = 4) -> None:
        self.path = path
        self.problem = ""
        self.lost = 0
        self.applies: Counter[str] = Counter()
        """Changes of the proxy that were written down, by result: `done` or `failed`."""
        self._max_bytes = max_bytes
        self._keep = keep
        self._lock = Lock()
        try:
            self._file = self._open()
            self._size = os.fstat(self._file).st_size
        except OSError as error:
            raise JournalError(f"{path}: {error.strerror}: the directory must be writable") from error
        self._torn = self._size > 0 and self._last_byte() != b"\n"

    def input(self, value: Input) -> None:
        """Record an input of the engine, unless it is an attempt or a tick: those the log and the clock can repeat."""
        name = RECORDED.get(type(value))
        if name is not None:
            self._write(name, msgspec.to_builtins(value))

    def decision(self, decision: Decision) -> None:
        """Record a decision."""
        self._write(DECISION, msgspec.to_builtins(decision))

    def note(self, kind: str, at: float, /, **fields: Any) -> None:
        """Record what was done or seen: `apply`, `drift`, `restored`, `trouble` and the like.

        Args:
            kind: Type of the record; none of the engine's inputs.
            at: When, in epoch seconds.
            fields: JSON values; nothing of a client.
        """
        if kind == "apply":
            self.applies["done" if "seconds" in fields else "failed"] += 1
        self._write(kind, {"at": at, **fields})

    def stopped(self, at: float) -> None:
        """Record that the run ends, and up to when it looked."""
        self._write(STOPPED, {"at": at})

    def resize(self, max_bytes: int, keep: int) -> None:
        """Begin new files at another size from now on, and keep so many older ones."""
        with self._lock:
            self._max_bytes, self._keep = max_bytes, keep

    def close(self) -> None:
        """Sync and close the file."""
        if self._file >= 0:
            self._sync()
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Journal:  # noqa: PYI034 - the class is not meant to be derived from
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def _last_byte(self) -> bytes:
        return os.pread(self._file, 1, self._size - 1)

    def _write(self, kind: str, fields: dict[str, Any]) -> None:
        text = orjson.dumps({"v": VERSION, "type": kind, **fields}, option=orjson.OPT_APPEND_NEWLINE)
        with self._lock:
            self._append(text)

    def _append(self, text: bytes) -> None:
        try:
            if self._size and self._size + len(text) > self._max_bytes:
                self._rotate()
            # A line that a full disk cut short is closed first, so that it costs only itself.
            whole = b"\n" + text if self._torn else text
            written = os.write(self._file, whole)
        except OSError as error:
            self.lost += 1
            self.problem = f"{self.path}: {error.strerror}: {self.lost} records could not be written"
            return
        self._size += written
        self._torn = written < len(whole)
        if self._torn:
            self.lost += 1
            self.problem = f"{self.path}: cut short, the disk is full: {self.lost} records could not be written"
        else:
            self.problem = ""

    def _rotate(self) -> None:
        self._sync()
        if self._keep:
            for number in range(self._keep, 1, -1):
                older = rolled(self.path, number - 1)
                if older.exists():
                    older.replace(rolled(self.path, number))
            self.path.replace(rolled(self.path, 1))
        else:
            self.path.unlink()
        fresh = self._open()
        os.close(self._file)
        self._file, self._size, self._torn = fresh, 0, False

    def _sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror}: it could not be synced"


def rolled(path: Path, number: int) -> Path:
    """Name an older file of a journal."""
    return path.with_name(f"{path.name}.{number}")


class Reading:
    """A journal read back, older files first. Lines that are no records are counted and passed over.

    Args:
        path: The newest file.

    Raises:
        JournalError: There is no such file.
    """

    def __init__(self, path: Path) -> None:
        numbers = (part.name.removeprefix(f"{path.name}.") for part in path.parent.glob(f"{path.name}.*"))
        older = sorted((int(number) for number in numbers if number.isdecimal()), reverse=True)
        self.files = [rolled(path, number) for number in older]
        if path.exists() or not self.files:
            self.files.append(path)
        self.unreadable = 0

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield all records as plain objects, in the order in which they were written.

        Raises:
            JournalError: A file can't be read, or is of a newer version.
        """
        for path in self.files:
            try:
                with path.open("rb") as file:
                    for line in file:
                        record = self._record(path, line)
                        if record is not None:
                            yield record
            except OSError as error:
                raise JournalError(
                    f"{path}: {error.strerror}: give the journal of the run as it is named in [journal]"
                ) from error

    def inputs(self) -> Iterator[Input]:
        """Yield what the engine was told. `Started` begins each run; the end of one is an `Idle` at its time.

        Raises:
            JournalError: As for `records`.
        """
        for record in self.records():
            kind = _INPUTS.get(record["type"])
            try:
                if kind is not None:
                    yield msgspec.convert(record, kind)
                elif record["type"] == STOPPED:
                    yield msgspec.convert(record, Idle)
            except msgspec.ValidationError:
                self.unreadable += 1

    def decisions(self) -> Iterator[Decision]:
        """Yield the decisions of the runs.

        Raises:
            JournalError: As for `records`.
        """
        for record in self.records():
            if record["type"] == DECISION:
                try:
                    yield msgspec.convert(record, Decision)
                except msgspec.ValidationError:
                    self.unreadable += 1

    def _record(self, path: Path, line: bytes) -> dict[str, Any] | None:
        try:
            record = orjson.loads(line) if len(line) < _LONGEST else None
        except orjson.JSONDecodeError:
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("type"), str) or not isinstance(record.get("v"), int):
            self.unreadable += bool(line.strip())
            return None
        if record["v"] > VERSION:
            raise JournalError(f"{path}: version {record['v']} is of a newer tailhealth: replay it with that one")
        return record
