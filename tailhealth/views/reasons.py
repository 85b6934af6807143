"""The rules behind the reasons of decisions, with the values that hold, and what would make a guard think otherwise. Pure."""

from __future__ import annotations

from tailhealth.core.model import Reason
from tailhealth.core.rules import PoolRules
from tailhealth.views.text import duration, harmless


def rule(reason: Reason, rules: PoolRules) -> str:
    """Say by which rule an upstream was ejected; empty: by none, or by one that is off now."""
    window = rules.window
    match reason:
        case Reason.RATIO if window.ratio is not None:
            counted = f"at least {window.min_requests} counted"
            return f"the rule: {counted}, and {window.ratio:.0%} of them bad or more (window.min_requests, window.ratio)"
        case Reason.CONSECUTIVE_REFUSED if window.consecutive_refused is not None:
            return f"the rule: {window.consecutive_refused} connection failures in a row (window.consecutive_refused)"
        case Reason.CONSECUTIVE_UNANSWERED if window.consecutive_unanswered is not None:
            waited = f"each after at least {duration(window.unanswered_after)}"
            row = f"{window.consecutive_unanswered} requests in a row that nobody answered, {waited}"
            return f"the rule: {row} (window.consecutive_unanswered)"
        case Reason.PROBATION if rules.probation is not None:
            return f"the rule: {rules.probation.bad} bad on probation (probation.bad)"
        case _:
            return ""


def guard_remedy(reason: Reason, rules: PoolRules, upstream: str) -> str:
    """Say what would make a guard let an upstream go (DESIGN section 7)."""
    guard = rules.guard
    cap = "off" if guard.max_ejected is None else f"{guard.max_ejected:.0%}"
    return {
        Reason.PAUSED: "`tailhealth resume`, or the end of the pause, lets it be ejected",
        Reason.BLIND: "it can be ejected when the log can be trusted again: 20 good lines in a row",
        Reason.PINNED: f"`tailhealth unpin {harmless(upstream)}` lets it be ejected",
        Reason.PROTECTED: "it is named in guard.protected, is a backup, or can't be taken out of the proxy's list",
        Reason.MAX_EJECTED: f"another upstream has to come back first; guard.max_ejected is {cap}",
        Reason.MIN_SERVING: f"more upstreams have to serve; guard.min_serving is {guard.min_serving}",
        Reason.COMMON_CAUSE: f"it has to do clearly worse than its peers: p at most {guard.chance:g} (guard.chance)",
        Reason.SETTLE: f"it is asked about again {duration(guard.settle)} after the pool's last ejection (guard.settle)",
    }.get(reason, "")
