"""How fast `replay` is, as a ratio to the bare decoding loop over the same file with the same struct (DESIGN section 10).

    python -m tests.bench.replay_speed [--lines 300000] [--rounds 5] [--kind caddy|nginx|roundtrip]

Both are timed in this process, in turn, file read included; the figure is the median of the ratios. `replay` is
everything that the command does but starting Python and printing. Other kinds than `caddy` are compared with it, line by line.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tailhealth.config import Config
from tailhealth.logs.caddy_shape import Shape
from tailhealth.logs.helpers import cores
from tailhealth.logs.rules import LogRules
from tailhealth.service.replaying import Past
from tests.bench.lines import caddy_lines, nginx_lines, roundtrip_lines, write

BLOCK = 256 * 1024
GOAL, GAIN = 2.0, 1.5
KINDS = {"caddy": caddy_lines, "nginx": nginx_lines, "roundtrip": roundtrip_lines}


def bare(path: Path, decoder: Any) -> int:
    """Decode the file in blocks, and nothing else."""
    count = 0
    rest = b""
    with path.open("rb") as file:
        while data := file.read(BLOCK):
            data = rest + data
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            count += len(decoder.decode_lines(data[:end]))
    return count


def struct_of_replay() -> Any:
    """Return the decoder that `replay` uses once it has seen a line whose duration is no whole number."""
    shape = Shape(LogRules())
    shape.durations_are_seconds()
    return shape.decoder


def replay(path: Path, processes: int = 1) -> int:
    """Decide about the file as the command does, in one process or with the help of others."""
    past = Past(Config(), [str(path)], processes=processes)
    for _ in past.decisions():
        pass
    return past.replay.engine.attempts


def timed(what: Callable[..., int], *arguments: Any) -> float:
    """Return how many seconds it takes."""
    begin = time.perf_counter()
    what(*arguments)
    return time.perf_counter() - begin


def compared(path: Path, decoder: Any, lines: int, rounds: int, *, is_healthy: bool) -> None:
    """Print `replay` against the bare loop; the bounds are those of a healthy log."""
    bare(path, decoder)
    took = [(timed(bare, path, decoder), timed(replay, path), timed(replay, path, cores())) for _ in range(rounds)]
    loop, whole, helped = (statistics.median(one) for one in zip(*took, strict=True))
    ratio, gain = (statistics.median(one) for one in zip(*((b / a, b / c) for a, b, c in took), strict=True))
    print(f"bare decode loop  {lines / loop:10,.0f} lines/s")
    print(f"replay, one core  {lines / whole:10,.0f} lines/s")
    print(f"times the loop    {ratio:10.2f}" + f"   (at most {GOAL})" * is_healthy)
    if cores() > 1:
        print(f"replay, {cores():3} cores {lines / helped:10,.0f} lines/s")
        print(f"times one core    {gain:10.2f}" + f"   (at least {GAIN} on two)" * is_healthy)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="replay against the bare decoding loop")
    parser.add_argument("--lines", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--failing", type=float, nargs="*", default=[0.0, 0.02], help="shares of lines with a 500")
    parser.add_argument("--kind", choices=list(KINDS), default="caddy", help="what is replayed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.kind == "caddy":
            for failing in options.failing:
                caddy = write(Path(folder) / "caddy.jsonl", caddy_lines(options.lines, failing=failing))
                print(f"{failing:.0%} failing")
                compared(caddy, struct_of_replay(), options.lines, options.rounds, is_healthy=not failing)
            return
        caddy = write(Path(folder) / "caddy.jsonl", caddy_lines(options.lines, failing=options.failing[0]))
        path = write(Path(folder) / "other.jsonl", KINDS[options.kind](options.lines, failing=options.failing[0]))
        took = [(timed(replay, caddy), timed(replay, path)) for _ in range(options.rounds)]
    first, second = (statistics.median(one) for one in zip(*took, strict=True))
    ratio = statistics.median(other / one for one, other in took)
    print(f"replay, caddy     {options.lines / first:10,.0f} lines/s")
    print(f"replay, {options.kind:9} {options.lines / second:10,.0f} lines/s")
    print(f"time per line     {ratio:10.2f}   of a Caddy line's")


if __name__ == "__main__":
    main()
