"""From an attempt to an outcome: what counts as bad (DESIGN section 4). All comparisons are `>=`."""

from __future__ import annotations

from tailhealth.core.model import Attempt, End, Kind, Origin, Outcome, Verdict
from tailhealth.core.rules import BadRules, Yardstick

UPLOAD_BYTES = 1 << 20
"""From this much request body on, the header time measures the client's upload, not the upstream (DESIGN section 3)."""
SWITCHING_PROTOCOLS = 101

GOOD = Outcome(Verdict.GOOD)
_BAD = {kind: Outcome(Verdict.BAD, kind) for kind in Kind}
_IGNORED = {kind: Outcome(Verdict.IGNORED, kind) for kind in Kind}
ROUTE = _IGNORED[Kind.ROUTE]
"""Its route is ignored altogether."""
UNJUDGED = Outcome(Verdict.IGNORED, Kind.ROUTE)
"""The route's rule for such an end is off. The attempt is no outcome, and had no header all the same: a row may show it."""
BEFORE_ACTION = _IGNORED[Kind.BEFORE_ACTION]
WHILE_OUT = _IGNORED[Kind.WHILE_OUT]


def judge(attempt: Attempt, rules: BadRules) -> Outcome:
    """Judge an attempt by the yardstick of its route.

    Whether it may count at all (it began before an action, or while its upstream was out) is not asked here: that depends on
    the upstream's state and is the engine's part.
    """
    if rules.routes:
        return measure(attempt, rules.yardstick(attempt.method, attempt.host, attempt.path))
    return measure(attempt, rules.default)


def measure(attempt: Attempt, yardstick: Yardstick) -> Outcome:
    """Judge an attempt by one yardstick. The first kind that applies wins, in the order of `Kind`."""
    status = attempt.status
    if yardstick.ignore:
        return ROUTE
    if status in yardstick.busy or (attempt.retry_after and status in yardstick.busy_with_retry_after):
        return _IGNORED[Kind.BUSY]
    if status in yardstick.status:
        return _BAD[Kind.STATUS]
    if attempt.grpc_status is not None and attempt.grpc_status in yardstick.grpc_status:
        return _BAD[Kind.GRPC]
    if yardstick.slower_than is not None:
        waited = header_time(attempt)
        if waited is not None and waited >= yardstick.slower_than and (attempt.body_bytes < UPLOAD_BYTES or yardstick.uploads):
            return _BAD[Kind.SLOW]
    if yardstick.total_slower_than is not None and _reached(attempt, yardstick.total_slower_than):
        return _BAD[Kind.TOTAL_SLOW]
    if attempt.end is End.ANSWERED and attempt.header_came is not False:
        return GOOD
    return _unanswered_or_cut(attempt, yardstick)


def header_time(attempt: Attempt) -> float | None:
    """Return the latency in seconds that may be judged, None where the log does not tell it.

    Without a header time the upstream's own whole duration serves, unless a stream or a switched connection made it long.
    """
    if attempt.header is not None:
        return attempt.header
    if attempt.header_came is False or attempt.stream or attempt.status == SWITCHING_PROTOCOLS:
        return None
    return attempt.own_duration if attempt.end is End.ANSWERED else None


def _reached(attempt: Attempt, limit: float) -> bool:
    if attempt.status == SWITCHING_PROTOCOLS or attempt.duration is None:
        return False
    return attempt.duration >= limit


def _unanswered_or_cut(attempt: Attempt, yardstick: Yardstick) -> Outcome:
    match attempt.end:
        case End.REFUSED:
            return _BAD[Kind.REFUSED] if yardstick.refused else UNJUDGED
        case End.TIMED_OUT:
            return _BAD[Kind.TIMED_OUT] if yardstick.timed_out else UNJUDGED
        case End.ANSWERED:
            return _BAD[Kind.NO_ANSWER]
        case End.ABANDONED:
            return _abandoned(attempt, yardstick)
        case End.TRUNCATED:
            return _BAD[Kind.TRUNCATED] if yardstick.truncated else GOOD
        case End.CUT:
            return _IGNORED[Kind.CLIENT_LEFT] if attempt.origin is Origin.BROKEN_BODY else GOOD


def _abandoned(attempt: Attempt, yardstick: Yardstick) -> Outcome:
    """Say what an impatient client proves: an upload's wait is its own, and a short wait says nothing."""
    after = yardstick.abandoned_after
    judged = attempt.body_bytes < UPLOAD_BYTES or yardstick.uploads
    if judged and after is not None and attempt.duration is not None and attempt.duration >= after:
        return _BAD[Kind.ABANDONED]
    return _IGNORED[Kind.ABANDONED_EARLY]


def has_header(attempt: Attempt) -> bool:
    """Tell whether the upstream sent a header; where the log cannot tell, the end decides."""
    if attempt.header_came is not None:
        return attempt.header_came
    return attempt.end in (End.ANSWERED, End.TRUNCATED, End.CUT)
