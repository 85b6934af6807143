"""The tight loops for plain lines: those that name one upstream, seen before, and say plainly how its try ended."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from math import inf, nextafter
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from tailhealth.core.bulk import Bulk, Share
from tailhealth.core.model import Attempt, End, Origin
from tailhealth.logs.nginx_lists import LONGEST
from tailhealth.logs.nginx_request import NOTHING, STATUSES, Response, request_of, response_of, size_of
from tailhealth.logs.nginx_shape import ABSENT
from tailhealth.logs.nginx_time import MILLISECONDS, Dates
from tailhealth.logs.nginx_try import CLIENT_LEFT, FIRST_SERVER_ERROR, plain_end
from tailhealth.logs.order import Bounds
from tailhealth.logs.plain import Part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import tzinfo

    from tailhealth.logs.nginx_shape import Shape

ANSWERS = 200
"""Statuses from here up to `CLIENT_LEFT` are the upstream's answer and need no closer look."""
LATEST = nextafter(MILLISECONDS, 0.0)
"""No time is later."""
ANYTIME = Bounds(-inf, inf, -inf, inf)
FEW = 8
"""After an attempt that no bulk holds, so many that one could hold are read one by one: to sum up fewer would cost more."""
KEPT = 1000
"""So many different answers are remembered."""
told = attrgetter("content_type", "grpc_status", "grpc_trailer", "retry_after")
"""What a row says of its answer, but for the status."""
SMALL = 16
"""A block of at most so many lines that is not plainly of one shape is read line by line; a larger one is halved."""
UNIX = len("unix:")


class Block(NamedTuple):
    """Whole lines that a shape has read."""

    shape: Shape
    rows: list[Any]
    ends: Sequence[int]
    """Where each line ends in the block."""
    offset: int
    """Where the block begins in its file."""

    def start(self, index: int) -> int:
        """Return where a line begins in the block."""
        return self.ends[index - 1] + 1 if index else 0

    def is_plain(self, index: int) -> bool:
        """Tell whether there is such a row, and what nearly always is a number in it is one."""
        return index < len(self.rows) and self.rows[index].__class__ is self.shape.kind


