"""Compressed logs, whole and broken."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.logs.packed import Packing, Unpacker, packing_of

Pack = Callable[[bytes], bytes]

TEXT = b"".join(b"%d some line of a log\n" % number for number in range(20_000))
NOISE = random.Random(1).randbytes(300_000)


def zstd(data: bytes) -> bytes:
    """Compress as one frame, with a checksum as the command line tool writes it."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def unpack(data: bytes) -> tuple[bytes, str | None]:
    """Unpack all that can be read."""
    packing = packing_of(data)
    assert packing is not None
    unpacker = Unpacker(io.BytesIO(data).read, packing)
    content = b""
    while block := unpacker.block():
        content += block
    return content, unpacker.broken


@pytest.mark.parametrize(("pack", "packing"), [(gzip.compress, Packing.GZIP), (zstd, Packing.ZSTD)])
@pytest.mark.parametrize("content", [b"", b"a\n", TEXT, NOISE])
def test_what_was_packed_comes_out(pack: Pack, packing: Packing, content: bytes) -> None:
    """Content of any kind is unpacked whole, and told by its first bytes."""
    packed = pack(content)

    assert packing_of(packed) is packing
    assert unpack(packed) == (content, None)


def test_plain_bytes_are_not_packed() -> None:
    """JSON, nothing, and a file that only begins like an archive are plain."""
    assert [packing_of(head) for head in (b"", b'{"a":1}', b"\x1f\x8b", b"\x28\xb5")] == [None] * 4


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_several_members_are_read_as_one(pack: Pack) -> None:
    """Appended members or frames continue the content; padding after them is nothing."""
    assert unpack(pack(TEXT) + pack(b"more\n") + pack(NOISE))[0] == TEXT + b"more\n" + NOISE
    assert unpack(gzip.compress(TEXT) + bytes(512)) == (TEXT, None)


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_truncated_archive_is_read_as_far_as_it_goes(pack: Pack) -> None:
    """What comes before the cut is handed on, and that there was a cut is told."""
    packed = pack(NOISE)
    content, broken = unpack(packed[: len(packed) * 3 // 4])

    assert NOISE.startswith(content)
    assert len(content) > len(NOISE) // 3
    assert broken is not None
    assert "cut off" in broken


def test_a_member_still_being_written_after_complete_ones_is_left_out() -> None:
    """What nginx has not flushed yet will be read when it is (case 41)."""
    second = gzip.compress(b"second\n")

    assert unpack(gzip.compress(b"first\n") + second[:-4]) == (b"first\n", "cut off: the last gzip member is not complete")
    assert unpack(gzip.compress(b"first\n") + second) == (b"first\nsecond\n", None)


def test_a_large_member_is_not_held_in_memory() -> None:
    """A member larger than what is held for a second look comes out as far as it goes, even if it is cut off."""
    large = gzip.compress(NOISE * 8)
    content, broken = unpack(gzip.compress(b"first\n") + large[:-100])

    assert content.startswith(b"first\n" + NOISE)
    assert broken is not None


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_damaged_bytes_end_the_reading_with_a_reason(pack: Pack) -> None:
    """Damage is told, not raised; what came before it stays."""
    packed = bytearray(pack(TEXT * 3))
    middle = len(packed) // 2
    packed[middle : middle + 64] = b"\xff" * 64
    content, broken = unpack(bytes(packed))

    assert broken is not None
    assert (TEXT * 3).startswith(content[: len(TEXT) // 8])


@given(st.binary(max_size=200), st.sampled_from([b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"]))
def test_no_bytes_can_raise(data: bytes, magic: bytes) -> None:
    """Whatever follows the magic bytes, unpacking ends, with a reason if it is no archive."""
    assert unpack(magic + data)[1] is not None
