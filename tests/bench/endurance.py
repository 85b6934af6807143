"""Constant ejecting and readmitting by a whole controller on a real Caddy, with clients: memory and descriptors over time.

`python -m tests.bench.endurance [--minutes 10]` prints a row every tenth of the time; the exit code tells
whether both stayed flat.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.real.clients import asking
from tests.real.controller import running
from tests.real.endurance import Sample, endure
from tests.real.nodes import stage

GROWTH = 4 << 20
"""Bytes that it may need more at the end than after the first tenth."""
MORE_FILES = 3


def main(minutes: float) -> int:
    """Print the table; return 1 if it grew."""
    out = sys.stdout.write
    out("| rounds | seconds | resident MB | descriptors |\n|---|---|---|---|\n")
    rows: list[Sample] = []
    with tempfile.TemporaryDirectory() as name, stage(Path(name)) as scene:
        config = scene.config().replace('min_apply_interval = "100ms"', "min_apply_interval = 0")
        with running(Path(name), config) as run, asking(scene.proxy.url, count=4):
            run.wait_for_pools()
            begin = time.monotonic()
            end = begin + minutes * 60
            for one in endure(run, scene.addresses[0], lambda _: time.monotonic() >= end, 5):
                passed = time.monotonic() - begin
                if passed >= (len(rows) + 1) * minutes * 6:
                    rows.append(one)
                    out(f"| {one.rounds} | {passed:.0f} | {one.memory / 2**20:.1f} | {one.files} |\n")
                    sys.stdout.flush()
            out(f"changes in the proxy: {len(run.records('apply'))}\n")
    # A command that is being answered needs some of its own: what stays is what counts.
    files = min(one.files for one in rows[len(rows) // 2 :]) - rows[0].files
    growth = rows[-1].memory - rows[0].memory
    out(f"memory grew by {growth / 2**20:.1f} MB, descriptors by {files}\n")
    return int(files > MORE_FILES or growth > GROWTH)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=10.0)
    sys.exit(main(parser.parse_args().minutes))
