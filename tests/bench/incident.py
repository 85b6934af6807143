"""Incident A on a real Caddy, a hundred times as fast: the proxy's own checks and tailhealth beside each other.

Four machines, eight clients that give up after 150 s; in the middle one machine wedges, and stays so.

`python -m tests.bench.incident [--seconds 60] [--row NAME]... [--markdown]` prints a row per way to deal with it; the exit
code tells whether tailhealth kept its promise: no healthy node out, at most 2 % failing in the last third. The node is tried
again after 30 s, 60 s and so on up to 10 min, and each try costs a request: below 60 s the last third begins before that
has become rare.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tailhealth.core.model import Action
from tests.bench.incident_nodes import ASKED, CHAT, VERSION, InferenceNode
from tests.bench.incident_watch import Fails, Removal, found_down
from tests.real.caddy import Caddy, caddy, logged, reverse_proxy
from tests.real.clients import Clients, asking
from tests.real.controller import SCALED, Controller, running

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SCALE = 100
"""Seconds of the incident in a second of the bench."""
NODES, WEDGES, CLIENTS, PATIENCE = 4, 1, 8, 1.5
WARM_UP = 1.0
"""Seconds until the counting begins: the checks have made up their minds about a healthy pool by then."""
MOST_FAILING = 0.02
POLICY = {"selection_policy": {"policy": "round_robin"}}
CONFIG = SCALED.replace('for = "{out}"', 'for = "300ms"\nmax = "6s"')
"""The defaults with time at 1:100."""

MAX_FAILS = 2
INFERENCE = {"active": {"uri": CHAT, "interval": "150ms", "timeout": "100ms", "fails": 3, "passes": 1}}
PASSIVE = {
    "passive": {"fail_duration": "300ms", "max_fails": MAX_FAILS, "unhealthy_latency": "1200ms", "unhealthy_status": [5]}
}
LIVENESS = {"active": {"uri": VERSION, "interval": "50ms", "timeout": "3s"}}
"""Its timeout is that of the incident, not a hundredth: what a busy machine adds to an answer that comes at once is not a
hundred times as fast. With 30 ms Caddy took healthy nodes out because the bench had to wait for a processor."""


@dataclass(frozen=True, slots=True)
class Row:
    """One way to deal with the incident."""

    name: str
    title: str
    checks: dict[str, Any] = field(default_factory=dict)
    """Caddy's own `health_checks`."""
    tailhealth: bool = False


ROWS = (
    Row("none", "no checks"),
    Row("active", "active check of the inference path, 10 s", INFERENCE),
    Row("passive", "Caddy's passive check", PASSIVE),
    Row("passive-liveness", f"Caddy's passive check, `{VERSION}` liveness", PASSIVE | LIVENESS),
    Row("tailhealth", "tailhealth", tailhealth=True),
    Row("tailhealth-liveness", f"tailhealth, `{VERSION}` liveness", LIVENESS, tailhealth=True),
)


class Mark(NamedTuple):
    """What the clients had seen at a moment."""

    requests: int
    failed: int

    @classmethod
    def of(cls, clients: Clients) -> Mark:
        """Look now."""
        seen = clients.seen.copy()
        return cls(seen.total(), seen.total() - seen["200"])

    def since(self, earlier: Mark) -> Mark:
        """Return what came between."""
        return Mark(self.requests - earlier.requests, self.failed - earlier.failed)

    @property
    def share(self) -> float:
        """Which part failed, 0 to 1."""
        return self.failed / self.requests if self.requests else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """What a row came to."""

    before: Mark
    after: Mark
    end: Mark
    """The last third of the time."""
    hits: int
    """Requests of clients that reached the wedged node after the wedge."""
    healthy_removed: tuple[Removal, ...]
    out_after: float | None
    """Seconds of the incident from the wedge until the wedged node was taken out; None: it was not."""

    @property
    def is_kept(self) -> bool:
        """Tell whether this is what tailhealth promises."""
        return not self.healthy_removed and self.end.share <= MOST_FAILING


