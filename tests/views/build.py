"""Short ways to values for the tests of the views."""

from __future__ import annotations

from datetime import UTC
from typing import Any, NamedTuple

from rich.console import Console, RenderableType

from tailhealth.core.model import Action, Attempt, Counts, Decision, End, Evidence, Kind, Outcome, Reason, Source, Verdict
from tailhealth.core.view import PoolView, Standing, UpstreamView, View
from tailhealth.views.frame import Frame
from tailhealth.views.stats import StatsView

T0 = 1_795_946_400.0
"""2026-11-29 10:00:00 UTC."""
A, B = "10.0.0.1:8080", "10.0.0.2:8080"
GOOD = Outcome(Verdict.GOOD)
UTC_ZONE = UTC


def bad(kind: Kind) -> Outcome:
    """Make a bad outcome."""
    return Outcome(Verdict.BAD, kind)


def attempt(ended: float, header: float | None = 0.2, upstream: str = A, **more: Any) -> Attempt:
    """Make an attempt that was answered (or, without a header time, abandoned after 5 s)."""
    values: dict[str, Any] = {
        "end": End.ABANDONED if header is None else End.ANSWERED,
        "started": ended - (5.0 if header is None else header),
        "status": None if header is None else 200,
        "header": header,
        "header_came": header is not None,
        "duration": 5.0 if header is None else header,
    }
    return Attempt(ended=ended, upstream=upstream, **(values | more))


def decision(action: Action, reason: Reason, **more: Any) -> Decision:
    """Make a decision about B, on the evidence of DESIGN section 9."""
    values: dict[str, Any] = {
        "at": T0 + 5,
        "pool": "log",
        "upstream": B,
        "source": Source.POLICY,
        "enforced": True,
        "until": None,
        "strikes": 0,
        "evidence": EVIDENCE,
    }
    return Decision(action=action, reason=reason, **(values | more))


EVIDENCE = Evidence(8, 6, {"status": 1, "abandoned": 5}, Counts(24, 0), 3.1e-5)


def upstream(address: str = A, **more: Any) -> UpstreamView:
    """Make the view of a serving upstream."""
    values: dict[str, Any] = {
        "standing": Standing.SERVING, "ejection": None, "withheld": None, "pinned": False, "protected": False, "strikes": 0,
        "weight": 1, "backup": False, "counted": 8, "bad": 0, "kinds": {}, "in_flight": 2, "streaming": 0, "stalled": 0,
        "probation_good": 0, "probation_needs": 3, "good_total": 100, "bad_total": {}, "ignored_total": {}, "ejections": 0,
        "out_seconds": 0.0, "avoided_bad": 0, "lost_good": 0,
    }  # fmt: skip
    return UpstreamView(address=address, **(values | more))


def pool(*upstreams: UpstreamView, name: str = "log", **more: Any) -> PoolView:
    """Make the view of a pool."""
    values: dict[str, Any] = {"enforced": True, "paused": False, "blind": {}, "stalled_off": None}
    return PoolView(name=name, upstreams=upstreams, **(values | more))


def view(*pools: PoolView, **more: Any) -> View:
    """Make a view."""
    values: dict[str, Any] = {"at": T0, "attempts": 0, "late_lines": 0, "unmanaged_attempts": 0, "unmanaged": ()}
    return View(pools=pools, **(values | more))


class Input(NamedTuple):
    """A log's health."""

    path: str = "/var/log/caddy/access.log"
    state: str = "following"
    why: str = ""
    lines: int = 1234
    skipped: dict[str, int] = {}  # noqa: RUF012 - a tuple's default; nobody changes it
    newest: float | None = T0
    late_by: float | None = 0.1
    hints: dict[str, str] = {}  # noqa: RUF012 - as above


def frame(shown: View, stats: StatsView | None = None, **more: Any) -> Frame:
    """Make a frame at T0 with one healthy log."""
    values: dict[str, Any] = {"inputs": (Input(),), "decisions": (), "now": T0}
    return Frame(view=shown, stats=stats or StatsView(T0), **(values | more))


def drawn(what: RenderableType, width: int = 80, height: int = 24, *, color: bool = False) -> str:
    """Render for a terminal of this size, without colour unless asked for."""
    console = Console(
        width=width, height=height, record=False, force_terminal=color, color_system="truecolor" if color else None, _environ={}
    )
    with console.capture() as capture:
        console.print(what)
    return capture.get()
