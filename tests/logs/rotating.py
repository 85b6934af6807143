"""A writer of numbered lines whose log is rotated in every way there is."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

import zstandard

from tests.logs.timed import line

NAME = "access.log"


class Writer:
    """Writes to `access.log` in a folder and rotates it. The time of line n is 1,000,000 + n.

    Args:
        folder: Where the log lies.
        stamped: Rolled files are named by a time stamp, as Caddy does, instead of by a number that grows with age.
    """

    def __init__(self, folder: Path, *, stamped: bool) -> None:
        self.written = 0
        self.since_rotation = 0
        self._folder = folder
        self._stamped = stamped
        self._rolls = 0
        self._torn = b""
        self.log.touch()

    @property
    def log(self) -> Path:
        """The live log."""
        return self._folder / NAME

    @property
    def rolled(self) -> list[Path]:
        """Rolled generations, from the oldest to the newest."""
        rolled = [path for path in self._folder.iterdir() if path.name != NAME]
        return sorted(rolled, key=lambda path: path.name.split(".gz")[0].split(".zst")[0] if self._stamped else -_number(path))

    def write(self, count: int = 1, size: int = 0) -> None:
        """Append whole lines; the first of them may complete a torn one."""
        lines = b"".join(line(1e6 + number, number, size) for number in range(self.written, self.written + count))
        self._append(lines[len(self._torn) :])
        self._torn = b""
        self.written += count
        self.since_rotation += count

    def tear(self) -> None:
        """Append the first half of the next line."""
        if not self._torn:
            whole = line(1e6 + self.written, self.written)
            self._torn = whole[: len(whole) // 2]
            self._append(self._torn)

    def rename_and_create(self) -> None:
        """As logrotate does by default, and Caddy."""
        self.rename()
        self.log.touch()

    def rename(self) -> None:
        """Roll the log away; the new one appears with the next line."""
        self.complete()
        if self.log.exists():
            self.log.rename(self._free())
        self.since_rotation = 0

    def copy_and_truncate(self) -> None:
        """As logrotate does with `copytruncate`."""
        self.complete()
        if self.log.exists():
            shutil.copyfile(self.log, self._free())
            os.truncate(self.log, 0)
        self.since_rotation = 0

    def delete_and_create(self) -> None:
        """Throw the log away and begin another one."""
        self.complete()
        self.log.unlink(missing_ok=True)
        self.log.touch()
        self.since_rotation = 0

    def compress(self, *, zstd: bool = False) -> None:
        """Compress the newest rolled file that is not compressed yet."""
        for plain in reversed(self.rolled):
            if plain.suffix in {".gz", ".zst"}:
                continue
            data = plain.read_bytes()
            packed = zstandard.ZstdCompressor().compress(data) if zstd else gzip.compress(data)
            plain.with_name(plain.name + (".zst" if zstd else ".gz")).write_bytes(packed)
            plain.unlink()
            return

    def _append(self, data: bytes) -> None:
        with self.log.open("ab", buffering=0) as file:
            file.write(data)

    def complete(self) -> None:
        """Write the rest of a torn line."""
        if self._torn:
            self.write()

    def _free(self) -> Path:
        self._rolls += 1
        if self._stamped:
            return self._folder / f"access-2026-11-30T00-53-20.{self._rolls:06}-size.log"
        for path in self.rolled:
            path.rename(path.with_name(path.name.replace(f"{NAME}.{_number(path)}", f"{NAME}.{_number(path) + 1}")))
        return self._folder / f"{NAME}.1"


def _number(path: Path) -> int:
    return int(path.name.split(".")[2])
