"""Which upstream a request was sent to, where access lines don't say it (a Caddy before 2.8 can't append fields to them)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailhealth.core.model import Attempt

RUNNING = 10_000
"""So many requests are remembered; beyond that the oldest is forgotten."""


class Running:
    """The requests of one file whose round-trip line came and whose access line did not yet."""

    def __init__(self) -> None:
        self._upstreams: dict[tuple[str, str, str], str] = {}

    def begin(self, attempt: Attempt) -> None:
        """Take a round-trip line: of several tries the last one counts."""
        upstreams = self._upstreams
        upstreams[attempt.client, attempt.client_port, attempt.uri] = attempt.upstream
        if len(upstreams) > RUNNING:
            del upstreams[next(iter(upstreams))]

    def end(self, client: str, port: str, uri: str) -> str | None:
        """Take an access line that names no upstream; return the one of its last try, None if no round-trip line told of it."""
        return self._upstreams.pop((client, port, uri), None)
