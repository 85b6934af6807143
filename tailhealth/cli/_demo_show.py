"""The demo as something to look at: `top`'s view of the running controller, with a line on what is going on."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tailhealth.cli._demo_proxy import Process
from tailhealth.cli._demo_story import Act, Story
from tailhealth.cli._scenes import Attached
from tailhealth.cli._screen import EVERY
from tailhealth.views.frame import Frame, Look
from tailhealth.views.tables import style
from tailhealth.views.text import duration, sentence


class Show:
    """A scene for `watch`: the controller's state, and the story that goes on with it.

    Args:
        attached: The running controller.
        story: What happens.
        processes: Who must stay alive for it.
    """

    stops = False
    mode = "demo"

    def __init__(self, attached: Attached, story: Story, processes: Sequence[Process]) -> None:
        self._attached = attached
        self._story = story
        self._processes = processes

    @property
    def over(self) -> bool:
        """See `Scene`."""
        return self._story.is_over(time.time())

    def frame(self) -> Frame:
        """See `Scene`.

        Raises:
            Failure: Caddy or the controller has ended.
        """
        for process in self._processes:
            process.check()
        frame = self._attached.frame()
        self._story.go_on(frame.decisions, time.time())
        return frame._replace(caption=self._story.caption())


def tell(show: Show, story: Story, look: Look, out: Console) -> None:
    """Tell the story line by line, where there is no terminal to draw on."""
    pause, told, act = threading.Event(), 0, None
    while not show.over:
        frame = show.frame()
        for one in frame.decisions[told:]:
            out.print(Text(sentence(one, look.zone), style=style(one)), soft_wrap=True)
        told = len(frame.decisions)
        if story.act is not act and story.act is not Act.OVER:
            act = story.act
            out.print(Text(f"after {duration(time.time() - story.began)}: {story.caption()}", style="bold"), soft_wrap=True)
        pause.wait(EVERY)
