"""Makes the pictures of the README from a sample, with the project's own drawing: `python -m tests.pictures --write`.

The one of `top` is text as it stands on a terminal, drawn by rich; the one of the report is what a Chromium shows of the page.
"""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import tempfile
from contextlib import closing
from io import StringIO
from itertools import count
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.terminal_theme import TerminalTheme

ROOT = Path(__file__).resolve().parents[1]
if not __package__:
    # Started by its path: what it imports is found all the same.
    sys.path.insert(0, str(ROOT))

from tailhealth.cli._played import Played  # noqa: E402 - the path comes first
from tailhealth.config import load  # noqa: E402 - the path comes first
from tailhealth.service.inputs import InputView  # noqa: E402 - the path comes first
from tailhealth.views.frame import Frame, Look  # noqa: E402 - the path comes first
from tailhealth.views.top import render  # noqa: E402 - the path comes first
from tests.views.browser import PROGRAM, Browser  # noqa: E402 - the path comes first

PICTURES = ROOT / "contrib" / "pictures"
TOP, REPORT = PICTURES / "top.svg", PICTURES / "report.png"
SAMPLE = ROOT / "samples" / "a-wedged-node"
MOMENT = 1_796_030_425.0
"""2026-11-30 09:20:25 UTC: the wedged machine is out for the third time, and has more than a minute to go."""
SPEED = 60.0
LOG = "samples/a-wedged-node/access.jsonl"
SIZE = (118, 19)
HEIGHT = 1215
FOLDED = "!one.classList.contains('figure')"
THEME = TerminalTheme(
    (22, 27, 34),
    (201, 209, 217),
    [(72, 79, 88), (255, 123, 114), (126, 231, 135), (240, 197, 96), (121, 192, 255), (210, 168, 255), (118, 227, 234),
     (201, 209, 217)],
)  # fmt: skip
_FONT = re.compile(r"\s*@font-face \{[^}]*\}")


def frame() -> Frame:
    """Play the sample's history up to the moment, as `top --speed` does."""
    seconds = map(float, count())
    with closing(
        Played(load(SAMPLE / "tailhealth.toml"), [str(SAMPLE / "access.jsonl")], SPEED, lambda: next(seconds))
    ) as scene:
        shown = scene.frame()
        while shown.now < MOMENT:
            shown = scene.frame()
    # Where this machine keeps the sample is nobody's concern.
    return shown._replace(inputs=[msgspec.structs.replace(one, path=LOG) for one in shown.inputs if isinstance(one, InputView)])


def top() -> str:
    """Draw `top` at that moment as an SVG that asks for nothing from the network."""
    console = Console(
        width=SIZE[0], height=SIZE[1], record=True, file=StringIO(), force_terminal=True, color_system="truecolor", _environ={}
    )
    console.print(render(frame(), Look(mode=f"history x{SPEED:g}"), *SIZE))
    text = console.export_svg(title=f"tailhealth top {LOG} --speed {SPEED:g}", theme=THEME, unique_id="top")
    return "\n".join(line.rstrip() for line in _FONT.sub("", text).splitlines()) + "\n"


def report() -> bytes:
    """Let a Chromium show the page of `replay --report` on the same sample, and return the picture as PNG."""
    with tempfile.TemporaryDirectory(prefix="tailhealth-pictures-") as folder, Browser("--hide-scrollbars") as browser:
        page = Path(folder) / "report.html"
        words = ["replay", "-c", f"{SAMPLE.relative_to(ROOT)}/tailhealth.toml", "--report", str(page), LOG]
        # With paths as a reader of the README would type them.
        command = [sys.executable, "-m", "tailhealth", *words]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "TZ": "UTC"}, stdout=subprocess.DEVNULL, check=True)
        browser.prefer("light")
        browser.open(page)
        browser.evaluate(f"document.querySelectorAll('details').forEach((one) => {{ if ({FOLDED}) one.open = false; }})")
        browser.wait("document.querySelector('details.figure[open][data-drawn] .plotly')")
        clip = {"x": 0, "y": 0, "width": 1280, "height": HEIGHT, "scale": 1}
        return base64.b64decode(
            browser.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"]
        )


@click.command()
@click.option("--write", is_flag=True, help="Write the files; without it, only tell whether that of `top` is stale.")
def main(*, write: bool) -> None:
    """Make the pictures anew."""
    text = top()
    if not write:
        raise SystemExit(TOP.read_text(encoding="utf-8") != text)
    PICTURES.mkdir(exist_ok=True)
    TOP.write_text(text, encoding="utf-8")
    click.echo(f"{TOP.relative_to(ROOT)} written")
    if PROGRAM is None:
        click.echo("no Chromium is installed: the picture of the report stays as it is", err=True)
        return
    REPORT.write_bytes(report())
    click.echo(f"{REPORT.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
