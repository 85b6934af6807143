"""A reconciler over a real Caddy, with a clock that the test moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailhealth.core.model import Command, Pools
from tailhealth.proxies.admin import Access
from tailhealth.proxies.base import UpstreamState
from tailhealth.proxies.caddy import Caddy as Adapter
from tailhealth.service.journal import Journal, Reading
from tailhealth.service.reconcile import Reconciler, Step
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import State, Wish

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.caddy import Caddy

A, B, C, D = (f"127.0.0.1:{port}" for port in (1, 2, 3, 4))
ROUTES = "/config/apps/http/servers/s/routes/0/handle/0/routes"
HANDLER = "/config/apps/http/servers/s/routes/0/handle/0"
WEIGHTED = {"selection_policy": {"policy": "weighted_round_robin", "weights": [10, 1, 1]}}


class Running:
    """A reconciler over a Caddy, with a clock of its own that `step` moves by ten seconds."""

    def __init__(self, folder: Path, proxy: Caddy, **access: Any) -> None:
        self.folder = folder / "state"
        self.proxy = proxy
        self.access = Access(access.pop("admin", proxy.admin), **access)
        self.now = 1000.0
        self.inputs: list[Any] = []
        self.open()

    def open(self) -> None:
        """Start it, or start it again."""
        self.state = State.open(self.folder)
        self.journal = Journal(self.folder / "journal.jsonl")
        self.reconciler = Reconciler(Adapter(self.access), self.state, self.journal, ApplyRules())

    def close(self) -> None:
        """End it as a crash would: nothing is put back."""
        self.state.close()
        self.journal.close()

    def step(self) -> Step:
        """Let time pass, step once."""
        self.now += 10
        self.reconciler.look()
        step = self.reconciler.step(self.now)
        self.inputs += step.inputs
        return step

    def out(self, upstream: str) -> None:
        """Desire an upstream out of the only pool."""
        self.desire(upstream, UpstreamState.OUT)

    def desire(self, upstream: str, state: UpstreamState, **wish: Any) -> None:
        """Desire a state of an upstream in the only pool."""
        (pool,) = {group.name for group in self.reconciler.groups}
        self.reconciler.desire(pool, upstream, Wish(state, self.now, **wish))

    def listed(self) -> list[str]:
        """Name what Caddy lists."""
        return [one["dial"] for one in self.proxy.get(f"{HANDLER}/upstreams").json()]

    def commands(self) -> list[Command]:
        """What the operator's hand ordered so far."""
        return [one for one in self.inputs if isinstance(one, Command)]

    def members(self) -> list[str]:
        """Upstreams of the only pool as the engine was told last."""
        pools = [one for one in self.inputs if isinstance(one, Pools)][-1]
        (pool,) = pools.pools
        return [member.address for member in pool.members]

    def journaled(self, kind: str) -> list[dict[str, Any]]:
        """Records of a type."""
        return [record for record in Reading(self.folder / "journal.jsonl").records() if record["type"] == kind]
