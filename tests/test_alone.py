"""The fast part of the tests starts no process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

STARTS: list[Callable[[], object]] = [
    lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", ""], os.environ),
    os.fork,
]


@pytest.mark.parametrize("start", STARTS, ids=["subprocess", "spawn", "fork"])
def test_a_process_needs_the_marker(start: Callable[[], object]) -> None:
    """A test without a marker that starts one fails, whichever way it takes."""
    with pytest.raises(pytest.fail.Exception, match="`outside`"):
        start()


def test_the_folder_of_real_proxies_is_all_marked() -> None:
    """Where they are not wanted the folder is left unread: nothing else may live there."""
    files = list((Path(__file__).parent / "real").glob("test_*.py"))

    assert len(files) > 30
    assert [file.name for file in files if "pytest.mark.real" not in file.read_text()] == []


@pytest.mark.outside
def test_with_the_marker_it_may() -> None:
    """With it nothing stands in the way."""
    assert subprocess.run([sys.executable, "-S", "-c", ""], check=True).returncode == 0
