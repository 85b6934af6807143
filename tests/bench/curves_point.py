"""One point of a curve: replays LOG by CONFIG in this process alone, and prints as JSON what it took.

`python -m tests.bench.curves_point CONFIG LOG`
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tailhealth.config import load
from tailhealth.service.replaying import Past


def resident(key: str) -> int:
    """Return a size of this process in KB: `VmRSS` now, or `VmHWM` at its most.

    `ru_maxrss` would be no less than the size of the process that started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{key}:")[2].split(maxsplit=1)[0])


def main(config: str, log: str) -> None:
    """Replay as the command does, but for printing."""
    start = resident("VmRSS")
    begin = time.perf_counter()
    past = Past(load(Path(config)), [log])
    decisions = sum(1 for _ in past.decisions())
    seconds = time.perf_counter() - begin
    told = {
        "seconds": seconds,
        "start": start,
        "peak": resident("VmHWM"),
        "attempts": past.replay.engine.attempts,
        "decisions": decisions,
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
