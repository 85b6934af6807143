"""Constant ejecting and readmitting on a real Caddy: memory and file descriptors of the reconciler over time.

`python -m tests.bench.soak [SECONDS]` prints a row every tenth of the time; the exit code tells whether both stayed flat.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from tailhealth.proxies.base import UpstreamState
from tailhealth.service.state import Wish
from tests.real.caddy import caddy, reverse_proxy
from tests.real.running import A, B, C, Running

ROWS = 10
GROWTH = 4 << 20
"""Bytes that the process may grow by after the first row: the allocator's own breath."""


def memory() -> int:
    """Resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    """Open file descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


def main(seconds: float) -> int:
    """Run and print."""
    out = sys.stdout.write
    out("| s | changes | memory MiB | descriptors | ms a change |\n|---|---|---|---|---|\n")
    rows: list[tuple[int, int]] = []
    with tempfile.TemporaryDirectory() as folder, caddy(Path(folder), [reverse_proxy(A, B, C)], debug=False) as proxy:
        running = Running(Path(folder), proxy)
        running.step()
        original = proxy.raw_config()
        (group,) = running.reconciler.groups
        began = last = time.monotonic()
        changes = before = 0
        while len(rows) < ROWS:
            for upstream in (A, B, C):
                for state in (UpstreamState.OUT, UpstreamState.LIMITED, UpstreamState.SERVING):
                    running.reconciler.desire(group.name, upstream, Wish(state, running.now))
                    running.now += 30
                    conditions = running.step().conditions
                    if conditions:
                        raise RuntimeError(f"after {changes} changes it is not well: {conditions[0].kind}: {conditions[0].why}")
                    running.inputs.clear()
                    changes += 1
            now = time.monotonic()
            if now - began >= seconds / ROWS * (len(rows) + 1):
                rows.append((memory(), descriptors()))
                spent = (now - last) / (changes - before) * 1000
                out(f"| {now - began:.0f} | {changes} | {rows[-1][0] / (1 << 20):.1f} | {rows[-1][1]} | {spent:.1f} |\n")
                sys.stdout.flush()
                last, before = now, changes
        running.reconciler.restore(running.now)
        same = proxy.raw_config() == original
        running.close()
    flat = rows[-1][0] - rows[0][0] < GROWTH and rows[-1][1] == rows[0][1]
    out(f"configuration as before: {same}; flat: {flat}\n")
    return int(not (flat and same))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0))
