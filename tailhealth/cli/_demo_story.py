"""The demo's story: one node wedges, is found, ejected, unwedged, readmitted and recovers; and what the clients saw of it.

The story goes on by what the controller decides, never by a timetable, so it tells the truth about how long things took.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum, StrEnum
from math import inf
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tailhealth.cli._demo_clients import Result, Seen
from tailhealth.core.model import Action, Decision
from tailhealth.views.text import duration

WARM_UP, REST, FAREWELL, LIMIT = 8.0, 4.0, 4.0, 80.0
"""Seconds: before the wedge, from the ejection to the unwedging, after the recovery, and for all of it at most."""


class Act(IntEnum):
    """How far the story is."""

    HEALTHY = 0
    WEDGED = 1
    EJECTED = 2
    UNWEDGED = 3
    READMITTED = 4
    RECOVERED = 5
    OVER = 6


class Patient(NamedTuple):
    """The node that the story is about, and what can be done to it."""

    address: str
    wedge: Callable[[], None]
    unwedge: Callable[[], None]


class Story:
    """Goes on when it is told what was decided up to now.

    Args:
        patient: The node that wedges.
        now: When it begins, in epoch seconds.
    """

    def __init__(self, patient: Patient, now: float) -> None:
        self.patient = patient
        self.act = Act.HEALTHY
        self.began = now
        self.times: dict[Act, float] = {}
        self.others_out: set[str] = set()
        """Healthy nodes that were ejected: there should be none."""

    @property
    def is_complete(self) -> bool:
        """Tell whether it came to its good end."""
        return self.act is Act.OVER

    def is_over(self, now: float) -> bool:
        """Tell whether it ended, well or for want of time."""
        return self.is_complete or now >= self.began + LIMIT

    def go_on(self, decisions: Iterable[Decision], now: float) -> None:
        """Do what comes next, if its time has come."""
        for one in decisions:
            if one.upstream == self.patient.address:
                self._decided(one)
            elif one.action is Action.EJECT:
                self.others_out.add(one.upstream)
        if self.act is Act.HEALTHY and now >= self.began + WARM_UP:
            self.patient.wedge()
            self._reach(Act.WEDGED, now)
        elif self.act is Act.EJECTED and now >= self.times[Act.EJECTED] + REST:
            self.patient.unwedge()
            self._reach(Act.UNWEDGED, now)
        elif self.act is Act.RECOVERED and now >= self.times[Act.RECOVERED] + FAREWELL:
            self._reach(Act.OVER, now)

    def _decided(self, decision: Decision) -> None:
        following = {
            (Act.WEDGED, Action.EJECT): Act.EJECTED,
            (Act.UNWEDGED, Action.READMIT): Act.READMITTED,
            (Act.READMITTED, Action.RECOVERED): Act.RECOVERED,
        }.get((self.act, decision.action))
        if following is not None and decision.at >= self.times[Act(following - 1)]:
            self._reach(following, decision.at)

    def _reach(self, act: Act, at: float) -> None:
        self.act = act
        self.times[act] = at

    def caption(self) -> str:
        """Say what is going on."""
        name = self.patient.address
        return {
            Act.HEALTHY: f"Four nodes answer in 0.1 to 0.6 s. Soon {name} will wedge.",
            Act.WEDGED: f"{name} is wedged: /api/chat hangs, /api/version still answers. Clients give up after 1.5 s.",
            Act.EJECTED: f"{name} was found and is out. The others carry the load.",
            Act.UNWEDGED: f"{name} works again. Nothing probes it: it returns when its time is over.",
            Act.READMITTED: f"{name} is back on probation, with one request at a time.",
            Act.RECOVERED: f"{name} has proved itself. All is as it was.",
            Act.OVER: "The end.",
        }[self.act]


def summary(story: Story, seen: Sequence[Seen], strangers: int, *, restored: bool) -> RenderableType:
    """Tell what the clients saw, who was out when, and what tailhealth left behind.

    Args:
        story: The story, ended.
        seen: What the clients saw.
        strangers: Requests at the nodes that did not come from the clients.
        restored: Caddy's configuration is what it was before, byte for byte.
    """
    times, name = story.times, story.patient.address
    lines: list[RenderableType] = [_phases(story, seen), Text()]
    if Act.EJECTED in times:
        lines.append(Text(f"{name} wedged, and was ejected {duration(times[Act.EJECTED] - times[Act.WEDGED])} later."))
    if Act.READMITTED in times:
        lines.append(Text(f"It was out for {duration(times[Act.READMITTED] - times[Act.EJECTED])}."))
    if Act.RECOVERED in times:
        lines.append(Text(f"It proved itself within {duration(times[Act.RECOVERED] - times[Act.READMITTED])}."))
    others = ", ".join(sorted(story.others_out)) or "none"
    lines += [
        Text(f"Healthy nodes that were ejected: {others}."),
        Text(f"Requests at the nodes that no client sent: {strangers}. (tailhealth never probes.)"),
        Text("Caddy's configuration is byte for byte what it was." if restored else "Caddy's configuration was NOT restored."),
    ]
    return Group(*lines)


def _phases(story: Story, seen: Sequence[Seen]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("what the clients saw", no_wrap=True)
    for title in ("requests", *Result):
        table.add_column(title, justify="right")
    phases = Counter((_phase(one, story.times), one.result) for one in seen)
    for phase in Phase:
        counts = [phases[phase, result] for result in Result]
        table.add_row(Text(phase), *(Text(str(count)) for count in (sum(counts), *counts)))
    return table


class Phase(StrEnum):
    """A part of the story, as the clients lived through it."""

    BEFORE = "before the wedge"
    WEDGED = "wedged, not yet out"
    OUT = "out"
    BACK = "back in rotation"


def _phase(one: Seen, times: Mapping[Act, float]) -> Phase:
    """Tell to which phase a request belongs: what ran into the wedge is its victim, whenever it began."""
    if one.ended < times.get(Act.WEDGED, inf):
        return Phase.BEFORE
    if one.started < times.get(Act.EJECTED, inf):
        return Phase.WEDGED
    return Phase.OUT if one.started < times.get(Act.READMITTED, inf) else Phase.BACK
