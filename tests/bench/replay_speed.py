"""How fast `replay` is, as a ratio to the bare decoding loop over the same file with the same struct (DESIGN section 10).

    python -m tests.bench.replay_speed [--lines 300000] [--rounds 5]

Both are timed in this process, in turn, file read included; the figure is the median of the ratios. `replay` is
everything that the command does but starting Python and printing.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tailhealth.config import Config
from tailhealth.logs.caddy_shape import Shape
from tailhealth.logs.rules import LogRules
from tailhealth.service.replaying import Past
from tests.bench.lines import caddy_lines, write

BLOCK = 256 * 1024
GOAL = 2.5


def bare(path: Path) -> int:
    """Decode the file in blocks, and nothing else."""
    decoder = Shape(LogRules()).decoder
    count = 0
    rest = b""
    with path.open("rb") as file:
        while data := file.read(BLOCK):
            data = rest + data
            end = data.rfind(b"\n") + 1
            rest = data[end:]
            count += len(decoder.decode_lines(data[:end]))
    return count


def replay(path: Path) -> int:
    """Decide about the file as the command does."""
    past = Past(Config(), [str(path)])
    for _ in past.decisions():
        pass
    return past.replay.engine.attempts


def timed(what: Callable[[Path], int], path: Path) -> float:
    """Return how many seconds it takes."""
    begin = time.perf_counter()
    what(path)
    return time.perf_counter() - begin


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="replay against the bare decoding loop")
    parser.add_argument("--lines", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--failing", type=float, default=0.02, help="share of lines with a 500")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "access.jsonl", caddy_lines(options.lines, failing=options.failing))
        bare(path)
        rounds = [(timed(bare, path), timed(replay, path)) for _ in range(options.rounds)]
    loop, whole = (statistics.median(one) for one in zip(*rounds, strict=True))
    ratio = statistics.median(second / first for first, second in rounds)
    print(f"bare decode loop  {options.lines / loop:10,.0f} lines/s")
    print(f"replay            {options.lines / whole:10,.0f} lines/s")
    print(f"ratio             {ratio:10.2f}   (at most {GOAL})")


if __name__ == "__main__":
    main()
