"""Ending what a test started."""

from __future__ import annotations

import subprocess

from tests.real.servers import DEADLINE


def end(process: subprocess.Popen[bytes] | None) -> None:
    """End a process, by force after the deadline."""
    if process is None:
        return
    process.terminate()
    try:
        process.wait(DEADLINE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(DEADLINE)
