"""A `Status` with something of everything, for what shows or measures the state of a running controller."""

from __future__ import annotations

from typing import Any

from tailhealth.core.view import PoolView, Standing
from tailhealth.service.conditions import Condition, Kind
from tailhealth.service.header_times import BOUNDS, HeaderTimes
from tailhealth.service.inputs import InputView
from tailhealth.service.numbers import Decided
from tailhealth.service.status import Configuration, Status
from tailhealth.views.stats import StatsView
from tests.views.build import T0, A, B, pool, upstream, view

LOG = "/var/log/caddy/traffic.log"


def two_nodes(name: str = "chat") -> PoolView:
    """One node that is out, and one that tripped and is kept in."""
    sick = upstream(
        B, standing=Standing.OUT, strikes=1, ejections=2, out_seconds=61.5, bad_total={"abandoned": 5, "status": 1},
        ignored_total={"busy": 2}, in_flight=3, stalled=3,
    )  # fmt: skip
    return pool(upstream(A, withheld="max_ejected", in_flight=None), sick, name=name, blind={LOG: "half of it is unreadable"})


def status(*pools: PoolView, **more: Any) -> Status:
    """Make the state of a controller; without pools, that of one with two nodes."""
    shown = pools or (two_nodes(),)
    counts = (0, 2, 1) + (0,) * (len(BOUNDS) - 3) + (4,)
    values: dict[str, Any] = {
        "at": T0,
        "started": T0 - 3600,
        "dry_run": False,
        "configuration": Configuration("tailhealth.toml", T0 - 3600),
        "view": view(*shown, late_lines=7, unmanaged_attempts=4),
        "stats": StatsView(T0),
        "inputs": (InputView(LOG, "following", "", 1234, {"not_json": 3}, T0, 0.2, 1, {}),),
        "decisions": (),
        "conditions": (Condition(Kind.GENERATOR, "rewritten 4 times", T0, "chat"), Condition(Kind.NO_PROXY, "no", T0)),
        "journal": "",
        "too_little_traffic": (),
        "decided": (Decided("chat", "eject", "ratio", True, 2),),
        "header_times": (HeaderTimes("chat", A, counts, 2650.5),),
        "applies": {"done": 3, "failed": 1},
        "journal_lost": 2,
    }
    return Status(**(values | more))
