"""Two kinds of lines that tell of one request count once (DESIGN section 3, Caddy).

A round-trip line is written when the header comes, an access line when the request ends. Where round-trip lines come, they
judge: only they name the nodes that a retry hid. The access line that belongs to one adds the whole duration. When round-trip
lines stop (DEBUG was switched off), access lines judge again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

import msgspec

from tailhealth.core.judge import has_header
from tailhealth.core.model import Aborted, Attempt, End, Origin

UNMATCHED = 20
"""So many attributed access lines in a row without a round-trip line: there are none any more."""
OPEN_REQUESTS = 10_000
"""So many requests are remembered as running; beyond that the oldest is forgotten."""

_Request: TypeAlias = tuple[str, str, str]


class Amended(NamedTuple):
    """A later line tells more of an attempt that was already handed on: `new` takes the place of `old`."""

    old: Attempt
    new: Attempt


class JoinState(msgspec.Struct, frozen=True):
    """What a join knows of requests that are not done with, so that another one can go on from there."""

    open: tuple[Attempt, ...] = ()
    """Attempts whose round-trip line came and whose request has not ended, the oldest first."""
    by_roundtrip: tuple[str, ...] = ()
    """Upstreams that round-trip lines judge."""
    held: tuple[Attempt, ...] = ()
    """Access lines without a round-trip line, not handed on yet."""


class Join:
    """Hands on each attempt once, in the order of the lines. Feed it events in that order.

    Args:
        state: Where an earlier join left off.
    """

    def __init__(self, state: JoinState | None = None) -> None:
        self.duplicates = 0
        """Access lines that told of an attempt which a round-trip line had told already."""
        self.active = False
        """Round-trip or broken-body lines were seen; until then every attempt passes unchanged."""
        self._open: dict[_Request, list[Attempt]] = {}
        self._by_roundtrip: set[str] = set()
        self._held: dict[str, list[Attempt]] = defaultdict(list)
        self._streaming: dict[str, int] = defaultdict(int)
        if state is not None:
            self._go_on(state)

    def state(self) -> JoinState:
        """Return what another join needs to go on from here."""
        return JoinState(
            tuple(attempt for attempts in self._open.values() for attempt in attempts),
            tuple(sorted(self._by_roundtrip)),
            tuple(attempt for attempts in self._held.values() for attempt in attempts),
        )

    def streaming(self, names: Iterable[str]) -> int:
        """Count requests of an upstream, by all its names, whose header came and whose end did not."""
        return sum(self._streaming.get(name, 0) for name in names)

    def has_roundtrips(self, names: Iterable[str]) -> bool:
        """Tell whether round-trip lines judge an upstream of these names now."""
        return any(name in self._by_roundtrip for name in names)

    def judges(self, upstream: str) -> bool:
        """Tell whether round-trip lines judge an upstream of this one name now."""
        return upstream in self._by_roundtrip

    def tells_an_end(self, event: Attempt) -> bool:
        """Tell whether a line shows that a request no longer waits for its header and no earlier line showed it. Ask first."""
        return event.origin is Origin.ROUNDTRIP or self.running(event) is None

    def running(self, event: Attempt) -> Attempt | None:
        """Find the running attempt of a request at an upstream; the latest, since earlier ones were retried."""
        attempts = self._open.get((event.client, event.client_port, event.uri))
        if attempts is not None:
            upstream = event.upstream
            for attempt in reversed(attempts):
                if attempt.upstream == upstream:
                    return attempt
        return None

    def feed(self, event: Attempt | Aborted) -> Iterator[Attempt | Amended]:
        """Hand on what one line adds: nothing, an attempt, a correction, or attempts that were held back."""
        if isinstance(event, Aborted):
            self._end(_request(event), None)
        elif event.origin is Origin.ROUNDTRIP:
            self.begin(event)
            yield event
        elif event.origin is Origin.BROKEN_BODY:
            yield from self._broken_body(event)
        elif event.upstream not in self._by_roundtrip:
            yield event
        else:
            yield from self._access(event)

    def begin(self, attempt: Attempt) -> None:
        """Take what a round-trip line tells: its request runs, and round-trip lines judge its upstream."""
        upstream = attempt.upstream
        self.active = True
        self._by_roundtrip.add(upstream)
        if self._held:
            self._held.pop(upstream, None)
        request = (attempt.client, attempt.client_port, attempt.uri)
        running = self._open.get(request)
        if running is None:
            self._open[request] = [attempt]
        else:
            running.append(attempt)
        if has_header(attempt):
            self._streaming[upstream] += 1
        if len(self._open) > OPEN_REQUESTS:
            self._end(next(iter(self._open)), None)

    def confirm(self, access: Attempt) -> None:
        """Take an access line whose attempt is running: it ends that, and round-trip lines still come."""
        self.duplicates += 1
        if self._held:
            self._held.pop(access.upstream, None)
        self._end((access.client, access.client_port, access.uri), access.upstream)

    def rest(self) -> list[Attempt]:
        """The input has ended: hand on the access lines that waited for a round-trip line, which can't come any more."""
        held = [attempt for attempts in self._held.values() for attempt in attempts]
        self._held.clear()
        return sorted(held, key=lambda attempt: (attempt.ended, attempt.file, attempt.offset))

    def _go_on(self, state: JoinState) -> None:
        self.active = bool(state.by_roundtrip)
        self._by_roundtrip.update(state.by_roundtrip)
        for attempt in state.open:
            self._open.setdefault(_request(attempt), []).append(attempt)
            self._streaming[attempt.upstream] += has_header(attempt)
        for attempt in state.held:
            self._held[attempt.upstream].append(attempt)

    def _broken_body(self, attempt: Attempt) -> Iterator[Attempt | Amended]:
        """Put the blame for a broken-off body in the place of the good outcome that its header made."""
        self.active = True
        if attempt.end is End.CUT:
            yield attempt
            return
        old = self.running(attempt)
        if old is None:
            yield attempt
        else:
            yield Amended(old, msgspec.structs.replace(attempt, started=old.started, header=old.header, header_came=True))

    def _access(self, attempt: Attempt) -> Iterator[Attempt | Amended]:
        old = self.running(attempt)
        if old is not None:
            self.confirm(attempt)
            yield Amended(old, _whole(old, attempt))
            return
        held = self._held[attempt.upstream]
        held.append(attempt)
        if len(held) >= UNMATCHED:
            self._by_roundtrip.discard(attempt.upstream)
            del self._held[attempt.upstream]
            yield from held

    def _end(self, request: _Request, upstream: str | None) -> None:
        """End a request: its latest attempt at `upstream` (None: at any), and the failed tries before it."""
        running = self._open.get(request, [])
        place = len(running) - 1
        while place >= 0 and upstream not in (None, running[place].upstream):
            place -= 1
        if place < 0:
            return
        ended = running.pop(place)
        if has_header(ended):
            self._streaming[ended.upstream] -= 1
        rest = [attempt for attempt in running if has_header(attempt)] if running else running
        if rest:
            self._open[request] = rest
        else:
            del self._open[request]


def _request(event: Attempt | Aborted) -> _Request:
    return (event.client, event.client_port, event.uri)


def _whole(old: Attempt, access: Attempt) -> Attempt:
    """Add to a round trip what only its access line knows. How long one without a header waited, it knows itself."""
    return msgspec.structs.replace(
        old,
        duration=access.duration if old.end is End.ANSWERED else old.duration,
        stream=old.stream or access.stream,
        grpc_status=old.grpc_status if access.grpc_status is None else access.grpc_status,
        retry_after=old.retry_after or access.retry_after,
        body_bytes=max(old.body_bytes, access.body_bytes),
    )
