"""What one Caddy line tells of an upstream (DESIGN section 3, "Caddy")."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from tailhealth.core.model import Aborted, Attempt, End, Origin
from tailhealth.logs.caddy_address import Addresses
from tailhealth.logs.caddy_answer import answer_of, client_left, failure
from tailhealth.logs.caddy_fields import client_of, has_retry_after, is_stream, optional, present, retried
from tailhealth.logs.caddy_shape import Request
from tailhealth.logs.caddy_units import DurationUnit
from tailhealth.logs.hints import hint
from tailhealth.logs.values import UNITS, seconds

if TYPE_CHECKING:
    from tailhealth.logs.caddy_decoded import Where
    from tailhealth.logs.caddy_shape import Line, Text
    from tailhealth.logs.reading import Tally
    from tailhealth.logs.rules import LogRules

SWITCHING_PROTOCOLS = 101
UNAVAILABLE = 503

_NO_REQUEST = Request()


class Records:
    """Reads single lines of one file into attempts.

    Args:
        rules: How the operator says the log is to be read.
        file: Index of the file, for the order of events.
        tally: Where hints go.
    """

    def __init__(self, rules: LogRules, file: int, tally: Tally) -> None:
        self.addresses = Addresses(tally)
        self._units = {name: rule.unit for name, rule in rules.fields.items() if rule.unit is not None}
        self.unit = DurationUnit(self._units.get("request_time"))
        self._file = file
        self._tally = tally

    def access(self, line: Line, ended: float, where: Where, names: dict[str, str]) -> Attempt | None:
        """Read an access line that names an upstream; None if what it names is no address.

        Args:
            line: The line.
            ended: Its time.
            where: Where it stands.
            names: The keys of the fields, which may tell units.

        Raises:
            ValueError: A value that is needed can't be read.
        """
        status = optional(line.status)
        upstream = self.addresses.find(line.upstream) if isinstance(line.upstream, str) else None
        if upstream is None:
            return None
        if status is None:
            raise ValueError("an access line without a status")
        header = self._field(line.header_time, "header_time", names)
        own = self._field(line.response_time, "response_time", names)
        whole = self._whole(line, header)
        waited = own if retried(line.retries) else whole
        answer = answer_of(line, status, header, waited)
        request = line.request if isinstance(line.request, Request) else _NO_REQUEST
        client, port = client_of(request)
        return Attempt(
            ended,
            upstream,
            answer.end,
            ended - next((time for time in (whole, own, header) if time is not None), 0.0),
            answer.status,
            answer.header,
            answer.came,
            answer.duration,
            request.method,
            request.host,
            request.uri,
            client,
            port,
            line.body_bytes,
            stream=answer.came is not False and header is None and is_stream(where.line),
            grpc_status=optional(line.grpc_status),
            retry_after=status == UNAVAILABLE and has_retry_after(where.line, "resp_headers"),
            origin=Origin.ACCESS,
            file=self._file,
            offset=where.offset,
            own_duration=own,
        )

    def roundtrip(self, line: Line, ended: float, where: Where, spelled: Text) -> Attempt | None:
        """Read a round-trip line: one attempt with its real upstream, to its header or to its error.

        Raises:
            ValueError: A value that is needed can't be read.
        """
        upstream = self.addresses.find(spelled) if isinstance(spelled, str) else None
        if upstream is None:
            return None
        took = self.unit.seconds(present(line.request_time))
        status = optional(line.status)
        failed = isinstance(line.error, str) or status is None
        request = line.request if isinstance(line.request, Request) else _NO_REQUEST
        client, port = client_of(request)
        return Attempt(
            ended,
            upstream,
            failure(line.error if isinstance(line.error, str) else "") if failed else End.ANSWERED,
            ended - (took or 0.0),
            None if failed else status,
            None if failed else took,
            not failed,
            took if failed else None,
            request.method,
            request.host,
            request.uri,
            client,
            port,
            retry_after=status == UNAVAILABLE and has_retry_after(where.line, "headers"),
            origin=Origin.ROUNDTRIP,
            file=self._file,
            offset=where.offset,
        )

    def broken_body(self, line: Line, ended: float, where: Where, spelled: Text) -> Attempt | None:
        """Read the warning that a body broke off: the upstream's fault, or the client left.

        Raises:
            ValueError: A value that is needed can't be read.
        """
        upstream = self.addresses.find(spelled) if isinstance(spelled, str) else None
        if upstream is None:
            return None
        header = self.unit.seconds(present(line.request_time))
        error = line.error if isinstance(line.error, str) else ""
        request = line.request if isinstance(line.request, Request) else _NO_REQUEST
        client, port = client_of(request)
        return Attempt(
            ended,
            upstream,
            End.CUT if client_left(error) else End.TRUNCATED,
            ended - (header or 0.0),
            None,
            header,
            True,
            None,
            request.method,
            request.host,
            request.uri,
            client,
            port,
            origin=Origin.BROKEN_BODY,
            file=self._file,
            offset=where.offset,
        )

    def aborted(self, line: Line, ended: float, where: Where) -> Aborted:
        """Read an access line whose handler was cut off."""
        request = line.request if isinstance(line.request, Request) else _NO_REQUEST
        client, port = client_of(request)
        return Aborted(ended, optional(line.status), client, port, request.uri, self._file, where.offset)

    def took(self, line: Line) -> float | None:
        """Return the whole duration of a line, None if it has none that can be read."""
        try:
            return self._whole(line, None)
        except ValueError:
            return None

    def _whole(self, line: Line, header: float | None) -> float | None:
        if self.unit.unit is None and line.status == SWITCHING_PROTOCOLS and not isinstance(line.request_time, str):
            return None  # the lifetime of a connection tells nothing of the unit
        return self.unit.seconds(present(line.request_time), header)

    def scale(self, field: str, names: dict[str, str]) -> float | None:
        """Return the seconds that a number in an appended field counts; None while that is unknown."""
        unit = self._unit(field, names) or (self.unit.unit if not self.unit.assumed else None)
        return UNITS[unit] if unit is not None else None

    def _unit(self, field: str, names: dict[str, str]) -> str | None:
        if field in self._units:
            return self._units[field]
        return "ms" if names[field].endswith(("_ms", "-ms")) else None

    def _field(self, value: object, field: str, names: dict[str, str]) -> float | None:
        """Read the duration in an appended field: in the unit given or told by its name, else in that of `duration`."""
        if value is None or value is UNSET:
            return None
        if isinstance(value, str) and value.startswith("{"):
            self._tally.hints["literal_placeholder"] = hint("literal_placeholder")
            return None
        unit = self._unit(field, names)
        return seconds(value, unit) if unit is not None else self.unit.seconds(value)
