"""A test that starts another program says so: what is left without the markers `real` and `outside` is the fast part."""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest

MARKERS = ("real", "outside")
STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
"""What Python's audit calls the start of a process."""


class Alone:
    """Fails every test that starts a process and has no marker for it."""

    def __init__(self) -> None:
        self._alone = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, _: tuple[object, ...]) -> None:
        if self._alone and event in STARTS:
            pytest.fail(f"{event}: a test that starts a process has the marker `outside`")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Listen while a test runs that promised to stay alone."""
        self._alone = not any(item.get_closest_marker(name) for name in MARKERS)
        try:
            return (yield)
        finally:
            self._alone = False
