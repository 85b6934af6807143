"""The tight loop for plain access lines: nearly all lines of a healthy day."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from msgspec import UNSET

from tailhealth.core.bulk import Bulk, Share, joined
from tailhealth.core.model import Attempt, End, Origin
from tailhealth.logs.caddy_kind import HANDLED
from tailhealth.logs.plain import Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailhealth.logs.caddy_decoded import Decoded
    from tailhealth.logs.caddy_shape import Shape
    from tailhealth.logs.order import Bounds

ANSWERS, GAVE_UP, SERVER_ERROR, UNAVAILABLE = 200, 499, 500, 503
"""Statuses from the first up to the second are the upstream's answer and need no closer look."""
_UNANSWERED = {0: End.ABANDONED, 499: End.ABANDONED, 502: End.REFUSED, 504: End.TIMED_OUT}
"""How an attempt without a header ended, by the client's status; by any other one: without an answer."""


class Plain:
    """Reads plain attempts out of decoded records, exactly as `CaddyReader` reads them one by one.

    Args:
        shape: How the lines are decoded, durations in seconds.
        logger: The one logger that writes access lines.
        known: Canonical addresses of upstreams by their spelling; None for what is no address.
        header_scale: Seconds that a number in the field of the header time counts.
        own_scale: Seconds that one in the upstream's own duration counts; None if that is unknown.
        file: Index of the file.
    """

    def __init__(  # noqa: PLR0917 - they are what lines depend on
        self,
        shape: Shape,
        logger: object,
        known: Mapping[Any, str | None],
        header_scale: float,
        own_scale: float | None,
        file: int,
    ) -> None:
        self.shape = shape
        self.decoder = shape.decoder
        self.logger = logger
        self.known = known
        self.header_scale = header_scale
        self.own_scale: Any = own_scale
        self.file = file

    def read(self, decoded: Decoded, first: int, stop: int, bounds: Bounds, parts: list[Part]) -> int:
        """Read attempts from the record of index `first` up to `stop`; return the index of the first one that is not plain."""
        while first < stop:
            answered = self._answered(decoded, first, stop, bounds)
            if answered is not None:
                parts.append(answered)
                first += answered.size
                bounds = bounds.after(answered.last)
            failed = self.failed(decoded, first, bounds) if first < stop else None
            if failed is None:
                break
            parts.append(failed)
            first += 1
            bounds = bounds.after(failed.last)
        return first

    def _answered(self, decoded: Decoded, first: int, stop: int, bounds: Bounds) -> Part | None:
        """Read attempts that were answered, as one bulk, up to the first record that is another one."""
        shares: dict[Any, Share] = {}
        statuses = {ANSWERS}
        records: list[Any] = decoded.records if first == 0 and stop == len(decoded.records) else decoded.records[first:stop]
        count, in_order = self._sum_up(records, bounds, shares, statuses)
        if count == 0:
            return None
        for share in shares.values():
            share.header *= self.header_scale
            if not in_order:
                share.ends.sort()
        addresses = {spelling: cast("str", self.known[spelling]) for spelling in shares}
        # While the attempts wait to be judged, their lines are the greater part of what is kept, and nobody needs them.
        make = partial(self.attempts, decoded._replace(block=b""), first, first + count, addresses)
        bulk = Bulk(_by_address(shares, addresses), frozenset(statuses), self.file, make)
        return Part(bulk, count, records[0].time, records[count - 1].time, below_500=True, in_order=in_order)

    def _sum_up(self, records: list[Any], bounds: Bounds, shares: dict[Any, Share], statuses: set[int]) -> tuple[int, bool]:
        """Read answered attempts into shares by the upstream's spelling; tell how many there are, and if they are in order."""
        known, logger, own_scale = self.known, self.logger, self.own_scale
        low, high, last, leap = bounds
        answers, gave_up, count, in_order = ANSWERS, GAVE_UP, 0, True
        try:
            for record in records:
                ended, duration, request, status = record.time, record.request_time, record.request, record.status
                header, own = record.header_time, record.response_time
                if (
                    not (low <= ended <= high and ended - last <= leap and duration >= 0.0 and answers <= status < gave_up)
                    or header.__class__ is not float
                    or header < 0.0
                    or record.retries
                    or record.grpc_status is not None
                    or record.message != HANDLED
                    or record.logger != logger
                    or not (request.client_ip or request.remote_ip)
                    or not (record.upstream_status is UNSET or record.upstream_status == status)
                    or not (own is UNSET or own * own_scale >= 0.0)
                ):
                    break
                share = shares.get(record.upstream)
                if share is None:
                    if not known[record.upstream]:
                        break
                    share = shares[record.upstream] = Share()
                if ended < last:
                    in_order = False
                last = ended
                share.ends.append(ended)
                # max() takes five times as long.
                if header > share.header:  # noqa: PLR1730
                    share.header = header
                if duration > share.duration:  # noqa: PLR1730
                    share.duration = duration
                if status != answers:
                    statuses.add(status)
                count += 1
        except (TypeError, AttributeError, KeyError):
            # A value of another type than that of a plain line: it is read on its own.
            pass
        return count, in_order

    def attempts(self, decoded: Decoded, first: int, stop: int, addresses: Mapping[str, str]) -> list[Attempt]:
        """Make the attempts of records that were read as a bulk."""
        scale, own_scale, file = self.header_scale, self.own_scale, self.file
        answered, access = End.ANSWERED, Origin.ACCESS
        attempts: list[Attempt] = []
        start = decoded.offset + decoded.bounds(first)[0]
        records: list[Any] = decoded.records[first:stop]
        for record, end in zip(records, decoded.ends[first:stop], strict=True):
            ended, duration, request, own = record.time, record.request_time, record.request, record.response_time
            # fmt: off
            attempts.append(Attempt(
                ended, addresses[record.upstream], answered, ended - duration, record.status,
                record.header_time * scale, True, duration, request.method, request.host, request.uri,
                request.client_ip or request.remote_ip, request.remote_port, record.body_bytes, False, None, False, access,
                file, start, None if own is UNSET else own * own_scale,
            ))
            # fmt: on
            start = decoded.offset + end + 1
        return attempts

    def failed(self, decoded: Decoded, index: int, bounds: Bounds) -> Part | None:
        """Read the attempt of a line that is plain but for its status or its missing header; None: it needs a closer look."""
        low, high, last, leap = bounds
        record: Any = decoded.records[index]
        ended, duration, status, request = record.time, record.request_time, record.status, record.request
        header, own = record.header_time, record.response_time
        try:
            upstream, client = self.known[record.upstream], request.client_ip or request.remote_ip
            if (
                not (low <= ended <= high and ended - last <= leap and duration >= 0.0 and upstream and client)
                or record.retries
                or record.grpc_status is not None
                or record.message != HANDLED
                or record.logger != self.logger
                or record.upstream_status is not UNSET
                or not (own is UNSET or own * self.own_scale >= 0.0)
            ):
                return None
            end = self._end(decoded, index, status, header)
            below = status < SERVER_ERROR
        except (TypeError, AttributeError, KeyError):
            return None
        if end is None:
            return None
        came = header is not None
        # fmt: off
        attempt = Attempt(
            ended, upstream, end, ended - duration, status if came else None,
            header * self.header_scale if came else None, came, duration, request.method, request.host, request.uri, client,
            request.remote_port, record.body_bytes, False, None, False, Origin.ACCESS, self.file,
            decoded.where(index).offset, None if own is UNSET else own * self.own_scale,
        )
        # fmt: on
        return Part(attempt, 1, ended, ended, below_500=below)

    def _end(self, decoded: Decoded, index: int, status: Any, header: Any) -> End | None:
        """Tell how such an attempt ended; None: look closer."""
        start, stop = decoded.bounds(index)
        if self.shape.is_vital_repeated(decoded.block, start, stop):
            return None
        if status == UNAVAILABLE and decoded.block.find(b'"Retry-After"', start, stop) >= 0:
            return None
        if header is None:
            return _UNANSWERED.get(status, End.ANSWERED)
        return End.ANSWERED if header.__class__ is float and header >= 0.0 and status >= SERVER_ERROR else None


def _by_address(shares: dict[str, Share], addresses: Mapping[str, str]) -> dict[str, Share]:
    """Put shares under their upstreams' canonical addresses; one upstream may be spelled in several ways."""
    found = {addresses[spelling]: share for spelling, share in shares.items()}
    return found if len(found) == len(shares) else joined((addresses[spelling], share) for spelling, share in shares.items())
