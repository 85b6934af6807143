"""How one log is to be read, as resolved values: `[[log]]` of the configuration without its path."""

from __future__ import annotations

from datetime import UTC, tzinfo
from typing import Literal, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

Format: TypeAlias = Literal["auto", "caddy", "nginx"]

FIELDS = (
    "time",
    "upstream",
    "upstream_status",
    "header_time",
    "response_time",
    "request_time",
    "status",
    "method",
    "path",
    "host",
    "client",
    "grpc_status",
    "retries",
    "body_bytes",
)
"""The names that `fields` may map (DESIGN section 9)."""


class FieldRule(msgspec.Struct, frozen=True):
    """Where a field stands in a line, and what its numbers count."""

    key: str
    """A key of the line's object; dots lead into nested objects: `httpRequest.latency`."""
    unit: str | None = None
    """Unit of a number without one, a key of `values.UNITS`; None: what the field's usual spelling has."""


class LogRules(msgspec.Struct, frozen=True):
    """How to read one log."""

    format: Format = "auto"
    zone: str = "UTC"
    """IANA name of the zone of times that name none."""
    fields: dict[str, FieldRule] = {}
    """What the operator mapped, by a name of `FIELDS`; all others go by their usual names."""

    @property
    def tzinfo(self) -> tzinfo:
        """The zone as an object.

        Raises:
            ZoneInfoNotFoundError: No such zone; `config` has checked it before.
        """
        return UTC if self.zone == "UTC" else ZoneInfo(self.zone)
