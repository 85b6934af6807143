"""How an attempt ended, told from what one Caddy line has of the answer (DESIGN section 3, "Caddy")."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tailhealth.core.model import End
from tailhealth.logs.caddy_fields import optional

if TYPE_CHECKING:
    from tailhealth.logs.caddy_shape import Line

CLIENT_GAVE_UP = frozenset({0, 499})
"""499; 0 before Caddy 2.11.5."""
_BY_STATUS = {502: End.REFUSED, 504: End.TIMED_OUT}

_CLIENT_LEFT = ("context canceled", "client disconnected", "request canceled", "CANCEL")
_TIMEOUT = ("timeout awaiting response headers", "deadline exceeded", "i/o timeout")
_BROKEN = ("EOF", "connection reset", "broken pipe", "connection refused", "server closed idle connection")


class Answer(NamedTuple):
    """How an attempt ended, as an access line tells it."""

    end: End
    status: int | None
    header: float | None
    came: bool | None
    duration: float | None


def answer_of(line: Line, status: int, header: float | None, waited: float | None) -> Answer:
    """Tell how an attempt ended from the client's status and what the log has of the upstream's answer.

    A key of the answer that is present and null proves that no header came, whatever the client got. An absent key proves
    nothing: then the client's status judges.
    """
    theirs = optional(line.upstream_status)
    if header is not None or theirs is not None:
        if status == 0:
            # Caddy passed nothing on, not even a status: as much the client's or Caddy's own doing as the upstream's.
            return Answer(End.ABANDONED, None, None, True, header)
        end = End.CUT if status in CLIENT_GAVE_UP else End.ANSWERED
        return Answer(end, theirs if theirs is not None or end is End.CUT else status, header, True, waited)
    came = False if line.header_time is None or line.upstream_status is None else None
    if status in CLIENT_GAVE_UP:
        return Answer(End.ABANDONED, None, None, came, waited)
    if came is None:
        return Answer(End.ANSWERED, status, None, None, waited)
    end = _BY_STATUS.get(status, End.ANSWERED)
    return Answer(end, None, None, False, waited)


def failure(error: str) -> End:
    """Tell from the error of a round trip how it ended: a broken connection, a time-out, a client that left, or no answer."""
    if any(word in error for word in _CLIENT_LEFT):
        return End.ABANDONED
    if error.startswith("dial "):
        return End.REFUSED
    if any(word in error for word in _TIMEOUT):
        return End.TIMED_OUT
    if any(word in error for word in _BROKEN):
        return End.REFUSED
    return End.ANSWERED


def client_left(error: str) -> bool:
    """Tell whether an error says that the client left."""
    return any(word in error for word in _CLIENT_LEFT)
