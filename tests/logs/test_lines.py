"""Cutting bytes into whole lines."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from tailhealth.logs.lines import LineCutter

LIMIT = 8
PARTS = st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\0", b"\0\0\0", b"abcdefg", b"abcdefgh", b"\r\n"]), max_size=30)


def cut(*parts: bytes, limit: int = LIMIT) -> tuple[list[tuple[int, bytes]], LineCutter]:
    """Feed parts one after the other; returns every line with its offset, the torn rest as the last."""
    cutter = LineCutter(0, limit)
    lines = []
    for part in parts:
        for piece in cutter.feed(part):
            offset = piece.offset
            for line in piece.data.split(b"\n")[:-1]:
                lines.append((offset, line + b"\n"))
                offset += len(line) + 1
    rest = cutter.rest()
    return [*lines, *([] if rest is None else [(rest.offset, rest.data)])], cutter


def test_lines_end_at_a_newline_and_nothing_else() -> None:
    """Carriage returns and other separators belong to the line."""
    assert cut(b"a\r\nb\x0bc\n")[0] == [(0, b"a\r\n"), (3, b"b\x0bc\n")]


def test_a_torn_line_is_held_until_its_newline_comes() -> None:
    """What has no newline is not handed on, and the offset stays at its start."""
    cutter = LineCutter(100)

    assert [tuple(piece) for piece in cutter.feed(b"whole\ntor")] == [(100, b"whole\n")]
    assert (cutter.offset, cutter.held, cutter.position) == (106, b"tor", 109)
    assert [tuple(piece) for piece in cutter.feed(b"n\n")] == [(106, b"torn\n")]
    assert cutter.at_line_start


def test_a_line_of_just_the_longest_length_is_handed_on() -> None:
    """The limit counts the newline."""
    lines, cutter = cut(b"1234567\n")

    assert lines == [(0, b"1234567\n")]
    assert cutter.oversized == 0


def test_a_longer_line_is_dropped_and_counted_with_flat_memory() -> None:
    """Bytes are dropped up to the next newline; the line after it has its true offset."""
    cutter = LineCutter(0, LIMIT)
    for _ in range(1000):
        assert cutter.feed(b"12345678") == []
        assert cutter.held == b""

    assert [tuple(piece) for piece in cutter.feed(b"\nnext\n")] == [(8001, b"next\n")]
    assert cutter.oversized == 1


def test_a_hole_before_a_line_is_passed_over() -> None:
    """NUL bytes at a line start are no part of the line, whose offset is behind them."""
    lines, cutter = cut(b"\0" * 100 + b"a\n" + b"\0" * 5 + b"b\n")

    assert lines == [(100, b"a\n"), (107, b"b\n")]
    assert cutter.holes == 105


def test_a_hole_ends_a_line_that_is_too_long() -> None:
    """What stood before the hole was cut off there, so the line after it is whole."""
    lines, cutter = cut(b"123456789", b"\0\0", b"a\n")

    assert lines == [(11, b"a\n")]
    assert cutter.oversized == 1


@given(PARTS, st.lists(st.integers(0, 100), max_size=10))
@example([b"abcdefgh", b"\0", b"a", b"\n"], [3, 9])
def test_any_split_gives_the_same_lines(parts: list[bytes], cuts: list[int]) -> None:
    """However the bytes come in, the lines, their offsets and the counts are the same."""
    data = b"".join(parts)
    places = sorted({0, len(data), *(place for place in cuts if place < len(data))})
    pieces = [data[start:end] for start, end in pairwise(places)]
    whole, one = cut(data)
    split, many = cut(*pieces)

    assert split == whole
    assert (many.oversized, many.holes, many.position) == (one.oversized, one.holes, one.position)


@given(PARTS)
def test_every_line_is_where_it_says(parts: list[bytes]) -> None:
    """A line's offset is that of its first byte."""
    data = b"".join(parts)

    assert all(data[offset : offset + len(line)] == line for offset, line in cut(data)[0])


@given(st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"").replace(b"\0", b"")), max_size=20))
def test_lines_within_the_limit_are_those_that_split_gives(lines: list[bytes]) -> None:
    """Without holes and long lines the cutter does what `split` does."""
    data = b"".join(line + b"\n" for line in lines)

    assert [line for _, line in cut(data, limit=100)[0]] == [line + b"\n" for line in lines]
