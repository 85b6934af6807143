"""The report of a replay: one HTML file that needs nothing else (DESIGN section 9).

It asks the network for nothing, and its content security policy forbids the browser to. Only the two scripts whose hashes
stand in that policy run; `unsafe-eval` lets plotly's WebGL library build its drawing functions, and nothing of a log is in
them. Text from logs is shown as text, never as HTML.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from tailhealth.core.rules import Settings
from tailhealth.views.points import Points
from tailhealth.views.report_data import Told, embedded, report_data
from tailhealth.views.report_summary import About, notes_html, summary_html


class NoPlotlyError(Exception):
    """The extra `[report]` is not installed; the text says how to get it."""


def plotly_script() -> str:
    """Return plotly.js.

    Raises:
        NoPlotlyError: plotly is not installed.
    """
    try:
        from plotly.offline import get_plotlyjs  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        text = "a report needs plotly, which is not installed: pip install 'tailhealth[report]'"
        raise NoPlotlyError(text) from None
    return str(get_plotlyjs())


def report(about: About, told: Told, points: Points, settings: Settings, plotly: str) -> str:
    """Write the page.

    Args:
        about: What was read, by which rules.
        told: What came of it.
        points: All attempts.
        settings: The rules, for the thresholds.
        plotly: plotly.js.
    """
    folder = files("tailhealth.views") / "page"
    script = (folder / "page.js").read_text("utf-8")
    values = {
        "scripts": " ".join(f"'sha256-{_digest(one)}'" for one in (plotly, script)),
        "style": (folder / "page.css").read_text("utf-8"),
        "summary": summary_html(about, told),
        "notes": notes_html(about, told.view, points),
        "data": embedded(report_data(told, points, settings)),
        "plotly": plotly,
        "script": script,
    }
    template = (folder / "page.html").read_text("utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def _digest(script: str) -> str:
    return b64encode(sha256(script.encode()).digest()).decode()
