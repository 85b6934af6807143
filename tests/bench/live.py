"""What the live controller costs and how fast it is: a real `tailhealth run` next to a real Caddy, following a log that grows.

    python -m tests.bench.live [--seconds 20] [--memory-lines 1000000] [--many 1000] [--ejections 100] [--part cpu]...

The table has the controller's share of one core while 0, 100 and 5,000 lines a second are written, and 5,000 that all tell of
a failure; its resident memory at the start, after a tenth of the lines and after all of them, with four upstreams and with
many (10,000,000 lines are the full figure: 7 minutes for each pool); how long it takes from a line written to the request that
takes its upstream out, with `lateness`, `coalesce` and `min_apply_interval` at 0; and what `--help` needs beyond the bare
interpreter. What the lines' writer needs is not counted. The exit code tells whether every bound was kept: on a machine that
is busy with other things the times may well be longer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.bench.lines import UPSTREAMS
from tests.bench.live_parts import Lateness, Memory, cpu_share, latencies, memory, percentile, starts

FASTEST = 5000
"""Lines a second up to which the bounds hold."""
MOST_IDLE, MOST_BUSY, MOST_FAILING = 0.005, 0.12, 2.0
"""Share of one core with no line and with 5,000 a second; a pool that fails altogether, as times that of a healthy one."""
MB = 1 << 20
MEMORY, IDLE, BUSY, BREATH = 60 * MB, 4 << 10, 16 << 10, 4 * MB
"""Bytes of a controller, for each upstream that is idle or busy, and by which ten times the lines may differ."""
LATEST = 0.05
"""Seconds from a line to its request, 99 % of the times."""
LONGER = 0.15
"""Seconds that `--help` may take beyond the bare interpreter."""


class Size(NamedTuple):
    """How long and how much is measured."""

    seconds: float = 20.0
    settle: float = 5.0
    lines: int = 1_000_000
    many: int = 1000
    ejections: int = 100
    rounds: int = 15


class Row(NamedTuple):
    """A line of the table."""

    what: str
    measured: str
    at_most: str = ""
    kept: bool = True


def cpu(size: Size) -> Iterator[Row]:
    """Measure the share of one core."""
    idle = cpu_share(0, size.seconds, size.settle)
    yield Row("CPU, no lines", f"{idle:.2%}", f"{MOST_IDLE:.1%}", idle <= MOST_IDLE)
    yield Row("CPU, 100 lines/s", f"{cpu_share(100, size.seconds, size.settle):.1%}")
    busy = cpu_share(FASTEST, size.seconds, size.settle)
    yield Row("CPU, 5,000 lines/s", f"{busy:.1%}", f"{MOST_BUSY:.0%}", busy <= MOST_BUSY)
    yield failing_row(busy, cpu_share(FASTEST, size.seconds, size.settle, 1.0))


def failing_row(healthy: float, failing: float) -> Row:
    """Set what a pool costs that fails altogether beside what it costs otherwise."""
    text, most = f"{failing:.1%}, {failing / healthy:.1f} times that", f"{MOST_FAILING:.0f} times"
    return Row("CPU, 5,000 lines/s, all fail", text, most, failing <= MOST_FAILING * healthy)


def resident(size: Size) -> Iterator[Row]:
    """Measure memory."""
    for count in (len(UPSTREAMS), size.many):
        yield from memory_rows(count, size.lines, memory(count, size.lines))


def memory_rows(count: int, lines: int, found: Memory) -> Iterator[Row]:
    """Set what was measured with so many upstreams beside its bounds."""
    for what, value, most in (
        ("at the start", found.start, MEMORY + count * IDLE),
        (f"after {lines // 10:,} lines", found.early, MEMORY + count * BUSY),
        # Whether it grows can be told by few upstreams: those of many fill their windows for minutes.
        (f"after {lines:,} lines", found.late, min(MEMORY, found.early + BREATH) + count * BUSY),
    ):
        yield Row(f"memory, {count:,} upstreams, {what}", f"{value / MB:.1f} MB", f"{most / MB:.1f} MB", value <= most)


def speed(size: Size) -> Iterator[Row]:
    """Measure how long it takes from a line to the request."""
    for name, rate in (("no other lines", 0), ("100 lines/s", 100), ("5,000 lines/s", FASTEST)):
        yield speed_row(name, latencies(size.ejections, rate))


def speed_row(name: str, found: Lateness) -> Row:
    """Set what was measured beside what the machine needs by itself, and the bound."""
    whole, bare = (f"{percentile(one, 0.5) * 1000:.0f} / {percentile(one, 0.99) * 1000:.0f} ms" for one in found)
    late = percentile(found.whole, 0.99)
    text = f"{whole} (its disk and admin interface: {bare})"
    return Row(f"line to request, {name}: p50 / p99", text, f"- / {LATEST * 1000:.0f} ms", late <= LATEST)


def start(size: Size) -> Iterator[Row]:
    """Measure how fast a command starts."""
    yield start_row(*starts(size.rounds))


def start_row(bare: float, whole: float) -> Row:
    """Set how much longer `--help` takes than the interpreter beside its bound."""
    text = f"{(whole - bare) * 1000:.0f} ms (the interpreter: {bare * 1000:.0f} ms)"
    return Row("`--help` beyond the bare interpreter", text, f"{LONGER * 1000:.0f} ms", whole - bare <= LONGER)


PARTS: dict[str, Callable[[Size], Iterator[Row]]] = {"cpu": cpu, "memory": resident, "speed": speed, "start": start}


def main(size: Size, parts: list[str]) -> int:
    """Print the table; return 1 if a bound was not kept."""
    kept = True
    sys.stdout.write("| | measured | at most | |\n|---|---|---|---|\n")
    for name in parts or PARTS:
        for row in PARTS[name](size):
            kept = kept and row.kept
            sys.stdout.write(f"| {row.what} | {row.measured} | {row.at_most} | {'' if row.kept else 'NOT KEPT'} |\n")
            sys.stdout.flush()
    return int(not kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=Size().seconds, help="of each measurement of CPU")
    parser.add_argument("--memory-lines", type=int, default=Size().lines, help="written for each row of memory")
    parser.add_argument("--many", type=int, default=Size().many, help="upstreams of the larger pool")
    parser.add_argument("--ejections", type=int, default=Size().ejections, help="for each row of times")
    parser.add_argument("--part", action="append", default=[], choices=list(PARTS))
    given = parser.parse_args()
    wanted = Size(given.seconds, lines=given.memory_lines, many=given.many, ejections=given.ejections)
    sys.exit(main(wanted, given.part))