class Plain:
    """Reads rows exactly as `Attempts` does, as long as they are plain.

    Args:
        known: Canonical addresses of upstreams by their spelling.
        zone: The zone of times that name none.
        file: Index of the file.
    """

    def __init__(self, known: Mapping[Any, str], zone: tzinfo, file: int) -> None:
        self.known = known
        self.file = file
        self._date: Any = Dates(zone).read
        """Reads a time that is no number; None if no other line is to be asked."""
        self._answers: dict[Any, Response] = {}
        """What lines told of their answers, by the words that told it: there are few."""

    def read(self, block: Block, first: int, bounds: Bounds, parts: list[Part]) -> int:
        """Read attempts from the row of index `first` on; return the index of the first one that is not plain."""
        bounds, stop = bounds._replace(high=min(bounds.high, LATEST)), len(block.rows)
        while block.is_plain(first):
            answered = self._answered(block, first, bounds)
            if answered is not None:
                parts.append(answered)
                first += answered.size
                bounds = bounds.after(answered.last)
            singles = self._singles(block, first, stop, bounds, self.known, FEW) if block.is_plain(first) else []
            if not singles:
                break
            parts += map(_part, singles)
            first += len(singles)
            bounds = bounds.after(singles[-1].ended)
        return first

    def _answered(self, block: Block, first: int, bounds: Bounds) -> Part | None:
        """Read attempts that were answered, as one bulk, up to the first row that is another one."""
        found = _Sum()
        self._sum_up(block, first, bounds, found)
        if not found.count:
            return None
        for share in found.shares.values():
            share.ends.sort()
        stop = first + found.count
        known = {spelling: self.known[spelling] for spelling in found.spelled}
        make = partial(self.attempts, block, first, stop, known)
        bulk = Bulk(found.shares, frozenset(found.statuses), self.file, make)
        return Part(bulk, found.count, self.time(block.rows[first]), self.time(block.rows[stop - 1]), below_500=True)

    def time(self, row: Any) -> Any:
        """Return when a row's request ended; what is no number if it can't be told from this row alone."""
        return row.time if row.time.__class__ is float else self._date(row.time)

    def _sum_up(self, block: Block, first: int, bounds: Bounds, found: _Sum) -> None:
        """Sum up rows that were answered."""
        rows, kind, silent, known, date = block.rows, block.shape.kind, block.shape.flags.silent, self.known, self._date
        spelled, shares, statuses = found.spelled, found.shares, found.statuses
        low, high, last, leap = bounds
        answers, gave_up, longest, count = ANSWERS, CLIENT_LEFT, LONGEST, 0
        again: Any = ...
        trailer = grpc = again
        # A value that is missing, or of another kind than plain ones are: the row is read on its own.
        with suppress(TypeError, KeyError):
            for index in range(first, len(rows)):
                row = rows[index]
                if row.__class__ is not kind or row.header_time.__class__ is not float:
                    break
                at, header, duration, waited = row.time, row.header_time, row.response_time, row.request_time
                at = at if at.__class__ is float else date(at)
                status, client = row.upstream_status, row.status
                code: Any = status if status.__class__ is int else STATUSES[status]
                # Whatever is no number fails these comparisons too.
                if (
                    not (low <= at <= high and at - last <= leap and answers <= code < gave_up)
                    or not (0.0 <= header < longest and 0.0 <= duration < longest and 0.0 <= waited < longest)
                    or (client != status and STATUSES[client] == gave_up)
                ):
                    break
                # Most answers say what the one before said: to compare is cheaper than to look up.
                if not silent and (row.retry_after != again or row.grpc_trailer != trailer or row.grpc_status != grpc):
                    if self._says_more(row):
                        break
                    again, trailer, grpc = row.retry_after, row.grpc_trailer, row.grpc_status
                share = spelled.get(row.upstream)
                if share is None:
                    share = spelled[row.upstream] = shares.setdefault(known[row.upstream], Share())
                last = at
                share.ends.append(at)
                # max() takes five times as long.
                if header > share.header:  # noqa: PLR1730
                    share.header = header
                duration = waited if waited > duration else duration  # noqa: FURB136
                if duration > share.duration:  # noqa: PLR1730
                    share.duration = duration
                if code != answers:
                    statuses.add(code)
                count += 1
        found.count = count

    def attempts(self, block: Block, first: int, stop: int, known: Mapping[Any, str]) -> list[Attempt]:
        """Make the attempts of rows that were read as a bulk."""
        return self._singles(block, first, stop, ANYTIME, known, inf)

    def _singles(  # noqa: PLR0917 - a part of one block
        self, block: Block, first: int, stop: int, bounds: Bounds, known: Mapping[Any, str], few: float
    ) -> list[Attempt]:
        """Read the attempts of plain rows one by one, until `few` of them that a bulk could hold stand together."""
        shape, date, file, start = block.shape, self._date, self.file, block.offset + block.start(first)
        access, cut, answered, answers, calm, said = Origin.ACCESS, End.CUT, End.ANSWERED, self._answers, 0, None
        stream, grpc, again = NOTHING
        silent, text, port_is_told, size_is_told = shape.flags
        low, high, last, leap = bounds
        attempts: list[Attempt] = []
        with suppress(TypeError, KeyError):
            for index in range(first, stop):
                row = block.rows[index]
                if row.__class__ is not shape.kind or calm >= few:
                    break
                at, header, duration, waited = row.time, row.header_time, row.response_time, row.request_time
                at = at if at.__class__ is float else date(at)
                status = STATUSES[row.upstream_status]
                client = status if row.status == row.upstream_status else STATUSES[row.status]
                came: bool | None = True
                if header.__class__ is float:
                    how = (cut if client == CLIENT_LEFT else answered) if status and 0.0 <= header < LONGEST else None
                else:
                    came = None if header is ABSENT else False
                    how = plain_end(came is False, status, client) if header is ABSENT or header == "-" else None
                    header, status = None, None if came is False else status
                if not (how and low <= at <= high and at - last <= leap) or not (
                    0.0 <= duration < LONGEST and 0.0 <= waited < LONGEST
                ):
                    break
                host, uri, peer, port = row.host, row.path, row.client, row.client_port
                # Shorter texts may be dashes, or `unix:` for a client at a socket; a path tells of a method as well.
                if text and uri[:1] == "/" and len(host) > 1 and ":" not in host and len(peer) > UNIX and port != "-":
                    method, port = row.method, port if port_is_told else ""
                    size = size_of(row.body_bytes) if size_is_told else 0
                else:
                    method, host, uri, peer, port, size = request_of(row)
                if not silent and told(row) != said:
                    said = told(row)
                    stream, grpc, again = answers.get(said) or self._answer(row)
                begun = at - (waited if waited > duration else duration)  # noqa: FURB136 - max() takes twice as long
                # fmt: off
                attempts.append(Attempt(
                    at, known[row.upstream], how, begun, status, header, came, duration, method, host, uri, peer, port, size,
                    stream, grpc, again, access, file, start, duration,
                ))
                # fmt: on
                last, start = at, block.offset + block.ends[index] + 1
                is_answer = status and ANSWERS <= status < CLIENT_LEFT and header is not None and how is answered
                calm = calm + 1 if is_answer and grpc is None and not again else 0
        return attempts

    def _says_more(self, row: Any) -> bool:
        """Tell whether an answer is to be judged by more than its status."""
        answer = self._answers.get(told(row)) or self._answer(row)
        return answer.grpc_status is not None or answer.retry_after

    def _answer(self, row: Any) -> Response:
        if len(self._answers) >= KEPT:
            self._answers.clear()
        answer = self._answers[told(row)] = response_of(row)
        return answer


class _Sum:
    """What is summed up of a stretch of rows."""

    __slots__ = ("count", "shares", "spelled", "statuses")

    def __init__(self) -> None:
        self.count = 0
        self.shares: dict[str, Share] = {}
        self.spelled: dict[Any, Share] = {}
        """The same by how the rows spell the upstream; two spellings may be one."""
        self.statuses = {ANSWERS}


def _part(attempt: Attempt) -> Part:
    status = attempt.status
    return Part(attempt, 1, attempt.ended, attempt.ended, below_500=status is not None and status < FIRST_SERVER_ERROR)
