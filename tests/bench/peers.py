"""`replay` and other tools that read a log, on the same file on the same machine (DESIGN section 10).

    python -m tests.bench.peers [--lines 300000] [--rounds 3] [--kinds caddy nginx roundtrip] [--failing 0]

Prints one table with a part for each kind of log. Each peer extracts the time, status, duration, upstream and its latency, or
aggregates them per upstream; GoAccess makes its report. In each round all are timed in turn; a figure is the median of the
rounds, a comparison the median of the ratios within a round. After every timed run the result is compared with what stands in
the log: a peer that did not understand the lines is no fast one. The bounds are those that the project set itself for Caddy
lines of a healthy day; the exit status does not tell whether they are met, for machines differ.

`replay` runs on all cores, as the command does; loops in this process are compared with `replay` on one core.

The peers get the benefit of any doubt. Commands are timed as a whole, and what they take on a file of one line, in the same
round, is subtracted: neither their start nor ours counts. `replay` is timed in this process, with everything that the command
does but starting Python and printing. All read a file that is in the page cache, and write to a file beside it. Slow tools get
the first lines of the same file only (the table says how many).

What is not installed is left out, and the table says how to install it.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from tests.bench.peers_logs import KINDS, Log
from tests.bench.peers_table import Row, Section, drawn, remarks
from tests.bench.peers_tools import ALONE, PEERS, REPLAY, Peer

TOO_SHORT = "too few lines to tell"
WRONG = "wrong result"
FAILED = "failed"
WIDTH = 120
"""Columns where the output is no terminal."""


@dataclass(slots=True)
class Case:
    """A peer on a log: what it took, or why there are no figures."""

    peer: Peer
    log: Log
    name: str
    start: Log | None = None
    """One line of the log, where the start of a command must not count."""
    problem: str = ""
    detail: str = ""
    taken: list[float] = field(default_factory=list)
    """Seconds per line in each round."""

    @classmethod
    def of(cls, peer: Peer, log: Log) -> Case:
        """Give a peer the log, or as much of it as it can take, if it is installed."""
        if peer.tool is not None and not peer.tool.is_there():
            return cls(peer, log, peer.name, problem=f"not installed: {peer.tool.install}")
        name = peer.name
        if peer.tool is not None:
            first, *rest = peer.name.split(", ")
            name = ", ".join([f"{first} {peer.tool.version()}", *rest])
        given = log if peer.most_lines is None else log.first(peer.most_lines)
        return cls(peer, given, name, log.first(1) if peer.is_command else None)

    def warm(self) -> None:
        """Run it once, that it has loaded what it needs."""
        self._spent(self.start or self.log)

    def time(self) -> None:
        """Run it, and note what that took."""
        spent = self._spent(self.log)
        if self.start is not None:
            spent -= self._spent(self.start)
        self.taken.append(spent / self.log.lines)

    def _spent(self, log: Log) -> float:
        """Return the seconds of a run whose result is right; what had a problem is not run again."""
        if self.problem:
            return 0.0
        begin = time.perf_counter()
        try:
            returned = self.peer.run(log)
            spent = time.perf_counter() - begin
            found, right = self.peer.found(returned), self.peer.right(log)
        except subprocess.CalledProcessError as error:
            last = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            self.problem, self.detail = FAILED, f"exit status {error.returncode}: {last}"
        except (subprocess.TimeoutExpired, LookupError, ValueError) as error:
            self.problem, self.detail = WRONG, repr(error)
        else:
            if found == right:
                return spent
            self.problem, self.detail = WRONG, f"{found} instead of {right}"
        return 0.0

    def row(self, replay: Case) -> Row:
        """Compare it with `replay`, round by round."""
        bound = self.peer.bound if self.log.kind.is_bounded else None
        problem = self.problem or ("" if min(self.taken) > 0 else TOO_SHORT)
        if problem:
            return Row(self.name, bound=bound, problem=problem, detail=self.detail)
        rate = 1 / statistics.median(self.taken)
        if self is replay or replay.problem:
            return Row(self.name, self.log.lines, rate)
        ratio = statistics.median(ours / its for ours, its in zip(replay.taken, self.taken, strict=True))
        return Row(self.name, self.log.lines, rate, ratio, bound)


def measured(log: Log, rounds: int, peers: Sequence[Peer] = PEERS) -> Section:
    """Let `replay` and its peers read a log, in turn, in each round."""
    cases = [Case.of(peer, log) for peer in (REPLAY, ALONE, *peers)]
    for case in cases:
        case.warm()
    for _ in range(rounds):
        for case in cases:
            case.time()
    size = log.path.stat().st_size / log.lines
    whole, alone = cases[:2]
    rows = tuple(case.row(alone if case.peer.is_loop else whole) for case in cases)
    return Section(f"{log.kind.title} of {size:,.0f} bytes", rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table; without arguments, as the command line says."""
    parser = argparse.ArgumentParser(description="replay and its peers")
    parser.add_argument("--lines", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), help="what is read")
    parser.add_argument("--failing", type=float, default=0.0, help="share of lines with a 500")
    options = parser.parse_args(arguments)
    sections = []
    for kind in options.kinds:
        print(f"{kind} ...", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            sections.append(measured(Log.written(Path(folder), kind, options.lines, options.failing), options.rounds))
    out = Console(highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = WIDTH
    out.print(drawn(sections))
    out.print()
    for remark in remarks(sections):
        out.print(remark, soft_wrap=True)


if __name__ == "__main__":
    main()
