"""The tight loop for plain good access lines: nearly all lines of a healthy day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET

from tailhealth.core.model import Attempt, End, Origin
from tailhealth.logs.caddy_kind import HANDLED
from tailhealth.logs.order import AHEAD, DELAYED
from tailhealth.logs.values import FIRST_EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tailhealth.logs.caddy_meaning import Meaning
    from tailhealth.logs.caddy_shape import Line
    from tailhealth.logs.reading import Event, Tally

ANSWERS, GAVE_UP, SERVER_ERROR, UNAVAILABLE = 200, 499, 500, 503
"""Statuses from the first up to the second are the upstream's answer and need no closer look."""
_UNANSWERED = {0: End.ABANDONED, 499: End.ABANDONED, 502: End.REFUSED, 504: End.TIMED_OUT}
"""How an attempt without a header ended, by the client's status; by any other one: without an answer."""


class Plain:
    """Reads plain attempts out of decoded records, exactly as `CaddyReader` reads them one by one."""

    def __init__(self, file: int, meaning: Meaning, tally: Tally) -> None:
        self._file = file
        self._meaning = meaning
        self._tally = tally

    def read(  # noqa: PLR0917 - one block, in the loop's own words
        self, records: list[Line], block: bytes, ends: list[int], first: int, base: int, now: float | None, events: list[Event]
    ) -> int:
        """Read attempts from the record of index `first` on; return the index of the first record that is no plain one."""
        guard, append, names = self._meaning.filter, events.append, self._meaning.shape.names
        known, scale = self._meaning.records.addresses.known, self._meaning.records.scale
        header_scale: Any = scale("header_time", names)
        own_scale = scale("response_time", names)
        file, answered, access, failed = self._file, End.ANSWERED, Origin.ACCESS, self._failed
        end: End | None
        answers, gave_up, live, below = ANSWERS, GAVE_UP, now is not None, False
        low, last = (FIRST_EPOCH if now is None else now - DELAYED), guard.reference(now)
        begin, before = len(events), ends[first - 1] if first else -1
        lines = zip(records[first:] if first else records, ends[first:] if first else ends, strict=False)
        try:
            for record, stop in cast("Iterable[tuple[Any, int]]", lines):
                ended, duration, request, own = record.time, record.request_time, record.request, record.response_time
                header, status = record.header_time, record.status
                client, upstream = request.client_ip or request.remote_ip, known[record.upstream]
                if (
                    not (low <= ended and ended - last <= AHEAD and duration >= 0.0 and upstream and client)
                    or record.message != HANDLED
                    or record.retries
                    or not (record.upstream_status is UNSET or record.upstream_status == status)
                    or record.grpc_status is not None
                ):
                    break
                if header.__class__ is float and header >= 0.0 and answers <= status < gave_up:
                    end, header, came, below = answered, header * header_scale, True, True
                else:
                    end = failed(record, block, before + 1, stop)
                    came, below = header is not None, below or status < SERVER_ERROR
                    if end is None:
                        break
                    header, status = (header * header_scale, status) if came else (None, None)
                # fmt: off
                append(Attempt(
                    ended, upstream, end, ended - duration, status, header, came, duration, request.method, request.host,
                    request.uri, client, request.remote_port, record.body_bytes, False, None, False, access, file,
                    base + before + 1, None if own is UNSET else own * own_scale,
                ))
                # fmt: on
                before = stop
                if not live:
                    last = ended
        except (TypeError, AttributeError, KeyError):
            # A value of another type than that of a plain line: it is read on its own.
            pass
        self._note(cast("list[Attempt]", events[begin:]), below=below)
        return first + len(events) - begin

    def _failed(self, record: Any, block: bytes, start: int, end: int) -> End | None:
        """Tell how an attempt ended whose line is plain but for its status or its missing header; None: look closer."""
        header, status = record.header_time, record.status
        if self._meaning.shape.is_vital_repeated(block, start, end) or record.upstream_status is not UNSET:
            return None
        if header is None:
            closer = status == UNAVAILABLE and block.find(b'"Retry-After"', start, end) >= 0
            return None if closer else _UNANSWERED.get(status, End.ANSWERED)
        if header.__class__ is not float or header < 0.0 or status < SERVER_ERROR:
            return None
        return None if status == UNAVAILABLE and block.find(b'"Retry-After"', start, end) >= 0 else End.ANSWERED

    def _note(self, attempts: list[Attempt], *, below: bool) -> None:
        """Count what was read."""
        if attempts:
            self._meaning.filter.last = attempts[-1].ended
            self._tally.records += len(attempts)
            self._tally.attempts += len(attempts)
            self._meaning.twice.passed(attempts)
            self._meaning.signs.plain(attempts, below_500=below)
