"""From the fields of one nginx line to its attempts (DESIGN section 3, nginx)."""

from __future__ import annotations

from tailhealth.core.model import Attempt, Origin
from tailhealth.logs.nginx_lists import Lists
from tailhealth.logs.nginx_request import NOTHING, client_status, request_of, response_of
from tailhealth.logs.nginx_shape import ABSENT, Row
from tailhealth.logs.nginx_try import (
    Try,
    failed,
    how_it_ended,
    status_of,
    without_server,
)
from tailhealth.logs.order import Reading
from tailhealth.logs.reading import EXAMPLE_BYTES


class Attempts:
    """Makes attempts of the rows of one file."""

    def __init__(self, lists: Lists, file: int) -> None:
        self._lists = lists
        self._file = file

    def read(self, row: Row, ended: float, offset: int, line: bytes) -> Reading:
        """Read any line that was written at `ended`.

        Raises:
            ValueError: A status or a time in it can't be read.
        """
        tries = self._lists.tries(row)
        client = client_status(row)
        attempts = self._attempts(tries, client, (ended, offset), row)
        pool_event = False
        for one in tries:
            if one.address == "" and without_server(one, client):
                pool_event = True
        return Reading(
            at=ended,
            line=line[:EXAMPLE_BYTES],
            offset=offset,
            events=tuple(attempts),
            unattributed=int(not attempts and not pool_event),
            pool_events=int(pool_event),
        )

    def _attempts(self, tries: list[Try], client: int | None, written: tuple[float, int], row: Row) -> list[Attempt]:
        """Make attempts of those tries that count, in the order in which they were made.

        Of a run of the same peer within a group only the last counts: a kept-alive connection that had gone stale, or a
        balancer with one peer left. Of the tries of one upstream that got no success, only the last counts: at most one bad
        outcome per line and upstream.
        """
        response, (method, host, uri, peer, port, size) = response_of(row), request_of(row)
        ended, offset = written
        waited = self._waited(row)
        slack = max(0.0, waited - sum(one.length for one in tries))
        made: list[Attempt] = []
        blamed: set[str] = set()
        followed_by: tuple[str | None, int] | None = None
        for one in reversed(tries):
            begun = ended - one.length
            address = one.address
            if address and followed_by != (address, one.group):
                end = how_it_ended(one, client)
                status = status_of(one, client, end)
                bad = failed(one, status, end)
                if not bad or address not in blamed:
                    if bad:
                        blamed.add(address)
                    stream, grpc, again = response if one.last else NOTHING
                    duration = one.duration
                    # Of a lone try to the last bit what the loop for plain lines makes of it.
                    started = begun - slack if len(tries) > 1 else min(begun, ended - waited)
                    # fmt: off
                    made.append(Attempt(
                        ended, address, end, started, status, one.header, one.header_came, duration, method, host, uri,
                        peer, port, size, stream, grpc, again, Origin.ACCESS, self._file, offset, duration,
                    ))
                    # fmt: on
            followed_by, ended = (address, one.group), begun
        made.reverse()
        return made

    def _waited(self, row: Row) -> float:
        """Return how long the request took in all, in seconds; 0 where the line does not tell.

        Where that is longer than its tries together, a client was slow before them (an upload) or after them (a download):
        evidence is dated by the earliest start that the line allows.
        """
        waited = self._lists.times("request_time", row.request_time, 1)[0]
        return 0.0 if waited is ABSENT or waited is None else float(waited)
