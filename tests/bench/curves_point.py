"""One point of a curve: replays LOG by CONFIG in this process alone, and prints as JSON what it took.

`python -m tests.bench.curves_point CONFIG LOG`
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from tailhealth.config import load
from tailhealth.service.replaying import Past


def resident() -> int:
    """Return how many KB of this process were resident at the most.

    `ru_maxrss` would be no less than the size of the process that started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split(maxsplit=1)[0])


def used() -> float:
    """Return the processor seconds of this process and of those that it started and that ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def main(config: str, log: str) -> None:
    """Replay as the command does, but for printing."""
    begin = used()
    past = Past(load(Path(config)), [log])
    for _ in past.decisions():
        pass
    print(json.dumps({"seconds": used() - begin, "peak": resident(), "attempts": past.replay.engine.attempts}))


if __name__ == "__main__":
    main(*sys.argv[1:])
