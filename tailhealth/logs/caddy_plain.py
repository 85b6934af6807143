"""The tight loop for plain good access lines: nearly all lines of a healthy day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET

from tailhealth.core.model import Attempt, End, Origin
from tailhealth.logs.caddy_kind import HANDLED
from tailhealth.logs.order import AHEAD, DELAYED, FutureFilter
from tailhealth.logs.values import FIRST_EPOCH

if TYPE_CHECKING:
    from tailhealth.logs.caddy_record import Records
    from tailhealth.logs.caddy_shape import Line, Shape
    from tailhealth.logs.caddy_signs import Signs
    from tailhealth.logs.caddy_twice import Duplicates
    from tailhealth.logs.reading import Event, Tally

ANSWERS, GAVE_UP = 200, 499
"""Statuses from the first up to the second are the upstream's answer and need no closer look."""


class Plain:
    """Reads plain good attempts out of decoded records, exactly as `CaddyReader` reads them one by one."""

    def __init__(  # noqa: PLR0917 - the parts of one reader
        self, file: int, records: Records, shape: Shape, signs: Signs, twice: Duplicates, guard: FutureFilter, tally: Tally
    ) -> None:
        self._file = file
        self._records = records
        self._shape = shape
        self._signs = signs
        self._twice = twice
        self._guard = guard
        self._tally = tally

    def read(  # noqa: PLR0917 - one block, in the loop's own words
        self, records: list[Line], ends: list[int], first: int, base: int, now: float | None, events: list[Event]
    ) -> int:
        """Read attempts from the record of index `first` on; return the index of the first record that is no plain one."""
        known, guard, append = self._records.addresses.known, self._guard, events.append
        header_scale, own_scale = (self._records.scale(name, self._shape.names) for name in ("header_time", "response_time"))
        file, answered, access, answers, gave_up, live = (
            self._file,
            End.ANSWERED,
            Origin.ACCESS,
            ANSWERS,
            GAVE_UP,
            now is not None,
        )
        low, last = (FIRST_EPOCH if now is None else now - DELAYED), guard.reference(now)
        begin, index, before = len(events), first, ends[first - 1] if first else -1
        try:
            for record in cast("list[Any]", records[first:] if first else records):
                ended, duration, request, own = record.time, record.request_time, record.request, record.response_time
                header, status = record.header_time * header_scale, record.status
                client, upstream = request.client_ip or request.remote_ip, known[record.upstream]
                if (
                    not (low <= ended and ended - last <= AHEAD and answers <= status < gave_up)
                    or not (duration >= 0.0 <= header and upstream and client)
                    or record.message != HANDLED
                    or record.retries
                    or not (record.upstream_status is UNSET or record.upstream_status == status)
                    or record.grpc_status is not None
                ):
                    break
                # fmt: off
                append(Attempt(
                    ended, upstream, answered, ended - duration, status, header, True, duration, request.method, request.host,
                    request.uri, client, request.remote_port, record.body_bytes, False, None, False, access, file,
                    base + before + 1, None if own is UNSET else own * own_scale,
                ))
                # fmt: on
                before = ends[index]
                index += 1
                if not live:
                    last = ended
        except (TypeError, AttributeError, KeyError):
            # A value of another type than that of a plain line: it is read on its own.
            pass
        self._note(cast("list[Attempt]", events[begin:]))
        return index

    def _note(self, attempts: list[Attempt]) -> None:
        """Count what was read."""
        if attempts:
            self._guard.last = attempts[-1].ended
            self._tally.records += len(attempts)
            self._tally.attempts += len(attempts)
            self._twice.passed(attempts)
            self._signs.good(attempts)
