"""The closed sets of words of the core (DESIGN sections 1 and 7)."""

from __future__ import annotations

from enum import StrEnum


class End(StrEnum):
    """How an attempt ended. The proxy's view of it, before any judgement."""

    ANSWERED = "answered"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    ABANDONED = "abandoned"
    TRUNCATED = "truncated"
    CUT = "cut"
    """The client left after the header: good by its header."""


class Kind(StrEnum):
    """Why an outcome is bad or ignored. Bad kinds stand in the order in which the first one wins."""

    STATUS = "status"
    GRPC = "grpc"
    SLOW = "slow"
    TOTAL_SLOW = "total_slow"
    REFUSED = "refused"
    TIMED_OUT = "timed_out"
    NO_ANSWER = "no_answer"
    ABANDONED = "abandoned"
    STALLED = "stalled"
    TRUNCATED = "truncated"

    ABANDONED_EARLY = "abandoned_early"
    CLIENT_LEFT = "client_left"
    BUSY = "busy"
    ROUTE = "route"
    BEFORE_ACTION = "before_action"
    WHILE_OUT = "while_out"


class Verdict(StrEnum):
    """The judgement of an attempt."""

    GOOD = "good"
    BAD = "bad"
    IGNORED = "ignored"


class Origin(StrEnum):
    """Which kind of line told of an attempt. One request may be told of by two kinds; it counts once."""

    ACCESS = "access"
    ROUNDTRIP = "roundtrip"
    BROKEN_BODY = "broken_body"


class Action(StrEnum):
    """What a decision does."""

    EJECT = "eject"
    READMIT = "readmit"
    WITHHELD = "withheld"
    RECOVERED = "recovered"


class Reason(StrEnum):
    """Why a decision was taken. The groups are those of `Action`, in its order."""

    RATIO = "ratio"
    CONSECUTIVE_REFUSED = "consecutive_refused"
    CONSECUTIVE_UNANSWERED = "consecutive_unanswered"
    PROBATION = "probation"
    """Of an eject: bad again while on probation. Of a recovered: enough good outcomes."""
    OPERATOR = "operator"

    TIMER = "timer"
    RELIEF = "relief"
    OPERATOR_CONFIG = "operator_config"

    PAUSED = "paused"
    BLIND = "blind"
    PINNED = "pinned"
    PROTECTED = "protected"
    MAX_EJECTED = "max_ejected"
    MIN_SERVING = "min_serving"
    COMMON_CAUSE = "common_cause"
    SETTLE = "settle"

    UNTESTED = "untested"
    CLEARED = "cleared"


class Source(StrEnum):
    """Who decided."""

    POLICY = "policy"
    OPERATOR = "operator"


class Verb(StrEnum):
    """What an operator may order."""

    EJECT = "eject"
    READMIT = "readmit"
    PIN_IN = "pin_in"
    PIN_OUT = "pin_out"
    UNPIN = "unpin"
    PAUSE = "pause"
    RESUME = "resume"
