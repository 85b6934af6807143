"""The tight loop for logs at DEBUG, where round-trip lines stand beside the access lines (DESIGN section 3, "Caddy").

Nothing is summed up here: which access line belongs to which round trip is told by its client and its URI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from tailhealth.core.model import Attempt, End, Origin
from tailhealth.logs.caddy_answer import failure
from tailhealth.logs.caddy_kind import HANDLED, PROXY_LOGGER, ROUNDTRIP, LineKind, kind_of
from tailhealth.logs.caddy_plain import ANSWERS, GAVE_UP, SERVER_ERROR, UNAVAILABLE
from tailhealth.logs.caddy_told import Told
from tailhealth.logs.caddy_twice import Key
from tailhealth.logs.caddy_units import SURELY_FINITE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tailhealth.logs.caddy_decoded import Decoded
    from tailhealth.logs.caddy_plain import Plain
    from tailhealth.logs.caddy_running import Running
    from tailhealth.logs.order import Bounds

QUIET = 64
"""After so many access lines without a round-trip line there are none any more: the loop for access lines alone is faster."""
AHEAD = 16
"""A round-trip line among so many lines makes this loop the better one."""
_OF_A_REQUEST = frozenset({ROUNDTRIP, HANDLED})


class Roundtrips:
    """Reads round-trip lines and the lines between them, exactly as `CaddyReader` reads them one by one.

    Args:
        plain: Reads the access lines of the same file where they stand alone.
        running: Knows the upstreams of requests whose access lines don't name them.
    """

    def __init__(self, plain: Plain, running: Running) -> None:
        self._plain = plain
        self._running = running
        self._known, self._logger, self._file = plain.known, plain.logger, plain.file
        self._header_scale, self._own_scale = plain.header_scale, plain.own_scale
        self._has_dial = plain.shape.names["upstream"] != "upstream"
        self._quiet = QUIET

    @property
    def is_near(self) -> bool:
        """Tell whether a round-trip line stood not far before the lines that come now."""
        return self._quiet < QUIET

    def read(self, decoded: Decoded, first: int, stop: int, bounds: Bounds, *, has_upstream_key: bool) -> Told:
        """Read lines from the record of index `first` up to `stop`, or to the first that needs a closer look."""
        found = Told(has_upstream_key=has_upstream_key)
        index = first
        ahead = decoded.records[first : min(stop, first + AHEAD)]
        if self.is_near or any(record.message == ROUNDTRIP for record in ahead):
            lines: Iterator[tuple[Any, int]] = zip(decoded.records[first:stop], decoded.ends[first:stop], strict=True)
            while index < stop:
                index += self._good(decoded, index, lines, bounds, found)
                bounds = bounds if found.last is None else bounds.after(found.last)
                if index == stop or not self._failed(decoded, index, bounds, found):
                    break
                index += 1
        found.size = index - first
        self._note_quiet(found)
        return found

    def _note_quiet(self, found: Told) -> None:
        for attempt in reversed(found.attempts):
            if attempt.origin is Origin.ROUNDTRIP:
                self._quiet = 0
                break
            self._quiet += 1

    def _good(self, decoded: Decoded, first: int, lines: Iterator[tuple[Any, int]], bounds: Bounds, found: Told) -> int:
        """Read lines up to the first that tells of a failure or is not plain; return how many. That one leaves `lines` too."""
        low, high, last, leap = bounds
        start, count = decoded.bounds(first)[0], 0
        try:
            for record, end in lines:
                ended = record.time
                if record.message not in _OF_A_REQUEST:
                    if not _is_other(record):
                        break
                    found.others += 1
                elif not (low <= ended <= high and ended - last <= leap and 0.0 <= record.request_time <= SURELY_FINITE):
                    break
                elif self._take(record, decoded, start, end, found):
                    found.last = last = ended
                else:
                    break
                count += 1
                start = end + 1
        except (TypeError, AttributeError, KeyError):
            # A value of another type than that of a plain line: it is read on its own.
            pass
        found.sum_up()
        return count

    def _take(self, record: Any, decoded: Decoded, start: int, end: int, found: Told) -> bool:
        """Take a line of a request if it is plain; tell whether it was."""
        if record.message == ROUNDTRIP:
            return self._roundtrip(record, decoded.offset + start, found)
        if record.upstream:
            return self._answered(record, decoded.offset + start, found)
        return self._nameless(record, decoded.offset + start, decoded.block[start:end], found)

    def _roundtrip(self, record: Any, offset: int, found: Told) -> bool:
        """Take a round-trip line that tells of an answer and no server error."""
        status, request = record.status, record.request
        upstream = self._known[record.dial if self._has_dial else record.upstream]
        if (
            not (upstream and request.remote_ip and status < SERVER_ERROR)
            or record.error is not UNSET
            or record.logger != PROXY_LOGGER
        ):
            return False
        ended, took = record.time, record.request_time
        # fmt: off
        self._begin(Attempt(
            ended, upstream, End.ANSWERED, ended - took, status, took, True, None, request.method, request.host, request.uri,
            request.client_ip or request.remote_ip, request.remote_port, 0, False, None, False, Origin.ROUNDTRIP, self._file,
            offset,
        ), found)
        # fmt: on
        return True

    def _begin(self, attempt: Attempt, found: Told) -> None:
        found.attempts.append(attempt)
        if not found.has_upstream_key:
            self._running.begin(attempt)

    def _answered(self, record: Any, offset: int, found: Told) -> bool:
        """Take an access line that `Plain` would sum up, or whose request was retried."""
        status, request, header, own = record.status, record.request, record.header_time, record.response_time
        upstream, client, took, retries = self._known[record.upstream], request.client_ip, record.request_time, record.retries
        if (
            not (upstream and (client or request.remote_ip) and ANSWERS <= status < GAVE_UP)
            or header.__class__ is not float
            or header < 0.0
            or not (retries.__class__ is int or retries is None)
            or record.grpc_status is not None
            or record.logger != self._logger
            or not (record.upstream_status is UNSET or record.upstream_status == status)
            or not (own is UNSET or own * self._own_scale >= 0.0)
        ):
            return False
        own = None if own is UNSET else own * self._own_scale
        # fmt: off
        attempt = Attempt(
            record.time, upstream, End.ANSWERED, record.time - took, status, header * self._header_scale, True,
            own if retries else took, request.method, request.host, request.uri, client or request.remote_ip,
            request.remote_port, record.body_bytes, False, None, False, Origin.ACCESS, self._file, offset, own,
        )
        # fmt: on
        found.attempts.append(attempt)
        found.has_upstream_key = True
        if retries:
            found.records.append(Key(record.time, request.remote_port, request.uri, took))
        else:
            found.answered.append(attempt)
        return True

    def _nameless(self, record: Any, offset: int, line: bytes, found: Told) -> bool:
        """Take an access line that names no upstream under any name, nor anything else of one."""
        status, request, took, is_null = record.status, record.request, record.request_time, record.upstream is None
        if (
            not (took > 0.0 and ANSWERS <= status < GAVE_UP and request.remote_ip)
            or record.logger != self._logger
            or not (is_null or (record.upstream is UNSET and b"upstream" not in line and b"text/event-stream" not in line))
            or not (is_null or (record.grpc_status is None and not record.retries))
        ):
            return False
        found.records.append(Key(record.time, request.remote_port, request.uri, took))
        found.has_upstream_key |= is_null
        client = request.client_ip or request.remote_ip
        upstream = None if found.has_upstream_key else self._running.end(client, request.remote_port, request.uri)
        if upstream is None:
            found.unattributed += 1
            return True
        # fmt: off
        found.attempts.append(Attempt(
            record.time, upstream, End.ANSWERED, record.time - took, status, None, None, took, request.method, request.host,
            request.uri, client, request.remote_port, record.body_bytes, False, None, False, Origin.ACCESS, self._file, offset,
        ))
        # fmt: on
        return True

    def _failed(self, decoded: Decoded, index: int, bounds: Bounds, found: Told) -> bool:
        """Read a line that tells of a failure and is plain all the same; tell whether it was one."""
        record: Any = decoded.records[index]
        if record.message == ROUNDTRIP:
            attempt = self._failed_roundtrip(record, decoded, index, bounds)
            if attempt is None:
                return False
            self._begin(attempt, found)
            found.last = attempt.ended
            return True
        part = self._plain.failed(decoded, index, bounds)
        if part is None or not isinstance(part.entry, Attempt):
            return False
        found.records.append(part)
        found.attempts.append(part.entry)
        found.last = part.last
        found.has_upstream_key = True
        return True

    def _failed_roundtrip(self, record: Any, decoded: Decoded, index: int, bounds: Bounds) -> Attempt | None:
        """Read a round-trip line that tells of an error or a server error; None: look closer."""
        low, high, last, leap = bounds
        ended, took, status, error, request = record.time, record.request_time, record.status, record.error, record.request
        start, end = decoded.bounds(index)
        broke = error.__class__ is str and status is UNSET
        try:
            upstream = self._known[record.dial if self._has_dial else record.upstream]
            if (
                not (low <= ended <= high and ended - last <= leap and 0.0 <= took <= SURELY_FINITE)
                or not (upstream and request.remote_ip and (broke or (status >= SERVER_ERROR and error is UNSET)))
                or record.logger != PROXY_LOGGER
                or self._plain.shape.is_vital_repeated(decoded.block, start, end)
                or (status == UNAVAILABLE and decoded.block.find(b'"Retry-After"', start, end) >= 0)
            ):
                return None
        except (TypeError, AttributeError, KeyError):
            return None
        # fmt: off
        return Attempt(
            ended, upstream, failure(error) if broke else End.ANSWERED, ended - took, None if broke else status,
            None if broke else took, not broke, took if broke else None, request.method, request.host, request.uri,
            request.client_ip or request.remote_ip, request.remote_port, 0, False, None, False, Origin.ROUNDTRIP, self._file,
            decoded.offset + start,
        )
        # fmt: on


def _is_other(record: Any) -> bool:
    """Tell whether a line with all its usual keys tells of no request."""
    return record.logger.__class__ is str and record.message.__class__ is str and kind_of(record) is LineKind.OTHER
