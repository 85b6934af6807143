"""SIGKILL at every step of eject and readmit on a real Caddy, many times each: prints what was left.

`python -m tests.bench.crash [TIMES]`
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.real.caddy import caddy, reverse_proxy
from tests.real.crash import ALL, Action, Point, crash

WEIGHTED = {"selection_policy": {"policy": "weighted_round_robin", "weights": [10, 1, 1]}}


def main(times: int) -> int:
    """Print the table; the exit code tells whether all crashes were survived."""
    out = sys.stdout.write
    out("| dies | while | whole list at once | victim out at once | sound after restart and restore |\n|---|---|---|---|---|\n")
    broken = 0
    with tempfile.TemporaryDirectory() as folder:
        proxy_folder = Path(folder) / "caddy"
        proxy_folder.mkdir()
        with caddy(proxy_folder, [reverse_proxy(*ALL, load_balancing=WEIGHTED)]) as proxy:
            for action in Action:
                for point in Point:
                    seen = Counter[str]()
                    for number in range(times):
                        outcome = crash(proxy, Path(folder) / f"{action}-{point.name}-{number}", action, point)
                        seen["whole" if outcome.at_once == ALL else "out"] += 1
                        seen["sound"] += outcome.sound
                    broken += times - seen["sound"]
                    out(f"| {point} | {action} | {seen['whole']} | {seen['out']} | {seen['sound']} of {times} |\n")
                    sys.stdout.flush()
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
