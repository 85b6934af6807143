"""How lines were read, for scripts and for people (DESIGN section 9, `parse`)."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import tzinfo
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tailhealth.core.model import Attempt, Outcome, Verdict
from tailhealth.logs.reading import Tally
from tailhealth.views.records import VERSION
from tailhealth.views.text import clock, harmless, short

ROWS = 1000
"""So many upstreams have a row; the others share one (a placeholder in a dial address makes a new one at every request)."""
OTHERS = "(others)"
LONGEST = 120
"""Characters of a path or an address that people are shown."""

_COUNTS = (*("lines", "records", "attempts", "unattributed", "pool_events", "aborted", "duplicates", "excluded", "other"),)


def attempt_record(attempt: Attempt, outcome: Outcome, path: str, line: int | None) -> dict[str, Any]:
    """Return an attempt as an object. Query strings and addresses of clients stay out."""
    return {
        "v": VERSION,
        "file": path,
        "offset": attempt.offset,
        "line": line,
        "method": attempt.method,
        "path": attempt.path,
        "upstream": attempt.upstream,
        "ended": attempt.ended,
        "duration": attempt.duration,
        "header": attempt.header,
        "status": attempt.status,
        "end": attempt.end.value,
        "outcome": outcome.verdict.value,
        "kind": outcome.kind.value if outcome.kind is not None else None,
    }


def attempt_line(attempt: Attempt, outcome: Outcome, zone: tzinfo) -> str:
    """Write an attempt for people, in one line: when, where, how it was judged, what was asked and how long it took."""
    judged = f"{outcome.verdict} ({outcome.kind})" if outcome.kind is not None else str(outcome.verdict)
    took = f"header {short(attempt.header)}, whole {short(attempt.duration)}"
    asked = harmless(f"{attempt.method} {attempt.path}".strip(), LONGEST)
    status = "-" if attempt.status is None else attempt.status
    return f"{clock(attempt.ended, zone)} {harmless(attempt.upstream, LONGEST)} {judged}: {status} {asked} ({took})"


def parse_summary(tally: Tally, notes: list[str]) -> dict[str, Any]:
    """Return the last object: what the lines were."""
    return {
        "v": VERSION,
        "summary": {
            **{name: getattr(tally, name) for name in _COUNTS},
            "skipped": {str(reason): count for reason, count in tally.skipped.items()},
            "hints": list(tally.hints.values()),
            "notes": notes,
        },
    }


class Outcomes:
    """Counts outcomes by upstream, in flat memory."""

    def __init__(self) -> None:
        self._by: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, upstream: str, outcome: Outcome) -> None:
        """Count one outcome."""
        row = self._by[upstream if upstream in self._by or len(self._by) < ROWS else OTHERS]
        row[outcome.verdict] += 1
        if outcome.kind is not None:
            row[f"{outcome.verdict} {outcome.kind}"] += 1

    def table(self) -> Table:
        """Show them."""
        table = Table("upstream", "good", "bad", "ignored", box=None, pad_edge=False, header_style="bold")
        for column in table.columns[1:]:
            column.justify = "right"
        for upstream, row in sorted(self._by.items()):
            cells = [_with_kinds(row, verdict) for verdict in Verdict]
            table.add_row(Text(harmless(upstream, 60)), *cells)
        return table


def _with_kinds(row: Counter[str], verdict: Verdict) -> Text:
    kinds = [(count, name.partition(" ")[2]) for name, count in row.items() if name.startswith(f"{verdict} ")]
    told = ", ".join(f"{kind} {count}" for count, kind in sorted(kinds, key=lambda one: (-one[0], one[1])))
    return Text(f"{row[verdict]}" + (f" ({told})" if told else ""))


def summary(tally: Tally, outcomes: Outcomes, notes: list[str]) -> Group:
    """Show what the lines were, how each upstream did, and what is wrong with the setup."""
    counts = Table.grid(padding=(0, 2))
    for name in _COUNTS:
        value = getattr(tally, name)
        if value or name in {"lines", "records", "attempts"}:
            counts.add_row(name.replace("_", " "), Text(f"{value}", justify="right"))
    for reason, count in tally.skipped.items():
        counts.add_row(
            f"skipped: {str(reason).replace('_', ' ')}",
            Text(f"{count}", justify="right"),
            Text(harmless(tally.examples.get(reason, b"").decode("utf-8", "replace"), 80), style="dim"),
        )
    parts: list[RenderableType] = [counts, Text(""), outcomes.table()] if tally.attempts else [counts]
    hints = [Text.assemble(("hint: ", "bold yellow"), harmless(text)) for text in tally.hints.values()]
    parts += [Text(""), *hints] if hints else []
    return Group(*parts, *(Text(f"note: {harmless(note)}") for note in notes))
