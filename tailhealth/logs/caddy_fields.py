"""Single values out of a Caddy line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson
from msgspec import UNSET

from tailhealth.logs.values import integer

if TYPE_CHECKING:
    from tailhealth.logs.caddy_shape import Request


def client_of(request: Request) -> tuple[str, str]:
    """Return address and port of the client. Caddy before 2.5 writes both in one."""
    if request.remote_addr and not request.remote_ip:
        address, _, port = request.remote_addr.rpartition(":")
        return address.strip("[]"), port
    return request.client_ip or request.remote_ip, request.remote_port


def is_stream(line: bytes) -> bool:
    """Tell whether the response is an event stream."""
    if b"text/event-stream" not in line:
        return False
    return any(kind.startswith("text/event-stream") for kind in _header(line, "resp_headers", "Content-Type"))


def has_retry_after(line: bytes, key: str) -> bool:
    """Tell whether the response has a `Retry-After` header. A request header of that name is the client's and says nothing."""
    return b'"Retry-After"' in line and bool(_header(line, key, "Retry-After"))


def _header(line: bytes, key: str, name: str) -> list[str]:
    start = line.find(b"{")
    try:
        members = orjson.loads(line[max(start, 0) :])
    except orjson.JSONDecodeError:
        return []
    headers = members.get(key) if isinstance(members, dict) else None
    values = headers.get(name) if isinstance(headers, dict) else None
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def present(value: object) -> object:
    """Return a field's value, None where the field is absent."""
    return None if value is UNSET else value


def optional(value: object) -> int | None:
    """Read a whole number that may be absent.

    Raises:
        ValueError: It is there, and no whole number.
    """
    if type(value) is int:
        return value
    return None if value is None or value is UNSET or value in ("", "-") else integer(value)


def retried(value: object) -> bool:
    """Tell whether a number of retries is above zero; what is no number says nothing."""
    if value == 0:
        return False
    try:
        return bool(optional(value))
    except ValueError:
        return False
