"""What `top` costs while a log grows: its share of one core on a pseudo-terminal. `python -m tests.bench.top_cost`."""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from pathlib import Path
from threading import Event

from tests.bench.lines import caddy_lines
from tests.bench.process import cpu_seconds
from tests.cli.pseudo import Pseudo

GOAL = 0.05
"""Share of one core at 1,000 lines a second (issue 6)."""
_STEP = 0.1


def measured(rate: int, seconds: float, size: tuple[int, int]) -> float:
    """Let `top` look at a log that grows by `rate` lines a second; return its share of one core."""
    pause = Event()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "access.log"
        path.touch()
        lines = caddy_lines(int(rate * (seconds + 60)), failing=0.01, rate=float(rate))
        with Pseudo(["top", str(path)], size) as top, path.open("w", encoding="utf-8") as log:
            top.until_line("q quit")
            began, used, written = time.monotonic(), cpu_seconds(top.pid), 0
            while (elapsed := time.monotonic() - began) < seconds:
                while written < elapsed * rate:
                    log.write(re.sub(r'"ts":[0-9.]+', f'"ts":{time.time():.7f}', next(lines), count=1))
                    written += 1
                log.flush()
                top.drain()
                pause.wait(_STEP)
            share = (cpu_seconds(top.pid) - used) / (time.monotonic() - began)
            top.until_line("0.0.4:11434")
    return share


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=1000, help="lines a second")
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    for size in ((80, 24), (200, 50)):
        share = measured(given.rate, given.seconds, size)
        print(f"{size[0]}x{size[1]}: {share:.1%} of one core at {given.rate} lines/s (goal {GOAL:.0%})")


if __name__ == "__main__":
    main()
