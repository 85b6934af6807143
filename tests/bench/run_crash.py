"""SIGKILL of the whole controller at every step of eject and readmit on a real Caddy, many times each: prints what was left.

`python -m tests.bench.run_crash [TIMES]`; every second time `tailhealth restore` is called before the next start.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.real.caddy import caddy, logged, reverse_proxy
from tests.real.crash import Action
from tests.real.dying_run import Step, death

WEIGHTED = {"selection_policy": {"policy": "weighted_round_robin", "weights": [10, 1, 1]}}


def main(times: int) -> int:
    """Print the table; the exit code tells whether all deaths were survived."""
    out = sys.stdout.write
    out("| dies | while | whole list at once | victim out at once | sound after restart, restore and stop |\n")
    out("|---|---|---|---|---|\n")
    broken = 0
    handlers = logged(reverse_proxy("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", load_balancing=WEIGHTED))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "caddy").mkdir()
        with caddy(Path(folder) / "caddy", handlers) as proxy:
            everything = proxy.dials()
            for action in Action:
                for step in Step:
                    seen = Counter[str]()
                    for number in range(times):
                        own = Path(folder) / f"{action.name}-{step.name}-{number}"
                        own.mkdir()
                        outcome = death(proxy, own, action, step, restores=number % 2 == 1)
                        seen["whole" if outcome.at_once == everything else "out"] += 1
                        seen["sound"] += outcome.sound(everything, action)
                    broken += times - seen["sound"]
                    out(f"| {step} | {action} | {seen['whole']} | {seen['out']} | {seen['sound']} of {times} |\n")
                    sys.stdout.flush()
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
