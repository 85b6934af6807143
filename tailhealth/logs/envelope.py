"""What containers, journals and log stores wrap around a proxy's lines, and the way back (DESIGN section 3, "Both").

An envelope must match its whole pattern from the line's first byte: a line that only quotes a record (an error message with a
client's URI in it) stays text.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tailhealth.logs.values import parse_time

_ISO = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)"
_BSD = rb"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
_TAG = rb"[^\s:\[\]{}\"]{1,64}(?:\[\d{1,10}\])?: (?:@cee: ?)?"
_HOST = rb"[^\s{}\"]{1,255}"
_COLOUR = rb"(?:\x1b\[[0-9;]{0,12}m)*"

_CRI = re.compile(rb"(?P<time>" + _ISO + rb") (?P<stream>stdout|stderr) (?P<whole>[FP])(?::[^ ]{0,32})? ")
_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        # kubectl logs --prefix [--timestamps]
        rb"\[pod/[^\]\s]{1,253}/[^\]\s]{1,253}\] (?:(?P<time>" + _ISO + rb") )?",
        # docker compose logs [-t], also in colour
        _COLOUR + rb"[A-Za-z0-9][\w.-]{0,127} {0,64}\|" + _COLOUR + rb" (?:(?P<time>" + _ISO + rb") )?",
        # RFC 5424, also with the length before it as over TCP
        rb"(?:\d{1,7} )?<\d{1,3}>1 (?:(?P<time>" + _ISO + rb")|-) (?:" + _HOST + rb" ){4}"
        rb"(?:-|(?:\[(?:[^\]\\]|\\.)*\])+) (?:\xef\xbb\xbf)?(?:@cee: ?)?",
        # RFC 3164, journalctl's short form, rsyslog's files
        rb"(?:<\d{1,3}>)?(?P<time>" + _BSD + rb"|" + _ISO + rb") (?:" + _HOST + rb" )?" + _TAG,
        # Caddy's journald encoder
        rb"<[0-7]>(?=\{)",
        # docker logs -t
        rb"(?P<time>" + _ISO + rb") (?=\{)",
    )
)

LEVELS = 3
"""An envelope may hold another one, so many deep."""

_DOCKER = frozenset({"log", "stream", "time", "attrs"})
_LOKI = frozenset({"line", "labels", "timestamp", "ts", "stream", "tsNs", "id", "date", "fields"})
_FLUENT = frozenset(
    {
        *("log", "date", "stream", "time", "timestamp", "@timestamp", "kubernetes", "docker", "container_name", "container_id"),
        *("source", "tag", "_p", "host", "hostname", "partial_message", "logtag", "file", "path", "offset"),
    }
)
_SHIPPERS = frozenset({"source_type", "agent", "ecs", "beat", "input", "kubernetes", "container", "fluentd_tag"})
"""Keys of which Vector, Filebeat and the like write at least one."""
_RECORD = frozenset(
    {
        *("request", "request_time", "request_uri", "request_method", "upstream_addr", "upstream_status", "upstream"),
        *("upstream_response_time", "remote_addr", "uri", "duration"),
    }
)
"""An object with one of these is a record itself: what text it holds came from a client."""


class Wrapped(NamedTuple):
    """What an envelope holds."""

    text: bytes
    at: float | None = None
    """The envelope's time in epoch seconds: when the line was received. Serves where the line itself has none."""
    stream: str = ""
    """`stdout` or `stderr`, where the envelope says it."""
    partial: bool = False
    """The rest of the line follows in the next envelope of this stream."""


LOST = Wrapped(b"")
"""A journal entry without its text: it was too long for the export."""


def unprefixed(line: bytes, near: float | None = None) -> Wrapped | None:
    """Take the prefix off a line that a container runtime, a syslog daemon or a command put before it; None if it has none.

    Args:
        line: The line without its newline.
        near: A time close to the line's, for syslog's times without a year.
    """
    found = _CRI.match(line)
    if found is not None:
        stream, partial = found["stream"].decode(), found["whole"] == b"P"
        return Wrapped(line[found.end() :], _time(found["time"], near), stream, partial)
    for prefix in _PREFIXES:
        found = prefix.match(line)
        if found is not None:
            stamp = found.groupdict().get("time")
            return Wrapped(line[found.end() :], _time(stamp, near))
    return None


def unwrapped(members: dict[str, Any]) -> Wrapped | None:
    """Return what a JSON envelope holds; None if the object is none, `LOST` if its text was left out."""
    if "MESSAGE" in members and not {"__REALTIME_TIMESTAMP", "__CURSOR", "_SOURCE_REALTIME_TIMESTAMP"}.isdisjoint(members):
        return _journal(members)
    keys = members.keys()
    text = members.get("log")
    if isinstance(text, str) and (keys <= _DOCKER or keys <= _FLUENT):
        stream = members.get("stream")
        docker = isinstance(stream, str) and keys <= _DOCKER
        stamp = next((members[key] for key in ("time", "@timestamp", "timestamp", "date") if key in members), None)
        return Wrapped(_encoded(text), _time(stamp), stream if isinstance(stream, str) else "", docker and text[-1:] != "\n")
    text = members.get("line")
    if isinstance(text, str) and keys <= _LOKI and len(keys) > 1:
        return Wrapped(_encoded(text), _time(members.get("timestamp", members.get("ts"))))
    text = members.get("message")
    if isinstance(text, str) and _is_shipped(members):
        return Wrapped(_encoded(text), _time(members.get("@timestamp", members.get("timestamp"))))
    return None


def _is_shipped(members: dict[str, Any]) -> bool:
    """Tell whether a log shipper wrote the object around a line."""
    if not _RECORD.isdisjoint(members) or isinstance(members.get("status"), int | float):
        return False
    return not _SHIPPERS.isdisjoint(members) or isinstance(members.get("log"), dict)


def _journal(members: dict[str, Any]) -> Wrapped:
    """Read an entry of `journalctl -o json`: its text may be an array of bytes, or null if it is long."""
    message = members["MESSAGE"]
    stamp = members.get("__REALTIME_TIMESTAMP", members.get("_SOURCE_REALTIME_TIMESTAMP"))
    at = _time(stamp)
    if isinstance(message, list) and message and isinstance(message[-1], str):
        message = message[-1]
    if isinstance(message, str):
        return Wrapped(_encoded(message), at)
    if isinstance(message, list) and all(isinstance(byte, int) and 0 <= byte <= 0xFF for byte in message):  # noqa: PLR2004 - a byte
        return Wrapped(bytes(message), at)
    return LOST


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _time(stamp: object, near: float | None = None) -> float | None:
    """Read an envelope's time; one that can't be read is only missing."""
    try:
        return parse_time(stamp.decode() if isinstance(stamp, bytes) else stamp, near=near)
    except ValueError:
        return None
