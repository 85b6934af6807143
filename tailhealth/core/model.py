"""The words of the core as values: what goes into the engine and what comes out of it.

Words and inputs stand in modules of their own and are had from here too. All times are epoch seconds, all durations are
seconds. Nothing here reads a clock, and every value is frozen (DESIGN section 2).
"""

from __future__ import annotations

import msgspec

from tailhealth.core.inputs import (
    Aborted,
    Attempt,
    Blind,
    Carried,
    Command,
    Ejection,
    Idle,
    InFlight,
    Input,
    Paused,
    Pool,
    PoolMember,
    Pools,
    Reconfigured,
    Started,
    Stepped,
)
from tailhealth.core.words import (
    Action,
    End,
    Kind,
    Origin,
    Reason,
    Source,
    Verb,
    Verdict,
)

__all__ = [
    "Aborted",
    "Action",
    "Attempt",
    "Blind",
    "Carried",
    "Command",
    "Counts",
    "Decision",
    "Ejection",
    "End",
    "Evidence",
    "Idle",
    "InFlight",
    "Input",
    "Kind",
    "Origin",
    "Outcome",
    "Paused",
    "Pool",
    "PoolMember",
    "Pools",
    "Reason",
    "Reconfigured",
    "Source",
    "Started",
    "Stepped",
    "Verb",
    "Verdict",
]


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The judgement of an attempt, with its kind unless it is good."""

    verdict: Verdict
    kind: Kind | None = None


class Counts(msgspec.Struct, frozen=True):
    """Counted outcomes and how many of them are bad."""

    counted: int
    bad: int


class Evidence(msgspec.Struct, frozen=True):
    """What a decision was taken on."""

    counted: int
    bad: int
    kinds: dict[str, int]
    peers: Counts | None = None
    p: float | None = None
    """Chance that the pool's other upstreams would show this too, by Fisher's exact test; None where it was not asked."""


class Decision(msgspec.Struct, frozen=True):
    """What was decided about one upstream, why, and on what evidence (DESIGN section 9, `replay --json`)."""

    at: float
    pool: str
    upstream: str
    action: Action
    reason: Reason
    source: Source
    enforced: bool
    """False in a pool with `mode = "observe"`: decided and not applied."""
    until: float | None
    strikes: int
    evidence: Evidence
    why: str = ""
    """An operator's `--why`."""
