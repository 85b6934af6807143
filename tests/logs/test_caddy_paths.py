"""The fast ways through the Caddy reader lead where the careful one does, however the bytes are split."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailhealth.core.order import one_by_one
from tailhealth.logs import caddy
from tailhealth.logs.caddy import PATIENCE, CaddyReader
from tailhealth.logs.detect import open_reader
from tailhealth.logs.reading import Event, LineReader, Tally
from tailhealth.logs.rules import LogRules
from tests.case_reading import FOLDER
from tests.logs.caddy_drawn import debug_lines, lines
from tests.logs.caddy_lines import BASE, line

FUZZ = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "30")), suppress_health_check=[HealthCheck.too_slow], deadline=None
)
"""`FUZZ_EXAMPLES=50000 pytest tests/logs/test_caddy_paths.py` looks longer."""

NOWS = st.sampled_from([None, BASE + 5, BASE + 100_000])
"""Clocks of live lines, and none for history."""


def outcome(reader: LineReader, tally: Tally, events: list[Event]) -> tuple[list[Event], dict[str, Any]]:
    """Return all that a reader told in the end."""
    events = events + reader.finish()
    counts = {name: getattr(tally, name) for name in Tally.__dataclass_fields__ if name not in {"examples", "hints"}}
    return events, {**counts, "hints": sorted(tally.hints)}


def in_one_block(made: list[bytes], now: float | None) -> tuple[list[Event], dict[str, Any]]:
    """Read a file at once."""
    tally = Tally()
    reader = open_reader(LogRules(), 3, "a", tally)
    return outcome(reader, tally, reader.feed(b"".join(made), 0, now))


@FUZZ
@given(lines() | debug_lines(), st.randoms(use_true_random=False), NOWS)
def test_any_split(made: list[bytes], dice: random.Random, now: float | None) -> None:
    """Any split at line ends, and single lines, give the events and counts of the whole file."""
    tally, events, offset, start = Tally(), list[Event](), 0, 0
    reader = open_reader(LogRules(), 3, "a", tally)
    while start < len(made):
        stop = dice.randint(start + 1, len(made))
        block = b"".join(made[start:stop])
        events += reader.feed(block, offset, now)
        offset, start = offset + len(block), stop

    assert in_one_block(made, now) == outcome(reader, tally, events)


@FUZZ
@given(lines() | debug_lines(), st.sampled_from([1, 6, 1000]), st.sampled_from([0, PATIENCE]), NOWS)
def test_fast_is_careful(made: list[bytes], portion: int, patience: int, now: float | None) -> None:
    """Blocks through the decoder give what parsing each line with care gives, however soon the loops are tried again."""
    tally, careful_tally, events, offset = Tally(), Tally(), list[Event](), 0
    fast, careful = CaddyReader(LogRules(), 0, "a", tally), CaddyReader(LogRules(), 0, "a", careful_tally)
    careful._careful_only = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caddy, "PATIENCE", patience)
        for start in range(0, len(made), portion):
            block = b"".join(made[start : start + portion])
            events += fast.feed(block, offset, now)
            offset += len(block)

    assert outcome(fast, tally, events) == outcome(careful, careful_tally, careful.feed(b"".join(made), 0, now))


def never(*_: object) -> None:
    """Stand in for what must not be called."""
    raise AssertionError("a plain line was read on its own")


def test_the_loop_takes_plain_lines() -> None:
    """Good lines of a known file go through the tight loop, and its counts and events are those of single lines."""
    made = [line(number) for number in range(100)]
    blocks, singles = Tally(), Tally()
    one, other = CaddyReader(LogRules(), 0, "a", blocks), CaddyReader(LogRules(), 0, "a", singles)
    head, rest = b"".join(made[:5]), b"".join(made[5:])
    events = one.feed(head, 0)
    counted = blocks.records
    one._record = one._line = never  # type: ignore[method-assign, assignment]
    events += one.feed(rest, len(head))
    assert counted + 95 == blocks.records
    offset, single = 0, list[Event]()
    for each in made:
        single += one_by_one(other.read_line(each, offset))
        offset += len(each)

    assert outcome(other, singles, single) == outcome(one, blocks, events)


CORPUS = [
    path.read_bytes()
    for path in sorted(FOLDER.glob("*.*"))
    if path.suffix in {".jsonl", ".log"} and path.stat().st_size < 30_000
]


@FUZZ
@given(st.sampled_from(CORPUS), st.data())
def test_mutated_lines(data: bytes, draw: st.DataObject) -> None:
    """Bytes changed, lost or put in anywhere in real lines: never an exception, and every line counted."""
    made = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 8))):
        at = draw.draw(st.integers(0, max(0, len(made) - 1)))
        match draw.draw(st.integers(0, 3)):
            case 0:
                del made[at : at + draw.draw(st.integers(1, 200))]
            case 1:
                made[at:at] = draw.draw(
                    st.binary(max_size=8) | st.sampled_from([b'"', b"{", b"}", b"\n", b"\\u", b"null", b"1e999"])
                )
            case 2:
                made[at : at + 1] = draw.draw(st.binary(min_size=1, max_size=1))
            case _:
                made[at:at] = data[: draw.draw(st.integers(0, 400))]
    never_fails(bytes(made))


@FUZZ
@given(st.binary(max_size=3000) | st.text(max_size=500).map(lambda text: text.encode("utf-8", "replace")))
def test_random_bytes(data: bytes) -> None:
    """No byte stream makes a reader fail."""
    never_fails(data)


def never_fails(data: bytes) -> None:
    """Read bytes as whatever they are, and as either proxy's."""
    count = data.count(b"\n") + bool(data and not data.endswith(b"\n"))
    for rules in (LogRules(), LogRules("caddy"), LogRules("nginx")):
        for now in (None, BASE):
            tally = Tally()
            reader = open_reader(rules, 0, "a", tally)
            reader.feed(data, 0, now)
            reader.finish()
            assert count == tally.lines


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting(depth: int) -> None:
    """Objects in objects without end are a skip."""
    data = b'{"level":"info","ts":1,"a":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}\n"
    never_fails(data)
