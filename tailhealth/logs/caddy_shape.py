"""Which key of a Caddy line is which field, and the decoder that reads just these.

Caddy's encoder keys can be renamed, filters rename fields, and the appended fields have whatever names the operator chose. The
usual names are known; a file's own are learned from its lines; the configuration's `fields` go before both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec
from msgspec import UNSET, UnsetType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tailhealth.logs.rules import LogRules

Text: TypeAlias = str | UnsetType | None
Duration: TypeAlias = int | float | str | UnsetType | None
Number: TypeAlias = float | str | UnsetType | None
Whole: TypeAlias = int | str | UnsetType | None


class Request(msgspec.Struct, gc=False):
    """The `request` object of a line. `remote_addr` is that of Caddy before 2.5."""

    remote_ip: str = ""
    remote_port: str = ""
    client_ip: str = ""
    method: str = ""
    host: str = ""
    uri: str = ""
    remote_addr: str = ""


class Line(msgspec.Struct, gc=False):
    """What is asked of one line, in the order in which Caddy writes it. Absent is UNSET, null is None."""

    time: Number = UNSET
    logger: Text = UNSET
    message: Text = UNSET
    request: Request | UnsetType | None = UNSET
    body_bytes: int = 0
    request_time: Duration = UNSET
    status: Whole = UNSET
    upstream: Text = UNSET
    header_time: Number = UNSET
    retries: Whole = 0
    response_time: Number = UNSET
    upstream_status: Whole = UNSET
    grpc_status: Whole = None
    error: Text = UNSET
    dial: Text = UNSET
    """The `upstream` of Caddy's own lines where the operator's field has another name."""


NAMES: dict[str, tuple[str, ...]] = {
    "time": ("ts", "@timestamp", "timestamp", "time"),
    "logger": ("logger", "name", "logger_name"),
    "message": ("msg", "message"),
    "request": ("request",),
    "body_bytes": ("bytes_read",),
    "request_time": ("duration",),
    "status": ("status",),
    "upstream": (
        *("upstream", "upstream_addr", "upstream_hostport", "upstream_address", "upstream-addr", "upstream-hostport"),
        *("upstream_host", "upstream-host", "rp_upstream", "rp_upstream_hostport", "rp_upstream_host"),
    ),
    "header_time": (
        *("upstream_latency_ms", "upstream-latency-ms", "upstream_header_time_ms", "rp_upstream_latency_ms"),
        *("upstream_latency", "upstream-latency", "upstream_header_time", "rp_upstream_latency"),
    ),
    "retries": ("retries", "rp_lb_retries", "rp_retries", "lb_retries", "upstream_retries", "upstream-retries"),
    "response_time": (
        *("upstream_duration_ms", "upstream-duration-ms", "upstream_response_time_ms", "rp_upstream_duration_ms"),
        *("upstream_duration", "upstream-duration", "upstream_response_time", "rp_upstream_duration"),
    ),
    "upstream_status": ("upstream_status", "upstream-status", "upstream_status_code", "rp_status_code", "rp_status"),
    "grpc_status": ("grpc_status", "grpc-status"),
    "error": ("error",),
}
"""The usual names of each field, the recommended one first; those seen in public configurations are among them."""

BUILT_IN = frozenset({"time", "logger", "message", "request", "body_bytes", "request_time", "status"})
"""Fields that Caddy writes itself: of a key that stands twice the first is Caddy's, the second was appended (case 57)."""

_NEEDED = ("time", "logger", "message", "request", "status", "upstream", "header_time")
_KEY = re.compile(rb'"([\w@.-]{1,32})":')
_NOTHING = (UNSET, None, 0)
"""What a field holds that is absent, or may be."""
_IN_REQUEST = frozenset({"method", "path", "host", "client"})
_TEXTS = frozenset({"logger", "message", "upstream", "error", "dial"})


