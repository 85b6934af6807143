"""What kind of line a Caddy line is."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from msgspec import UNSET

from tailhealth.logs.caddy_shape import Request

if TYPE_CHECKING:
    from tailhealth.logs.caddy_shape import Line

ACCESS_LOGGER = "http.log.access"
PROXY_LOGGER = "http.handlers.reverse_proxy"
HANDLED = "handled request"
ROUNDTRIP = "upstream roundtrip"
BROKEN_BODY = "aborting with incomplete response"


class LineKind(Enum):
    """What a line is."""

    ACCESS = auto()
    ROUNDTRIP = auto()
    BROKEN_BODY = auto()
    OTHER = auto()
    FOREIGN = auto()
    """Nothing that Caddy writes."""


def kind_of(line: Line) -> LineKind:
    """Tell what a line is: by its logger, or by its shape where the logger's name is not written."""
    logger, message = line.logger, line.message
    if isinstance(logger, str):
        if logger == ACCESS_LOGGER or logger.startswith(ACCESS_LOGGER + "."):
            return LineKind.ACCESS
        if not logger.startswith(PROXY_LOGGER):
            return LineKind.OTHER if isinstance(message, str) or logger.startswith("http.") else LineKind.FOREIGN
    if message == ROUNDTRIP:
        return LineKind.ROUNDTRIP
    if message == BROKEN_BODY:
        return LineKind.BROKEN_BODY
    if isinstance(logger, str):
        return LineKind.OTHER
    if isinstance(line.request, Request) and line.status is not UNSET and line.error is UNSET:
        return LineKind.ACCESS if message in (HANDLED, "NOP", UNSET) else LineKind.OTHER
    return LineKind.OTHER if isinstance(message, str) else LineKind.FOREIGN