def measure(row: Row, seconds: float) -> Figures:
    """Let the incident happen, with everything of its own, for so many seconds."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        nodes = [InferenceNode(seed) for seed in range(NODES)]
        for node in nodes:
            stack.callback(node.stop)
        handler = reverse_proxy(*(one.address for one in nodes), load_balancing=POLICY, health_checks=row.checks)
        proxy = stack.enter_context(caddy(folder, logged(handler)))
        run = _tailhealth(folder, proxy, stack) if row.tailhealth else None
        fails = Fails(proxy.admin, MAX_FAILS)
        if "passive" in row.checks:
            fails.start()
            stack.callback(fails.stop)
        clients = stack.enter_context(asking(proxy.url + ASKED, CLIENTS, PATIENCE))
        marks, wedged_at, hits = _happen(clients, nodes[WEDGES], seconds)
        ejected = [Removal(one.upstream, one.at) for one in run.decisions() if one.action is Action.EJECT] if run else []
        removals = sorted([*found_down(proxy.own_log), *fails.removals, *ejected], key=lambda one: one.at)
    return figures(marks, removals, nodes[WEDGES].address, wedged_at, hits)


def figures(marks: Sequence[Mark], removals: Sequence[Removal], sick: str, wedged_at: float, hits: int) -> Figures:
    """Put together what was seen: marks at the start, the wedge, two thirds of the time and the end; removals by time."""
    start, wedge, late, end = marks
    right = [one.at - wedged_at for one in removals if one.upstream == sick and one.at >= wedged_at]
    wrong = tuple(one for one in removals if one.upstream != sick or one.at < wedged_at)
    return Figures(wedge.since(start), end.since(wedge), end.since(late), hits, wrong, right[0] * SCALE if right else None)


def _tailhealth(folder: Path, proxy: Caddy, stack: ExitStack) -> Controller:
    config = CONFIG.format(admin=proxy.admin, state=folder / "state", log=proxy.access_log)
    run = stack.enter_context(running(folder, config))
    run.wait_for_pools()
    return run


def _happen(clients: Clients, sick: InferenceNode, seconds: float) -> tuple[tuple[Mark, Mark, Mark, Mark], float, int]:
    pause = threading.Event()
    pause.wait(WARM_UP)
    start = Mark.of(clients)
    pause.wait(seconds / 2)
    wedged_at, asked = time.time(), sick.asked
    sick.wedge()
    wedge = Mark.of(clients)
    pause.wait(seconds / 6)
    late = Mark.of(clients)
    pause.wait(seconds / 3)
    return (start, wedge, late, Mark.of(clients)), wedged_at, sick.asked - asked


HEAD = (
    "",
    "requests",
    "failed before the wedge",
    "failed after it",
    "failing at the end",
    "hit the wedged node",
    "healthy nodes removed",
    "wedged node out after",
)


def cells(row: Row, shown: Figures) -> tuple[str, ...]:
    """Put a row into words."""
    nodes, times = len({one.upstream for one in shown.healthy_removed}), len(shown.healthy_removed)
    return (
        row.title,
        f"{shown.before.requests + shown.after.requests:,}",
        _failed(shown.before),
        _failed(shown.after),
        f"{shown.end.share:.1%}",
        f"{shown.hits:,}",
        f"{nodes} of {NODES}, {times} times" if times > nodes else f"{nodes} of {NODES}" if nodes else "0",
        _out_after(shown),
    )


def _out_after(shown: Figures) -> str:
    if shown.out_after is not None:
        return f"{shown.out_after:.0f} s"
    return "never" if shown.hits else "out already"


def _failed(mark: Mark) -> str:
    return f"{mark.failed:,} ({mark.share:.1%})" if mark.failed else "0"


def lines(table: Iterable[Sequence[str]], *, markdown: bool) -> Iterator[str]:
    """Write a table, a line at a time as its rows come."""
    widths = [max(len(one) + 2, 18) for one in HEAD]
    widths[0] = max(len(row.title) for row in ROWS)
    for number, row in enumerate(table):
        if markdown:
            yield f"| {' | '.join(row)} |\n" + ("|---" * len(row) + "|\n" if number == 0 else "")
        else:
            yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"


def main(seconds: float, names: Sequence[str], *, markdown: bool) -> int:
    """Print the table; return 1 if tailhealth broke its promise."""
    kept = True

    def table() -> Iterator[tuple[str, ...]]:
        nonlocal kept
        yield HEAD
        for row in ROWS:
            if not names or row.name in names:
                measured = measure(row, seconds)
                kept = kept and (measured.is_kept or not row.tailhealth)
                yield cells(row, measured)

    for line in lines(table(), markdown=markdown):
        sys.stdout.write(line)
        sys.stdout.flush()
    return int(not kept)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--row", action="append", default=[], choices=[row.name for row in ROWS])
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    sys.exit(main(given.seconds, given.row, markdown=given.markdown))
