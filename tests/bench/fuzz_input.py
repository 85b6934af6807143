"""Hostile logs: real lines of all kinds, mutated, and bytes that were never lines."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

from tests.bench.lines import caddy_lines

CASES = Path(__file__).parents[1] / "cases"
LONGEST = 1 << 20
"""Bytes of a log, roughly."""

_WORDS = [
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\n",
    b"\r\n",
    b"\0" * 9,
    b"\x1b[2J",
    b"\xff",
    b"\xc3",
    b"\xe2\x80\xa8",
]
_WORDS += [
    b"null",
    b"NaN",
    b"1e999",
    b"-1",
    b"-0.0",
    b"1" * 400,
    b"9" * 20,
    b"true",
    b"-",
    b", ",
    b" : ",
    b"502, 200",
    b"\\u0000",
]
_WORDS += [
    b'"upstream":"',
    b'"ts":',
    b'"status":',
    b'"msec":',
    b'"upstream_addr":"',
    b'"log":"',
    b'"MESSAGE":',
    b"\\x22",
    b"\\ud800",
]
_WORDS += [
    b"2026-11-30T00:53:20Z stdout P ",
    b"Nov 30 00:53:20 host caddy[1]: ",
    b"escape=json",
    b'"request":{',
    b"\xef\xbb\xbf",
]


def corpus() -> list[bytes]:
    """Return logs of every kind: each case of the field, and good lines."""
    paths = sorted(path for path in CASES.rglob("*") if path.suffix in {".jsonl", ".log"})
    good = "".join(islice(caddy_lines(200, failing=0.2), 200)).encode()
    return [*(path.read_bytes() for path in paths), good]


def hostile(dice: random.Random, logs: list[bytes]) -> bytes:
    """Make one log."""
    kind = dice.random()
    if kind < 0.1:
        return dice.randbytes(dice.randrange(1, 20_000))
    if kind < 0.2:
        return b"".join(dice.choice(_WORDS) for _ in range(dice.randrange(1, 2000)))
    if kind < 0.23:
        return _monster(dice)
    lines = [line for log in dice.sample(logs, dice.randrange(1, 4)) for line in _some(dice, log.splitlines(keepends=True))]
    if dice.random() < 0.3:
        dice.shuffle(lines)
    if dice.random() < 0.2:
        lines *= dice.randrange(2, 6)
    share = dice.choice([0.0, 0.02, 0.3, 1.0])
    return b"".join(_mutated(dice, line) if dice.random() < share else line for line in lines)


def _some(dice: random.Random, lines: list[bytes]) -> list[bytes]:
    first = dice.randrange(max(1, len(lines)))
    return lines[first : first + dice.randrange(1, 120)]


def _monster(dice: random.Random) -> bytes:
    """Nested without end, one key a thousand times, or a line above every cap."""
    size = dice.randrange(1000, LONGEST)
    match dice.randrange(5):
        case 0:
            return b'{"a":' * (size // 5) + b"1" + b"}" * (size // 5) + b"\n"
        case 1:
            return b"[" * size + b"\n"
        case 2:
            return b"{" + b",".join(b'"status":%d' % n for n in range(size // 20)) + b"}\n"
        case 3:
            return b'{"upstream_addr":"' + b"10.0.0.1:80, " * (size // 13) + b'","msec":1796000000}\n'
        case _:
            return b'{"msg":"' + b"x" * (2 * size) + b'"}\n{"ts":1}\n'


def _mutated(dice: random.Random, line: bytes) -> bytes:
    for _ in range(dice.choice([1, 1, 2, 8])):
        at = dice.randrange(len(line) + 1)
        end = min(len(line), at + dice.choice([1, 2, 10, 200]))
        match dice.randrange(7):
            case 0:
                line = line[:at] + line[end:]
            case 1:
                line = line[:at] + dice.choice(_WORDS) + line[at:]
            case 2:
                line = line[:at] + dice.randbytes(end - at) + line[end:]
            case 3:
                line = line[:at] + line[at:end] * dice.randrange(2, 9) + line[end:]
            case 4:
                line = line[:at]
            case 5:
                line = line[at:] + line[:at]
            case _:
                line = _renumbered(dice, line)
    return line


def _renumbered(dice: random.Random, line: bytes) -> bytes:
    """Write another value in the place of one."""
    colon = line.find(b":", dice.randrange(len(line) + 1))
    end = line.find(b",", colon)
    if colon < 0 or end < 0:
        return line
    return line[: colon + 1] + dice.choice(_WORDS) + line[end:]
