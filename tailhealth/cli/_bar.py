"""How far a long input is read, shown on standard error."""

from __future__ import annotations

import sys
from contextlib import ExitStack

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

_LONG = 32 << 20
"""Bytes from which on a progress bar is shown."""


class Bar:
    """Shows how far a long input is read, if standard error is a terminal.

    Args:
        stack: Takes the bar away again when it is left.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._progress: Progress | None = None

    def __call__(self, done: int, total: int | None) -> None:
        """Bytes were read."""
        if self._progress is None:
            if not sys.stderr.isatty() or (total or 0) < _LONG:
                return
            columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._progress = self._stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            self._progress.add_task("", total=total)
        self._progress.update(self._progress.task_ids[0], completed=done)
