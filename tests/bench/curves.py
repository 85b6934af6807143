"""Time and memory of `replay` against the number of lines, upstreams and pools, as curves (DESIGN section 10).

    python -m tests.bench.curves [--full] [--only WORD] [--rounds 3]

Each point is a process of its own that replays one generated log. Time (of the processor) should be linear in the lines, so
that a line takes as long everywhere: that is for the eye, as a ratio to the first point. Memory should be at most 60 MB plus
4 KB per idle and 16 KB per busy upstream, and the same for ten times the lines: the exit code tells. `--full` goes up to
3,000,000 lines and 10,000 busy upstreams, and needs 4 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.curves_plan import FAR, Curve, Point, Sizes, curves

ROOT = Path(__file__).parents[2]
GROWTH = 4.0
"""MB that one process may take more than another that does the same: the allocator's own breath."""
WIDTH = 24
HEADER = ("", "lines", "seconds", "us a line", "", "MB", "", "at most")


class Measured(NamedTuple):
    """What a point took."""

    point: Point
    seconds: float
    """Of the processor: the median of all rounds."""
    peak: float
    """MB resident at the most, the greatest of all rounds."""

    @property
    def per_line(self) -> float:
        """Return how many microseconds a line took."""
        return self.seconds / self.point.lines * 1e6


def measured(point: Point, rounds: int) -> Measured:
    """Replay a point's log in a process of its own, `rounds` times."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.bench.curves_point", *map(str, point.written(Path(folder)))]
        told = [json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout) for _ in range(rounds)]
    if any(one["attempts"] != point.lines for one in told):
        raise RuntimeError(f"{point.lines} lines were written, and not as many attempts judged")
    return Measured(point, statistics.median(one["seconds"] for one in told), max(one["peak"] for one in told) / 1024)


class Verdict(NamedTuple):
    """What a curve comes to."""

    text: str
    is_kept: bool
    """Its memory is within the bounds."""


def verdict(curve: Curve, found: Sequence[Measured]) -> Verdict:
    """Compare the last point with the first."""
    first, last = found[0], found[-1]
    more, times = last.peak - first.peak, last.point.x / first.point.x
    is_kept = all(one.peak <= one.point.bound for one in found)
    text = f"a line takes {last.per_line / first.per_line:.2f} times as long at {times:,.0f} times as many"
    if curve.limit is None:
        return Verdict(f"{text}; memory {more:+.1f} MB (at most {GROWTH:g})", is_kept and more <= GROWTH)
    each = more * 1024 / (last.point.x - first.point.x)
    # A few upstreams drown in the allocator's own breath.
    is_kept = is_kept and (each <= curve.limit or more <= GROWTH)
    return Verdict(f"{text}; each one more takes {each:.1f} KB (at most {curve.limit:g})", is_kept)


def rows(found: Sequence[Measured], mark: str) -> list[tuple[str, ...]]:
    """Return a curve's table, each value with its bar."""
    bars = [bars_of([one.per_line for one in found], mark), bars_of([one.peak for one in found], mark)]
    return [
        (
            f"{one.point.x:,}",
            f"{one.point.lines:,}",
            f"{one.seconds:.2f}",
            f"{one.per_line:.2f}",
            time_bar,
            f"{one.peak:.1f}",
            memory_bar,
            f"{one.point.bound:.1f}",
        )
        for one, time_bar, memory_bar in zip(found, *bars, strict=True)
    ]


def bars_of(values: Sequence[float], mark: str) -> list[str]:
    """Draw values as bars, the greatest at full width."""
    return [(mark * round(WIDTH * value / max(values))).ljust(WIDTH) for value in values]


def table(curve: Curve, found: Sequence[Measured], *, is_ascii: bool) -> str:
    """Show a curve."""
    widths = (9, 10, 8, 9, WIDTH, 7, WIDTH, 8)
    lines = [
        " ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in (HEADER, *rows(found, "#" if is_ascii else "█"))
    ]
    text, is_kept = verdict(curve, found)
    return "\n".join(["", curve.title, *lines, text if is_kept else f"{text}: MISSED"])


def main(arguments: Sequence[str], sizes: Sizes | None = None, measure: Callable[[Point, int], Measured] = measured) -> int:
    """Print all curves; return 1 if memory is beyond a bound."""
    parser = argparse.ArgumentParser(description="time and memory of replay, as curves")
    parser.add_argument("--full", action="store_true", help="up to 3,000,000 lines and 10,000 busy upstreams")
    parser.add_argument("--only", default="", metavar="WORD", help="curves whose title holds this")
    parser.add_argument("--rounds", type=int, default=3, help="the median of so many counts")
    given = parser.parse_args(arguments)
    is_ascii = not (sys.stdout.encoding or "").lower().startswith("utf")
    missed = 0
    for curve in curves(sizes or (FAR if given.full else Sizes())):
        if given.only in curve.title:
            found = [measure(point, given.rounds) for point in curve.points]
            print(table(curve, found, is_ascii=is_ascii), flush=True)
            missed += not verdict(curve, found).is_kept
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
