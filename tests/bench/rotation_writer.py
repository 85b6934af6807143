"""The proxy's side of the rotation torture: writes numbered lines and rotates its log in every way proxies and logrotate do."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import time
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from pathlib import Path

import zstandard

from tailhealth.logs.generation import digest, head_of

NAME = "access.log"
KEPT = 40
"""Rolled generations beyond this many are deleted, the oldest first."""


class Kind(StrEnum):
    """Ways of rotating."""

    RENAME = "rename+create"
    """logrotate; the proxy goes on writing to the old file for a moment."""
    COPY = "copytruncate"
    ROLL = "roll+compress"
    """Caddy: renamed, a new file at once, the old one compressed right after."""
    DELETE = "delete+create"


@dataclass
class Generation:
    """What was written from one creation or truncation to the next."""

    first: bytes = b""
    numbers: list[int] = field(default_factory=list)
    deleted: bool = False
    began: float = field(default_factory=time.monotonic)
    ended: float = inf

    @property
    def fingerprint(self) -> str:
        """As the follower calls it."""
        return digest(head_of(self.first))


class Writer:
    """Writes to `access.log` in a folder.

    Args:
        folder: Where the log lies.
        dice: Decides what varies.
    """

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self.written = 0
        self.generations = [Generation()]
        self.rotations: dict[Kind, int] = dict.fromkeys(Kind, 0)
        self._folder = folder
        self._dice = dice
        self._file = self._create()
        self._old: int | None = None
        self._late = 0
        self._plain: list[Path] = []

    def write(self, count: int) -> None:
        """Write lines, some of them in two halves, some to the old file while it is still in use."""
        for _ in range(count):
            generation = self.generations[-1]
            file = self._file
            if self._old is not None and self._dice.random() < 0.3:
                generation, file = self.generations[-2], self._old
            line = self.line(self.written, b"x" * self._dice.randrange(0, 400))
            generation.first = generation.first or line
            generation.numbers.append(self.written)
            half = self._dice.randrange(1, len(line)) if self._dice.random() < 0.02 else len(line)
            os.write(file, line[:half])
            if half < len(line):
                os.write(file, line[half:])
            self.written += 1
        self._late -= count
        if self._late <= 0:
            self._reopened()

    def line(self, number: int, pad: bytes) -> bytes:
        """Return a line with its number; another kind of writer writes others."""
        return b'{"ts":%d.%03d,"number":%d,"pad":"%s"}\n' % (1_796_000_000 + number // 1000, number % 1000, number, pad)

    def rotate(self, kind: Kind) -> None:
        """Begin another generation."""
        self.rotations[kind] += 1
        self._reopened()
        log = self._folder / NAME
        rolled = self._folder / f"access-2026-11-30T00-53-20.{len(self.generations):06}-size.log"
        match kind:
            case Kind.COPY:
                shutil.copyfile(log, rolled)
                os.ftruncate(self._file, 0)
            case Kind.DELETE:
                log.unlink()
                self.generations[-1].deleted = True
                os.close(self._file)
                self._file = self._create()
            case Kind.RENAME | Kind.ROLL:
                log.rename(rolled)
                self._old, self._late = self._file, 30
                self._file = self._create()
        self.generations[-1].ended = time.monotonic()
        self.generations.append(Generation())
        if kind is not Kind.DELETE:
            self._plain.append(rolled)
        if kind is Kind.ROLL:
            # Caddy does not write to a file that it has rolled away, and compresses it at once.
            self._reopened()
        self._compress(keep=0 if kind is Kind.ROLL else 1)

    def _compress(self, keep: int) -> None:
        """Compress rolled files, the newest `keep` left out; delete the oldest ones."""
        while len(self._plain) > keep:
            plain = self._plain.pop(0)
            data = plain.read_bytes()
            zstd = self._dice.random() < 0.5
            packed = zstandard.ZstdCompressor().compress(data) if zstd else gzip.compress(data, 1)
            plain.with_name(plain.name + (".zst" if zstd else ".gz")).write_bytes(packed)
            plain.unlink()
        rolled = sorted(path for path in self._folder.iterdir() if path.name != NAME)
        for path in rolled[:-KEPT]:
            path.unlink()

    def close(self) -> None:
        """Write no more."""
        self._reopened()
        os.close(self._file)

    def _create(self) -> int:
        return os.open(self._folder / NAME, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def _reopened(self) -> None:
        if self._old is not None:
            os.close(self._old)
            self._old = None
