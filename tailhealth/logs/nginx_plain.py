"""The tight loop for plain lines: those that name one upstream, seen before, and say plainly how its try ended."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from tailhealth.core.model import Attempt, End, Origin
from tailhealth.logs.nginx_lists import LONGEST
from tailhealth.logs.nginx_request import NOTHING, STATUSES, Response, request_of, response_of
from tailhealth.logs.nginx_shape import ABSENT
from tailhealth.logs.nginx_time import MILLISECONDS
from tailhealth.logs.nginx_try import CLIENT_LEFT, plain_end
from tailhealth.logs.order import AHEAD, DELAYED, FutureFilter
from tailhealth.logs.values import FIRST_EPOCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailhealth.logs.nginx_lists import Lists
    from tailhealth.logs.nginx_shape import Shape
    from tailhealth.logs.nginx_time import Times
    from tailhealth.logs.reading import Entry, Tally

KEPT = 1000
"""So many different answers are remembered."""
told = attrgetter("content_type", "grpc_status", "grpc_trailer", "retry_after")
"""What a row says of its answer, but for the status."""
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


class Plain:
    """Makes attempts of rows exactly as `Attempts` does, as long as they are plain."""

    def __init__(self, file: int, lists: Lists, times: Times, future: FutureFilter, tally: Tally) -> None:
        self._file = file
        self._lists = lists
        self._times = times
        self._future = future
        self._tally = tally
        self._answers: dict[Any, Response] = {}
        """What lines told of their answers, by the words that told it: there are few."""

    def take(self, block: Block, first: int, now: float | None, events: list[Entry]) -> int:
        """Take the rows of a block from index `first` on; return the index of the first that is not plain."""
        if not self._lists.seconds_only:
            return first
        begin = len(events)
        # A value that is missing, or of another kind than plain ones are: the row is read on its own.
        with suppress(TypeError, ValueError, KeyError):
            self._take(block, first, now, events)
        made = len(events) - begin
        if made:
            self._future.last = events[-1].ended
            self._tally.records += made
            self._tally.attempts += made
        return first + made

    def _answer(self, row: Any) -> Response:
        if len(self._answers) >= KEPT:
            self._answers.clear()
        answer = self._answers[told(row)] = response_of(row)
        return answer

    def _take(self, block: Block, first: int, now: float | None, events: list[Entry]) -> None:
        lone, when, keep, file = self._lists.lone, self._times.read, events.append, self._file
        access, cut, answered = Origin.ACCESS, End.CUT, End.ANSWERED
        answers = self._answers
        silent, text, port_is_told, size_is_told, numeric = block.shape.flags
        earliest, last = (FIRST_EPOCH if now is None else now - DELAYED), self._future.reference(now)
        base, start = block.offset, block.start(first)
        said: Any = None
        stream, grpc, again = NOTHING
        for row, end in zip(islice(block.rows, first, None), islice(block.ends, first, None), strict=True):
            at: Any = float(row.time) if numeric else when(row.time, now)
            header = row.header_time
            status = STATUSES[row.upstream_status]
            client = status if row.status == row.upstream_status else STATUSES[row.status]
            upstream, duration, waited = lone[row.upstream], float(row.response_time), float(row.request_time)
            came: bool | None = True
            if header == "-" or header is ABSENT:
                came = None if header is ABSENT else False
                header, how = None, plain_end(came is False, status, client)
            else:
                header = float(header)
                how = (cut if client == CLIENT_LEFT else answered) if status and 0.0 <= header < LONGEST else None
            # Whatever is no number fails these comparisons too.
            if not (how and earliest <= at < MILLISECONDS and at - last <= AHEAD) or not (
                0.0 <= duration < LONGEST and 0.0 <= waited < LONGEST
            ):
                return
            host, uri, peer, port = row.host, row.path, row.client, row.client_port
            # Shorter texts may be dashes, or `unix:` for a client at a socket; a path tells of a method as well.
            if text and uri[:1] == "/" and len(host) > 1 and ":" not in host and len(peer) > UNIX and port != "-":
                method, port = row.method, port if port_is_told else ""
                size = int(row.body_bytes) if size_is_told else 0
            else:
                method, host, uri, peer, port, size = request_of(row)
            # Most answers say what the one before said: to compare is cheaper than to look up.
            if not silent and told(row) != said:
                said = told(row)
                stream, grpc, again = answers.get(said) or self._answer(row)
            begun = at - (waited if waited > duration else duration)  # noqa: FURB136 - max() takes twice as long
            status = None if came is False else status
            # fmt: off
            keep(Attempt(
                at, upstream, how, begun, status, header, came, duration, method, host, uri, peer, port, size, stream, grpc,
                again, access, file, base + start, duration,
            ))
            # fmt: on
            start = end + 1
            if now is None:
                last = at