class Shape:
    """The names of the fields in the lines of one file.

    Args:
        rules: What the operator mapped.
    """

    def __init__(self, rules: LogRules) -> None:
        self.names = {field: names[0] for field, names in NAMES.items()}
        self.mapped = {name: rule for name, rule in rules.fields.items() if name in self.names}
        self.names.update({name: rule.key for name, rule in self.mapped.items()})
        self.in_request = {name: rule.key for name, rule in rules.fields.items() if name in _IN_REQUEST}
        self.nested = bool(self.in_request) or any("." in rule.key for rule in self.mapped.values())
        """Some field stands inside an object: lines are read one by one."""
        self.in_seconds = False
        """Durations are known to be seconds: whole ones need not be told from others any more."""
        self._unseen = set(NAMES)
        """Fields that no line of the file has had so far, under any name."""
        self._build()

    def _build(self) -> None:
        keys = dict(self.names)
        if keys["upstream"] != "upstream":
            keys["dial"] = "upstream"
        fields = msgspec.structs.fields(Line)
        types = {"request_time": Number} if self.in_seconds else {}
        kind = msgspec.defstruct(
            "CaddyLine",
            [(field.name, types.get(field.name, field.type), field.default) for field in fields],
            rename={field.name: keys.get(field.name, f"- {field.name}") for field in fields},
            gc=False,
        )
        self.decoder = cast("msgspec.json.Decoder[Line]", msgspec.json.Decoder(kind))
        chosen = set(self.names.values())
        others = {name for field, names in NAMES.items() if field not in self.mapped for name in names} - chosen
        self._others = frozenset(name.encode() for name in others)
        """Usual names of fields that the decoder does not look for."""
        self._own = [keys[field].encode() for field in sorted(BUILT_IN)]
        """Keys that Caddy writes itself: each may stand once."""
        self._vital = [b'"' + keys[field].encode() + b'":' for field in ("status", "request_time")]

    def durations_are_seconds(self) -> None:
        """Decode durations as plain numbers from now on."""
        self.in_seconds = True
        self._build()

    def take_names(self, names: Mapping[str, str]) -> None:
        """Read a file whose fields are known, with durations in seconds."""
        self.names = dict(names)
        self.durations_are_seconds()

    def is_odd(self, line: bytes) -> bool:
        """Tell whether the decoder may misread a line: a built-in key stands twice, or a field under another usual name."""
        keys = _KEY.findall(line)
        return not self._others.isdisjoint(keys) or any(keys.count(key) > 1 for key in self._own)

    def is_repeated(self, line: bytes) -> bool:
        """Tell whether a built-in key may stand twice in a line."""
        keys = _KEY.findall(line)
        return any(keys.count(key) > 1 for key in self._own)

    def is_vital_repeated(self, text: bytes, start: int, end: int) -> bool:
        """Tell whether status or duration may stand twice in the line from `start` to `end`."""
        first, second = self._vital
        return text.count(first, start, end) > 1 or text.count(second, start, end) > 1

    def is_misread(self, record: Line, line: bytes) -> bool:
        """Tell whether the decoder misread a line that may be held against an upstream.

        Status and duration are searched for repeated keys, and all keys where a field is absent that other lines have.
        """
        if self.is_vital_repeated(line, 0, len(line)):
            return True
        absent = any(getattr(record, field) is UNSET for field in _NEEDED if field not in self._unseen)
        return absent and not self._others.isdisjoint(_KEY.findall(line))

    def observe(self, members: Mapping[str, Any]) -> None:
        """Learn the names that a line of Caddy's uses, where the usual ones have not been seen in this file."""
        changed = False
        for field in self._unseen - self.mapped.keys():
            found = next((name for name in NAMES[field] if name in members), None)
            if found is not None:
                self._unseen.discard(field)
                changed |= found != self.names[field]
                self.names[field] = found
        if changed:
            self._build()

    def confirm(self, line: Line) -> None:
        """Note the fields that a line has under the names that are looked for."""
        if self._unseen:
            self._unseen -= {field for field in self._unseen if getattr(line, field) not in _NOTHING}

    def line(self, members: Mapping[str, Any]) -> Line:
        """Make a line of its members, leniently: a value of an unfit type is what it is, or absent where nobody needs it."""
        found: dict[str, Any] = {}
        for field in NAMES:
            value = self._pick(members, field)
            if value is not UNSET:
                found[field] = _text(value) if field in _TEXTS else value
        found["request"] = self._request(members, found.get("request", UNSET))
        bytes_read = found.pop("body_bytes", 0)
        if isinstance(bytes_read, int) and not isinstance(bytes_read, bool):
            found["body_bytes"] = bytes_read
        if self.names["upstream"] != "upstream":
            found["dial"] = _text(members.get("upstream", UNSET))
        return Line(**found)

    def _pick(self, members: Mapping[str, Any], field: str) -> Any:
        """Find a field's value; UNSET if it is nowhere."""
        if field in self.mapped:
            return at_path(members, self.names[field])
        name = self.names[field]
        if name in members:
            return members[name]
        return next((members[name] for name in NAMES[field] if name in members), UNSET)

    def _request(self, members: Mapping[str, Any], given: Any) -> Request | UnsetType | None:
        if not isinstance(given, dict) and not self.in_request:
            return None if given is None else UNSET
        inner = given if isinstance(given, dict) else {}
        known = {name: _plain(inner.get(name)) for name in Request.__struct_fields__}
        for name, key in self.in_request.items():
            known[{"path": "uri", "client": "client_ip"}.get(name, name)] = _plain(at_path(members, key))
        return Request(**known)


def at_path(members: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key, else what dots in it lead to; UNSET if there is none."""
    if key in members:
        return members[key]
    value: Any = members
    for part in key.split("."):
        if not isinstance(value, dict) or part not in value:
            return UNSET
        value = value[part]
    return value


def _plain(value: Any) -> str:
    return _text(value) if isinstance(value, str) else ""


def _text(value: Any) -> Any:
    """Make text safe to encode again: half a surrogate pair can stand in an escape of a hostile line."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode()
