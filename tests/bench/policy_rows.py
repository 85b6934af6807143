"""The rows of the policy table (DESIGN section 10) as loads, with the figures that the design gives for each."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from tests.bench.fleet import Fault, Ill, Load, Service

HOUR = 3600.0
DAY = 24 * HOUR
BEGINS = 600.0
"""When a fault begins: the pool has settled by then."""
QUICK = Service(median=0.3, sigma=0.6, least=0.05, most=2.0)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    name: str
    title: str
    load: Load
    false_ejections: float
    """What the design gives, in a run; one of these takes a day where the title says so."""
    out_after: float | None = None
    """Median seconds from the beginning of the fault to the ejection, as the design gives it."""
    seeds: float = 1.0
    """Share of the seeds that this row gets: long runs tell as much as many."""
    failed: tuple[float, float] | None = None
    """Share of failed requests with and without tailhealth, in percent, as the design gives it."""
    stays_in: str = ""
    """What the design says instead of a time."""


def _wedge(name: str, title: str, patience: float, out_after: float, nodes: tuple[int, ...] = (1,)) -> Row:
    faults = tuple(Fault(node, Ill.WEDGED, BEGINS) for node in nodes)
    return Row(name, title, Load(BEGINS + 1800.0, patience=(patience, patience), faults=faults), 0, out_after)


def _failing(name: str, title: str, load: Load, out_after: float, ill: Ill = Ill.FAILING) -> Row:
    faulty = Load(load.duration, load.nodes, load.rate, load.service, load.patience, (Fault(1, ill, BEGINS),))
    return Row(name, title, faulty, 0, out_after)


def _whole_pool(share: float, false_ejections: float) -> Row:
    faults = tuple(Fault(node, Ill.FAILING, BEGINS, share=share) for node in range(4))
    percent = f"{share:.0%}"
    load = Load(BEGINS + HOUR, faults=faults)
    return Row(f"whole-pool-{percent[:-1]}", f"whole pool fails {percent}", load, false_ejections, stays_in=">= 3 serving")


def _restarts(name: str, title: str, second: float, out_after: float | None, failed: tuple[float, float] | None) -> Row:
    faults = (
        Fault(0, Ill.REFUSING, 60.0, 80.0),
        Fault(1, Ill.REFUSING, second, second + 20.0),
    )
    load = Load(300.0, nodes=2, rate=2.0, service=QUICK, faults=faults)
    return Row(name, title, load, 0, out_after, failed=failed, stays_in="" if out_after else "none out")


ROWS = (
    _wedge("wedge-300", "one node wedges; clients wait 300 s", 300.0, 190.0),
    _wedge("wedge-90", "one node wedges; clients wait 90 s", 90.0, 160.0),
    _wedge("wedge-ever", "one node wedges; clients wait for ever", inf, 190.0),
    _wedge("wedge-20", "one node wedges; clients wait 20 s", 20.0, 291.0),
    _wedge("wedge-two", "two of four wedge at once; clients wait 150 s", 150.0, 215.0, (1, 2)),
    _failing("5xx", "5xx on one node", Load(BEGINS + 900.0), 94.0),
    _failing("refused", "refused on one node", Load(BEGINS + 900.0), 31.0, Ill.REFUSING),
    _failing("5xx-busy", "one of 4 at 40 requests/s turns 5xx", Load(BEGINS + 120.0, rate=40.0, service=QUICK), 15.0),
    _failing("5xx-of-two", "one of 2 at 1 request/s turns 5xx", Load(BEGINS + 600.0, nodes=2, rate=1.0, service=QUICK), 21.0),
    Row("healthy-2-percent", "healthy for a day with 2 % 5xx", Load(DAY, poison=0.02), 0, seeds=0.25),
    Row("busy", "busy for a day, 60-118 s each", Load(DAY, service=Service(84.0, 0.3, 60.0, 118.0)), 0, seeds=0.25),
    Row("impatient", "clients giving up at 1-100 s, a day", Load(DAY, patience=(1.0, 100.0)), 0.1, seeds=0.5),
    Row("poison", "33 % of all requests poisoned, 5.5 h at 2/s", Load(5.5 * HOUR, rate=2.0, poison=0.33), 1.6, seeds=0.5),
    _restarts("restarts", "two nodes restarted one after the other, each refusing 20 s, 2/s", 80.0, 2.0, (0.9, 6.7)),
    _restarts("both-refuse", "both refuse for 20 s at once", 60.0, None, None),
    _whole_pool(1.0, 0),
    _whole_pool(0.9, 0),
    _whole_pool(0.6, 0.2),
    Row(
        "incident-c",
        "incident C, 25 % 504 on the reserved node, not protected",
        Load(HOUR, rate=10.0, service=QUICK, faults=(Fault(0, Ill.FAILING, BEGINS, share=0.25, status=504, takes=(2.0, 4.0)),)),
        0,
        seeds=0.5,
        stays_in="stays in",
    ),
)
"""In the order of DESIGN's table."""
