"""What an nginx line says about the request and the client, as against about its upstreams."""

from __future__ import annotations

from typing import Any, NamedTuple

from tailhealth.logs.nginx_shape import ABSENT, Row
from tailhealth.logs.values import integer

STREAMS = ("text/event-stream", "application/x-ndjson")
"""Bodies that stay open while there is something to say: their whole duration is no latency."""

UNKNOWN = frozenset({"", "-", None, ABSENT})
"""Values that are none: an empty variable, or no such variable."""

LAST_STATUS = 999

STATUSES: dict[Any, int | None] = {
    **{str(number): number for number in range(100, 600)},
    **{float(number): number for number in range(100, 600)},
    **dict.fromkeys(("", "-", None)),
}
"""The statuses that there are, and that there is none, by their spellings; others are read with more care."""

_REQUEST_WORDS = 2


class Request(NamedTuple):
    """Who asked for what."""

    method: str
    host: str
    uri: str
    client: str
    client_port: str
    body_bytes: int


class Response(NamedTuple):
    """What the log tells about the answer beyond its status: the headers and trailers of the last try."""

    stream: bool
    grpc_status: int | None
    retry_after: bool


NOTHING = Response(stream=False, grpc_status=None, retry_after=False)
"""What is known of the answers of earlier tries, and of most last ones."""


def text(value: Any) -> str:
    """Return a value that is text and says something, else an empty text."""
    return value if type(value) is str and value != "-" else ""


def status(value: Any) -> Any:
    """Read a status: a number, None where the log says that there is none, `ABSENT` where it says nothing.

    Raises:
        ValueError: It is no status.
    """
    if value is ABSENT:
        return ABSENT
    if value in STATUSES:
        return STATUSES[value]
    number = integer(value)
    if not 0 <= number <= LAST_STATUS:
        raise ValueError(f"no status: {value!r:.60}")
    # nginx writes 000 where there was none.
    return number or None


def client_status(row: Row) -> int | None:
    """Return the status that the client got, None where the log does not say.

    Raises:
        ValueError: It is no status.
    """
    code = status(row.status)
    return None if code is ABSENT else code


def request_of(row: Row) -> Request:
    """Gather what the line tells about the request; what it does not tell is empty."""
    method, uri = text(row.method), text(row.path)
    if not (method and uri) and type(row.request) is str:
        words = row.request.split(" ")
        if len(words) >= _REQUEST_WORDS and words[0].isalpha():
            method, uri = method or words[0], uri or _origin_form(words[1])
    client = text(row.client)
    if (not client or client == "unix:") and type(row.forwarded) is str:
        # The last address is the one that the nearest proxy vouches for; those before it are the client's own words.
        client = text(row.forwarded.rpartition(",")[2].strip())
    size = 0 if row.body_bytes is ABSENT else size_of(row.body_bytes)
    return Request(method, _without_port(text(row.host)), uri, client, text(row.client_port), size)


def response_of(row: Row) -> Response:
    """Gather what the line tells about the answer of its last try."""
    kind, grpc, trailer, again = row.content_type, row.grpc_status, row.grpc_trailer, row.retry_after
    if kind is ABSENT and grpc is ABSENT and trailer is ABSENT and again is ABSENT:
        return NOTHING
    code = _grpc(grpc)
    return Response(
        stream=text(kind).lower().startswith(STREAMS),
        grpc_status=_grpc(trailer) if code is None else code,
        retry_after=again not in UNKNOWN,
    )


def _grpc(value: Any) -> int | None:
    if value in UNKNOWN:
        return None
    try:
        return integer(value)
    except ValueError:
        return None


def size_of(value: Any) -> int:
    """Read a size; one that can't be read is none, since nothing but a latency rule asks for it."""
    try:
        return int(value) if type(value) is str and value.isdecimal() else max(0, integer(value))
    except ValueError:
        return 0


def _origin_form(target: str) -> str:
    """Return the path of a request target, which a client may write with scheme and host before it."""
    if target.startswith(("http://", "https://")):
        return "/" + target.split("/", 3)[3] if target.count("/") > len("//") else "/"
    return target


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() and not name.endswith(":") and (":" not in name or name.endswith("]")) else host
