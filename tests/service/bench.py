"""A reconciler over a Caddy in memory, stepped by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailhealth.proxies.base import UpstreamState
from tailhealth.service.journal import Journal, Reading
from tailhealth.service.reconcile import Reconciler, Step
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import State, Wish
from tests.service.fake_caddy import FakeCaddy, handler

if TYPE_CHECKING:
    from pathlib import Path

    from tailhealth.service.conditions import Kind

OUT, LIMITED, SERVING = UpstreamState.OUT, UpstreamState.LIMITED, UpstreamState.SERVING
POOL = "a:1+b:1+c:1"


class Bench:
    """A reconciler, its Caddy and its files."""

    def __init__(self, folder: Path, *handlers: dict[str, Any], **options: Any) -> None:
        self.caddy = FakeCaddy(*(handlers or (handler("a:1", "b:1", "c:1"),)))
        self.folder = folder
        self.state = State.open(folder)
        self.journal = Journal(folder / "journal.jsonl")
        rules = options.pop("rules", ApplyRules())
        self.reconciler = Reconciler(self.caddy, self.state, self.journal, rules, **options)

    def desire(self, upstream: str, state: UpstreamState, at: float, pool: str = POOL) -> None:
        """Desire something."""
        self.reconciler.desire(pool, upstream, Wish(state, at))

    def step(self, now: float) -> Step:
        """Step."""
        return self.reconciler.step(now)

    def kinds(self, step: Step) -> list[Kind]:
        """The conditions of a step by kind."""
        return [one.kind for one in step.conditions]

    def journaled(self, kind: str) -> list[dict[str, Any]]:
        """Records of a type."""
        return [one for one in Reading(self.folder / "journal.jsonl").records() if one["type"] == kind]

    def close(self) -> None:
        """Let go of the files."""
        self.state.close()
        self.journal.close()
