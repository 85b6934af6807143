"""The loop of a live view: ask the scene, draw, wait for a key."""

from __future__ import annotations

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.live import Live

from tailhealth.cli._common import Wrong
from tailhealth.cli._terminal import RESIZED, Terminal
from tailhealth.views.frame import Frame, Look
from tailhealth.views.keys import press
from tailhealth.views.top import render, still

EVERY = 0.5
"""Seconds between two pictures."""


class Scene(Protocol):
    """What is looked at."""

    @property
    def mode(self) -> str:
        """Say where it comes from, for the title."""
        ...

    @property
    def stops(self) -> bool:
        """Tell whether its time stands still during a pause. What is live must be read on."""
        ...

    @property
    def over(self) -> bool:
        """Tell whether the view shall end by itself."""
        ...

    def frame(self) -> Frame:
        """Read on and return what there is to see now."""
        ...


def console() -> Console:
    """Return standard output as a console: colours only on a terminal, and none where `NO_COLOR` is set."""
    return Console(highlight=False, markup=False, emoji=False)


def is_interactive(out: Console) -> bool:
    """Tell whether a live view can be drawn."""
    return out.is_terminal and not out.is_dumb_terminal and sys.stdout.isatty()


def print_still(scene: Scene, look: Look, out: Console) -> None:
    """Print one picture, as high as it needs to be."""
    frame = scene.frame()
    out.print(still(frame, look._replace(mode=scene.mode, plain=is_ascii(out)), out.width), soft_wrap=False)


def watch(scene: Scene, look: Look, out: Console) -> None:
    """Show a scene until it is over or somebody quits.

    Raises:
        Wrong: Standard output is no terminal.
    """
    if not is_interactive(out):
        raise Wrong("a live view needs a terminal: `tailhealth top --once` prints one picture, `tailhealth status` the state")
    with Terminal() as terminal, Live(console=out, screen=True, auto_refresh=False, redirect_stderr=False) as live:
        _loop(scene, look._replace(plain=is_ascii(out)), terminal, live, out)


def _loop(scene: Scene, start: Look, terminal: Terminal, live: Live, out: Console) -> None:
    look: Look | None = start
    shown: Frame | None = None
    while look is not None and not scene.over:
        if shown is None or not (look.paused and scene.stops):
            fresh = scene.frame()
            shown = shown if look.paused and shown is not None else fresh
        due = time.monotonic() + EVERY
        while look is not None:
            picture = render(shown, look._replace(mode=scene.mode), out.width, out.height)
            live.update(picture, refresh=True)
            key = terminal.key(due - time.monotonic())
            if key is None:
                break
            look = look if key == RESIZED else press(look, key)


def is_ascii(out: Console) -> bool:
    """Tell whether what is printed may hold ASCII only."""
    return not out.encoding.lower().startswith("utf")
