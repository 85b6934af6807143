"""Compressed logs: told by their first bytes, unpacked piece by piece, read as far as a truncated one goes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Protocol

import zstandard

BLOCK = 256 * 1024
"""Largest piece of unpacked bytes that gzip gives at once."""
_GZIP_READ = 64 * 1024
# A zstd frame may hold 128 KiB in four bytes. Small bites keep what a hostile archive can unfold at once to some 30 MiB.
_ZSTD_BITE = 1024
_HELD_MEMBER = 1024 * 1024


class Packing(StrEnum):
    """How a file is compressed."""

    GZIP = "gzip"
    ZSTD = "zstd"


MAGIC_BYTES = 4
"""How many first bytes `packing_of` wants to see."""


def packing_of(head: bytes) -> Packing | None:
    """Tell by the first bytes, never by the name, whether a file is compressed."""
    if head.startswith(b"\x1f\x8b\x08"):
        return Packing.GZIP
    if head.startswith(b"\x28\xb5\x2f\xfd"):
        return Packing.ZSTD
    return None


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class Unpacker:
    """The unpacked bytes of one compressed file, front to back.

    Args:
        read: Gives the next packed bytes, at most as many as asked for, and none at the end.
        packing: How they are compressed.
    """

    def __init__(self, read: Callable[[int], bytes], packing: Packing) -> None:
        self.broken: str | None = None
        """Why the file could not be read to its end: it is cut off, or its bytes are damaged. None while all is well."""
        self._read = read
        self._blocks = self._gzip() if packing is Packing.GZIP else self._zstd()

    def block(self) -> bytes:
        """The next unpacked bytes; empty at the end of what can be read."""
        return next(self._blocks, b"")

    def _gzip(self) -> Iterator[bytes]:
        members, data = 0, self._read(_GZIP_READ)
        while data:
            if members and not data.startswith(b"\x1f"):
                # Padding after the last member is no member.
                self.broken = "bytes after the last gzip member" if data.strip(b"\0") else None
                return
            member = _GzipMember(self._read, data)
            yield from member.blocks(whole=members > 0)
            self.broken = member.broken
            if member.broken is not None:
                return
            members += 1
            data = member.left or self._read(_GZIP_READ)

    def _zstd(self) -> Iterator[bytes]:
        decoder: _Decoder | None = None
        data = self._read(_ZSTD_BITE)
        while data:
            decoder = decoder or zstandard.ZstdDecompressor().decompressobj()
            try:
                block = decoder.decompress(data)
            except zstandard.ZstdError as error:
                self.broken = f"damaged zstd data ({error})"
                return
            if block:
                yield block
            data = b""
            if decoder.eof:
                data, decoder = decoder.unused_data, None
            data = data or self._read(_ZSTD_BITE)
        if decoder is not None:
            self.broken = "cut off: the zstd frame is not complete"


class _GzipMember:
    """One member of a gzip file, from its first bytes on."""

    def __init__(self, read: Callable[[int], bytes], data: bytes) -> None:
        self.broken: str | None = None
        self.left = b""
        self._read = read
        self._data = data

    def blocks(self, *, whole: bool) -> Iterator[bytes]:
        """Unpack the member.

        nginx with `gzip flush=` appends members to a live file. One that is not complete after others that are is still
        being written: it is left out (case 41), unless it is too large to be held. A file whose first member is cut off
        is a truncated archive and read as far as it goes.
        """
        held: list[bytes] | None = [] if whole else None
        for block in self._unpacked():
            if held is None:
                yield block
                continue
            held.append(block)
            if sum(map(len, held)) > _HELD_MEMBER:
                yield from held
                held = None
        if held and self.broken is None:
            yield from held

    def _unpacked(self) -> Iterator[bytes]:
        decoder, data = zlib.decompressobj(31), self._data
        while data:
            try:
                block = decoder.decompress(data, BLOCK)
            except zlib.error as error:
                self.broken = f"damaged gzip data ({error})"
                return
            if block:
                yield block
            if decoder.eof:
                self.left = decoder.unused_data
                return
            data = decoder.unconsumed_tail or self._read(_GZIP_READ)
        if block := decoder.flush():
            yield block
        self.broken = "cut off: the last gzip member is not complete"
