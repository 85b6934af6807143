"""Caddy through its admin interface (DESIGN section 8, Caddy)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from tailhealth.proxies.admin import Access, Admin, Answer
from tailhealth.proxies.base import Applied, Conflict, CutOff, Fatal, Forbidden, Load, ProxyError, Refused, Retryable, Snapshot
from tailhealth.proxies.caddy_change import ancestor, edited, url
from tailhealth.proxies.caddy_config import snapshot
from tailhealth.proxies.caddy_load import held_down, in_flight, process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailhealth.proxies.base import Change

OK, BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, STALE, SERVER_ERROR = 200, 400, 401, 403, 404, 412, 500
GONE = ("invalid traversal path", "array index out of bounds", "invalid array index")
"""How Caddy says that a path is not in its configuration (any more)."""


class Caddy:
    """A Caddy, read and changed through its admin interface. Each call is on a connection of its own."""

    def __init__(self, access: Access) -> None:
        self._admin = Admin(access)

    def config(self) -> Any:
        """Return the whole configuration, for those who look at more than upstreams.

        Raises:
            Retryable, Forbidden, Fatal: As for `read`.
        """
        return self._json(self._asked("GET", "/config/"))

    def read(self) -> Snapshot:
        """Read all `reverse_proxy` handlers.

        Raises:
            Retryable: The admin interface does not answer.
            Forbidden: It turns us away, in its own words.
            Fatal: What answers there is not Caddy's admin interface.
        """
        return snapshot(self.config())

    def load(self) -> Load:
        """Read requests in flight, the process's identity and the upstreams that Caddy's own checks hold down."""
        try:
            upstreams = self._asked("GET", "/reverse_proxy/upstreams").body
            metrics = self._asked("GET", "/metrics").body
            return Load(in_flight(upstreams), process(metrics), held_down(metrics))
        except (ProxyError, ValueError) as error:
            return Load(None, "", problem=str(error))

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Replace the changed handlers, or the nearest part that holds all of them, in one request.

        Raises:
            Conflict: Someone else changed a handler meanwhile.
            Retryable: No answer: it may have been done. The reload that a change causes may cut its own answer off.
            Forbidden, Refused: Caddy's own words say why.
        """
        base = ancestor(changes)
        path = url(base)
        read = self._asked("GET", path)
        body = orjson.dumps(edited(self._json(read), base, changes))
        answer = self._asked("PATCH", path, body, {"If-Match": read.etag})
        return Applied(f"PATCH {path} {answer.status}", answer.seconds)

    def _asked(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Answer:
        try:
            answer = self._admin.call(method, path, body, headers)
        except CutOff:
            if method != "GET":
                raise
            # Caddy restarts its listener with every change, whoever makes it: what was asked in that moment is asked again.
            answer = self._admin.call(method, path, body, headers)
        if answer.status != OK:
            raise _error(method, path, answer)
        return answer

    @staticmethod
    def _json(answer: Answer) -> Any:
        try:
            return orjson.loads(answer.body)
        except orjson.JSONDecodeError as error:
            raise Fatal("what answers at [proxy] admin sends no JSON: it is not Caddy's admin interface") from error


def _error(method: str, path: str, answer: Answer) -> ProxyError:
    """Turn an answer that is none of success into the error that it is, with Caddy's own words."""
    words = f"{method} {path}: {answer.status}: {answer.words}"
    if answer.status in {UNAUTHORIZED, FORBIDDEN}:
        return Forbidden(f"{words} (set `origins` in Caddy's admin options, or `headers` of [proxy])")
    if answer.status == STALE or any(text in words for text in GONE):
        return Conflict(words)
    if answer.status == BAD_REQUEST or (answer.status == SERVER_ERROR and method == "PATCH"):
        return Refused(words)
    if answer.status >= SERVER_ERROR:
        return Retryable(words)
    return Fatal(f"{words}: is [proxy] admin the address of Caddy's admin interface?")
