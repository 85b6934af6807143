"""A file with the lines of both proxies, and the time of single lines."""

from __future__ import annotations

import gc
import weakref

import pytest

from tailhealth.logs.detect import open_reader
from tailhealth.logs.mixed import Mixed
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import FieldRule, LogRules
from tailhealth.logs.times import line_time
from tests.logs import caddy_lines, nginx_lines
from tests.logs.caddy_lines import BASE

TORN = b'{"msec":"1796000000.000",\n"upstream_addr":"10.9.0.1:80",\n'
"""The beginning of an nginx record over several lines."""
LEAP = caddy_lines.line(400)
"""A line of Caddy's whose time leaps ahead of the one before: its next neighbour decides about it."""


@pytest.mark.parametrize(
    ("lines", "held"),
    [
        ([nginx_lines.line(), TORN], 1),
        ([caddy_lines.line(), LEAP], 1),
        ([caddy_lines.line(), nginx_lines.line(), LEAP, TORN], 2),
        ([nginx_lines.line(), caddy_lines.line(), TORN, LEAP], 2),
        ([caddy_lines.line(), nginx_lines.line()], None),
    ],
)
def test_held_of_either_proxy(lines: list[bytes], held: int | None) -> None:
    """Whichever proxy wrote the line that is held back, a restart reads on from the first one."""
    reader = open_reader(LogRules(), 0, "access.log", Tally())
    starts = [sum(map(len, lines[:index])) for index in range(len(lines))]
    for start, data in zip(starts, lines, strict=True):
        reader.feed(data, start)

    assert reader.held == (None if held is None else starts[held])


@pytest.mark.parametrize(
    "odd", [b'"status": 200,\n', b'{"level":"info","logger":"http.log.acc\n', b'{"x":1}\n', b'{"\n', b"\n"]
)
def test_split_of_a_mixed_file(odd: bytes) -> None:
    """Odd lines between those of two proxies are counted alike, however the file is split into blocks."""
    lines = [nginx_lines.line(), odd, caddy_lines.line(), odd, nginx_lines.line(), odd, odd, caddy_lines.line(1)]
    counts = []
    for blocks in (lines, [b"".join(lines)], [lines[0], b"".join(lines[1:])]):
        reader, offset = open_reader(LogRules(), 0, "access.log", tally := Tally()), 0
        for block in blocks:
            reader.feed(block, offset)
            offset += len(block)
        reader.finish()
        counts.append((tally.lines, tally.records, tally.attempts, tally.other, tally.skipped))

    assert counts[0] == counts[1] == counts[2]
    assert counts[0][2] == 4


@pytest.mark.parametrize(
    ("line", "at"),
    [
        (caddy_lines.line(), BASE + 0.25),
        (caddy_lines.line(ts="2026-11-30T00:53:20Z"), BASE),
        (nginx_lines.line(), BASE),
        (b'{"level":"info","ts":1796000000', None),
        (b"", None),
    ],
)
def test_time_of_a_line(line: bytes, at: float | None) -> None:
    """The time of a single line is that of its record, whoever wrote it; what has none has none."""
    assert line_time(LogRules())(line.rstrip(b"\n")) == at


def test_time_of_a_line_by_the_operator() -> None:
    """Where the operator says which field is the time, no other one is taken for it."""
    rules = LogRules(fields={"time": FieldRule("request.began")})
    line = caddy_lines.line(request={**caddy_lines.request(), "began": BASE + 7})

    assert line_time(rules)(line) == BASE + 7


def test_a_reader_that_is_done_is_gone() -> None:
    """Nothing of a rolled file waits for the collector of cycles, which may not come for millions of lines."""
    reader = Mixed(LogRules(), 0, "access.log", Tally(), "caddy")
    gone = weakref.ref(reader)
    gc.disable()
    try:
        del reader
        assert gone() is None
    finally:
        gc.enable()
