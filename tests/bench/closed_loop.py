"""The policy table of DESIGN section 10 on the real engine, beside the figures that the design gives.

Run it as `python -m tests.bench.closed_loop [--seeds N] [--scenario NAME]`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import fmean, median

import click

if not __package__:
    # Started by its path: the fleet beside it is imported by its full name all the same.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tailhealth.core.model import Action, Decision
from tailhealth.core.rules import Settings
from tests.bench.fleet import Fleet, Ill, Load, Record
from tests.bench.policy_rows import ROWS, Row

SEEDS = 20


@dataclass(frozen=True, slots=True)
class Figures:
    """What one seed showed of a row."""

    false_ejections: int
    out_after: tuple[float | None, ...]
    """Per upstream with a fault: seconds from its beginning to the ejection; None: it stayed in."""
    fewest_in_rotation: int
    failed: float
    """Share of failed requests, 0 to 1."""
    failed_without: float


def measure(row: Row, seed: int, *, compare: bool = True) -> Figures:
    """Run a row once, and once more without our help if `compare`."""
    key = f"{row.name}/{seed}"
    record = Fleet(row.load, Settings(), key).run()
    without = Fleet(row.load, Settings(), key, guided=False).run() if compare else record
    out = [one for one in record.decisions if one.action is Action.EJECT]
    return Figures(
        false_ejections=sum(is_false(row, one) for one in out),
        out_after=tuple(_out_after(row.load, out)),
        fewest_in_rotation=record.fewest_in_rotation,
        failed=_share(record),
        failed_without=_share(without),
    )


def is_false(row: Row, decision: Decision) -> bool:
    """Tell whether an ejection was wrong: nothing is the matter with the upstream alone, or the row says that it stays in."""
    if row.stays_in:
        return True
    node = _node(decision)
    return not any(fault.node == node and fault.is_on(decision.at) for fault in row.load.faults)


def _out_after(load: Load, out: Sequence[Decision]) -> Iterable[float | None]:
    for fault in load.faults:
        if fault.ill is Ill.FAILING and fault.share < 1:
            continue
        yield next((one.at - fault.start for one in out if _node(one) == fault.node and fault.is_on(one.at)), None)


def _node(decision: Decision) -> int:
    return int(decision.upstream.split(":")[0].rsplit(".", 1)[1]) - 1


def _share(record: Record) -> float:
    return record.failed / record.requests


def line(row: Row, figures: Sequence[Figures]) -> str:
    """Put a row's figures beside those of the design."""
    false = fmean(one.false_ejections for one in figures)
    found = [after for one in figures for after in one.out_after]
    times = sorted(after for after in found if after is not None)
    spread = f"{median(times):.0f} ({times[len(times) // 10]:.0f}-{times[len(times) * 9 // 10]:.0f})" if times else "-"
    missed = sum(after is None for after in found)
    fewest = min(one.fewest_in_rotation for one in figures)
    failed, without = (100 * fmean(getattr(one, name) for one in figures) for name in ("failed", "failed_without"))
    design = "-" if row.failed is None else f"{row.failed[0]:g} / {row.failed[1]:g}"
    return (
        f"{row.title:66} {len(figures):3}  {row.false_ejections:5g} {false:6.2f}  "
        f"{row.stays_in or (f'{row.out_after:.0f}' if row.out_after else '-'):>12} {spread:>15} {missed:3}  "
        f"{fewest:6}  {design:>9} {failed:5.1f} / {without:4.1f}"
    )


HEAD = (
    f"{'scenario':66} {'n':>3}  {'false ejections':>12}  {'out after, s':>12} {'ours (10-90 %)':>15} {'in':>3}  "
    f"{'fewest':>6}  {'failed %':>9} {'ours / off':>12}\n"
    f"{'':66} {'':3}  {'table':>5} {'ours':>6}  {'table':>12} {'':>15} {'':3}  {'in':>6}  {'table':>9}"
)


@click.command()
@click.option("--seeds", default=SEEDS, show_default=True, help="Runs per row; rows that last a day get a share of them.")
@click.option("--scenario", multiple=True, type=click.Choice([row.name for row in ROWS]), help="Only this row; may repeat.")
def main(seeds: int, scenario: tuple[str, ...]) -> None:
    """Print the policy table of the design as the real engine makes it."""
    click.echo(HEAD)
    for row in ROWS:
        if not scenario or row.name in scenario:
            click.echo(line(row, [measure(row, seed) for seed in range(max(1, ceil(seeds * row.seeds)))]))


if __name__ == "__main__":
    main()
