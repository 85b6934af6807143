"""What a running controller counts for people and for Prometheus, beside what the engine keeps."""

from __future__ import annotations

from collections import Counter

import msgspec

from tailhealth.core.model import Attempt, Decision, Outcome
from tailhealth.service.header_times import Histograms
from tailhealth.views.stats import Stats


class Decided(msgspec.Struct, frozen=True):
    """How often something was decided since the start."""

    pool: str
    action: str
    reason: str
    enforced: bool
    count: int


class Numbers:
    """Fed by the engine's observer and with each decision."""

    def __init__(self) -> None:
        self.stats = Stats()
        self.histograms = Histograms()
        self._decided: Counter[tuple[str, str, str, bool]] = Counter()

    def observe(self, attempt: Attempt, pool: str, upstream: str, outcome: Outcome) -> None:
        """Take one judged attempt."""
        self.stats.observe(attempt, pool, upstream, outcome)
        self.histograms.observe(attempt, pool, upstream, outcome)

    def note(self, decisions: list[Decision]) -> None:
        """Count decisions."""
        self._decided.update((one.pool, str(one.action), str(one.reason), one.enforced) for one in decisions)

    def decided(self) -> tuple[Decided, ...]:
        """Return the counts, in a defined order."""
        return tuple(Decided(*key, count) for key, count in sorted(self._decided.items()))
