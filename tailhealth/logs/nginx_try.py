"""How one try of a request at one upstream ended, by what nginx logs of it (DESIGN section 3, nginx)."""

from __future__ import annotations

from typing import Any, NamedTuple

from tailhealth.core.model import End
from tailhealth.logs.nginx_shape import ABSENT

BAD_GATEWAY = 502
GATEWAY_TIMEOUT = 504
CLIENT_LEFT = 499
FIRST_ERROR = 400
FIRST_SERVER_ERROR = 500

CLIENT_ENDED = frozenset({400, 408, 413, CLIENT_LEFT})
"""Client statuses that say that the client left, or broke or stalled its own request, while the upstream had not answered."""


NO_ANSWER = {BAD_GATEWAY: End.REFUSED, GATEWAY_TIMEOUT: End.TIMED_OUT}
"""What nginx itself made a status for, of a try that brought no header."""


class Try(NamedTuple):
    """One element of the lists, its numbers None where the log has none for it."""

    address: str | None
    """Canonical; "" for the name of a group, None for what is neither."""
    group: int
    """Which of the groups between ` : ` it stands in."""
    given_up: bool
    """Another try of the same group follows."""
    last: bool
    """The last element of the line: only it may be judged by the client's status."""
    status: int | None
    status_logged: bool
    """There is a `$upstream_status`, so that no status means that there was none."""
    header: float | None
    """Seconds until the header."""
    header_came: bool | None
    """False: the log proves that none came. None: it cannot tell."""
    duration: float | None
    """Seconds that it took in all."""
    length: float
    """Seconds that it took at least: where one element ends, the next begins."""


def header_came(header: Any, status: Any, connect: Any) -> bool | None:
    """Tell whether an upstream sent a header, by three numbers that are None for `-` and `ABSENT` for no such variable."""
    if header is not ABSENT and header is not None:
        return True
    if header is None or status is None:
        return False
    return False if connect is None and status in NO_ANSWER else None


def how_it_ended(one: Try, client: int | None) -> End:
    """Tell how a try ended. `client` is the status that the client got: it judges only a last element without an own entry."""
    came = one.header_came
    judged_by = client if one.last else None
    if came:
        return End.CUT if judged_by == CLIENT_LEFT else End.ANSWERED
    if one.status is not None:
        if came is False:
            return NO_ANSWER.get(one.status, End.ANSWERED)
        return End.CUT if judged_by == CLIENT_LEFT else End.ANSWERED
    if not one.last:
        return End.REFUSED if came is False or one.given_up else End.ANSWERED
    if judged_by in CLIENT_ENDED and (came is False or judged_by == CLIENT_LEFT):
        return End.ABANDONED
    if came is False:
        return NO_ANSWER.get(judged_by or 0, End.ANSWERED)
    return End.ANSWERED


def status_of(one: Try, client: int | None, end: End) -> int | None:
    """Return the upstream's own status: its entry, else (no such variable in the log) the client's if it is the last.

    Without a header there was none: what stands there then, nginx made itself.
    """
    if one.header_came is False:
        return None
    if one.status is not None or one.status_logged:
        return one.status
    return client if one.last and end is End.ANSWERED else None


def failed(one: Try, status: int | None, end: End) -> bool:
    """Tell whether a try is no plain success, by whatever yardstick: of those, one per line and upstream is enough."""
    return end in (End.REFUSED, End.TIMED_OUT, End.ABANDONED) or one.header_came is False or (status or 0) >= FIRST_ERROR


def without_server(one: Try, client: int | None) -> bool:
    """Tell whether a group's name in place of an address means that no server could be chosen."""
    status = client if one.status is None else one.status
    return status is None or status >= FIRST_SERVER_ERROR


def plain_end(header_logged: bool, status: int | None, client: int | None) -> End | None:
    """Tell what `how_it_ended` would of a lone try without a header time, None where more must be asked."""
    if not header_logged:
        return None if status is None or status in NO_ANSWER else End.CUT if client == CLIENT_LEFT else End.ANSWERED
    if status is not None:
        return NO_ANSWER.get(status)
    return End.ABANDONED if client == CLIENT_LEFT else NO_ANSWER.get(client or 0)
