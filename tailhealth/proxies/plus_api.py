"""The HTTP API of NGINX Plus, versions 8 and 9: requests, typed answers, and its errors in its own words.

Built from the published reference; it has met only a double of that reference, never an NGINX Plus.
"""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
import orjson

from tailhealth.proxies.admin import Access, Admin, Answer
from tailhealth.proxies.base import Conflict, Fatal, Forbidden, ProxyError, Refused, Retryable

VERSIONS = (9, 8)
"""Those that this adapter knows, the one it likes best first."""
API = "/api"

OK, BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND = 200, 400, 401, 403, 404
NOT_ALLOWED, EXISTS, NO_JSON, SERVER_ERROR = 405, 409, 415, 500
GONE = frozenset({"UpstreamServerNotFound", "UpstreamNotFound", "EntryExists"})
"""Codes of a configuration that is not what it was."""
STATIC = "UpstreamStatic"

T = TypeVar("T")


class Server(msgspec.Struct, frozen=True):
    """A server as it is configured, as far as this adapter needs it."""

    id: int
    server: str
    weight: int = 1
    max_conns: int = 0
    """0: no limit."""
    backup: bool = False
    down: bool = False
    drain: bool = False
    parent: int | None = None
    """The id of the name that it was found under."""


class Peer(msgspec.Struct, frozen=True):
    """A server as it works."""

    id: int
    server: str
    name: str = ""
    """The address that the log shows."""
    backup: bool = False
    weight: int = 1
    state: str = "up"
    active: int = 0
    max_conns: int = 0


class Upstream(msgspec.Struct, frozen=True):
    """An upstream block as it works."""

    peers: tuple[Peer, ...]


class Process(msgspec.Struct, frozen=True):
    """The process, and which configuration it runs with."""

    generation: int
    load_timestamp: str = ""
    ppid: int = 0

    @property
    def identity(self) -> str:
        """Tell it from another process and from another load of the configuration: both begin their counters anew."""
        return f"{self.ppid}-{self.generation}-{self.load_timestamp}"


class _Said(msgspec.Struct, frozen=True):
    text: str = ""
    code: str = ""


class _Error(msgspec.Struct, frozen=True):
    error: _Said


class StaticUpstreamError(Fatal):
    """The upstream block can't be changed by the API."""


class PlusApi:
    """The API at one address. Each call is on a connection of its own."""

    def __init__(self, access: Access) -> None:
        self._admin = Admin(access)
        self._version: int | None = None

    def upstreams(self) -> dict[str, Upstream]:
        """Read all upstream blocks that have a `zone`."""
        return self._typed("GET", "/http/upstreams/", dict[str, Upstream])

    def servers(self, upstream: str) -> list[tuple[Server, dict[str, Any]]]:
        """Read the servers of an upstream block as they are configured, each beside all that the API says of it.

        Raises:
            StaticUpstreamError: They can't be changed by the API.
        """
        raws = self._typed("GET", f"{_path(upstream)}/servers/", list[dict[str, Any]])
        try:
            return list(zip(msgspec.convert(raws, list[Server]), raws, strict=True))
        except msgspec.ValidationError as error:
            raise Fatal(f"what answers at [proxy] admin is not the NGINX Plus API: {error}") from error

    def change(self, upstream: str, server: int, settings: dict[str, Any]) -> Server:
        """Change a server, and return it as it is then.

        Raises:
            Conflict: It is not there any more.
            Refused: The API would not take it, in its own words.
        """
        return self._typed("PATCH", f"{_path(upstream)}/servers/{server}", Server, orjson.dumps(settings))

    def process(self) -> Process:
        """Read which process it is."""
        return self._typed("GET", "/nginx", Process)

    def _typed(self, method: str, path: str, kind: type[T], body: bytes | None = None) -> T:
        try:
            return self._decoded(self._call(method, f"{API}/{self._negotiated()}{path}", body), kind)
        except ProxyError:
            # Whatever it was, the next call asks anew which versions there are: it may be another NGINX by then.
            self._version = None
            raise

    def _negotiated(self) -> int:
        if self._version is None:
            spoken = self._decoded(self._call("GET", f"{API}/"), list[int])
            self._version = next((one for one in VERSIONS if one in spoken), None)
            if self._version is None:
                raise Fatal(
                    f"the NGINX Plus API speaks the versions {spoken}, and 8 or 9 is needed: that is release 27 or later"
                )
        return self._version

    def _call(self, method: str, path: str, body: bytes | None = None) -> Answer:
        answer = self._admin.call(method, path, body)
        if answer.status != OK:
            raise _error(method, path, answer)
        return answer

    @staticmethod
    def _decoded(answer: Answer, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Fatal(f"what answers at [proxy] admin is not the NGINX Plus API: {error}") from error


def _path(upstream: str) -> str:
    return f"/http/upstreams/{quote(upstream, safe='')}"


def _error(method: str, path: str, answer: Answer) -> ProxyError:
    """Turn an answer that is none of success into the error that it is, with the API's own words."""
    try:
        said = msgspec.json.decode(answer.body, type=_Error).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = _Said(answer.body[:200].decode("utf-8", "replace").strip() or "no further words")
    words = f"{method} {path}: {answer.status}: {said.text}" + (f" ({said.code})" if said.code else "")
    if answer.status in {UNAUTHORIZED, FORBIDDEN}:
        return Forbidden(f"{words}: set `headers` of [proxy], such as Authorization, or allow this address in nginx")
    if answer.status == NOT_ALLOWED:
        return Forbidden(f"{words}: the API is read-only: write `api write=on;` in its location")
    if said.code == STATIC:
        return StaticUpstreamError(words)
    if answer.status == EXISTS or said.code in GONE:
        return Conflict(words)
    if answer.status in {BAD_REQUEST, NO_JSON}:
        return Refused(words)
    if answer.status >= SERVER_ERROR:
        return Retryable(words)
    return Fatal(f"{words}: is [proxy] admin the address of the NGINX Plus API, without its /api?")
