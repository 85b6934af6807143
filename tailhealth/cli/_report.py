"""Writes the page of `replay --report`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from tailhealth.cli._common import Failure, Wrong
from tailhealth.config import Config
from tailhealth.core.model import Attempt, Decision, Outcome
from tailhealth.core.view import View
from tailhealth.views.points import Points
from tailhealth.views.report import NoPlotlyError, plotly_script, report
from tailhealth.views.report_data import Told
from tailhealth.views.report_summary import About
from tailhealth.views.tables import Period


class Page:
    """Gathers what the page shows, and writes it.

    Args:
        path: Where it goes.
        config: The rules of the replay.
        logs: What is replayed.
        name: What the page calls the rules.

    Raises:
        Wrong: plotly is not installed, or no file can be written there.
    """

    def __init__(self, path: Path, config: Config, logs: Sequence[str], name: str) -> None:
        if path.exists() and not path.is_file():
            raise Wrong(f"{path}: is no file: name the page to be written, such as report.html")
        if not path.absolute().parent.is_dir():
            raise Wrong(f"{path}: there is no such directory: create it first")
        try:
            self._plotly = plotly_script()
        except NoPlotlyError as error:
            raise Wrong(str(error)) from None
        self._path = path
        self._about = About(name, tuple(logs), ())
        self._settings = config.settings()
        self._points = Points(self._settings)

    def observe(self, attempt: Attempt, pool: str, upstream: str, outcome: Outcome) -> None:
        """Take one judged attempt (the engine's `Observer`)."""
        self._points.observe(attempt, pool, upstream, outcome)

    def write(self, view: View, decisions: Sequence[Decision], period: Period, notes: Sequence[str]) -> None:
        """Write the page, readable for its user only.

        Raises:
            Failure: It can't be written.
        """
        # A plot's axis knows no summer time: the offset of the beginning holds for the whole page.
        offset = datetime.fromtimestamp(period.start, period.zone).utcoffset()
        fixed = period if offset is None else period._replace(zone=timezone(offset))
        about = self._about._replace(notes=tuple(notes))
        text = report(about, Told(view, decisions, fixed), self._points, self._settings, self._plotly)
        try:
            _write_private(self._path, text.encode())
        except OSError as error:
            raise Failure(f"{self._path}: {error.strerror}: the report can't be written") from None


def _write_private(path: Path, content: bytes) -> None:
    """Write a file that only its user may read; one of that name stays until the new one is whole."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(content)
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise
