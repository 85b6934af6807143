"""What Caddy's configuration says of its logs: where access lines go, and what is left out (DESIGN section 3, Blind)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailhealth.proxies.base import LogOutput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ACCESS = "http.log.access"
"""Name of the loggers that write access lines, or its beginning."""
ABOVE_INFO = frozenset({"warn", "warning", "error", "panic", "fatal"})
"""Levels at which the lines of requests that went well are left out: those have level INFO, 5xx have ERROR."""
DEFAULT = "default"


def outputs(config: Any) -> tuple[LogOutput, ...]:
    """Find the logs that get access lines, as `GET /config/` tells (None: nothing is loaded)."""
    logs = ((config or {}).get("logging") or {}).get("logs") or {}
    named = logs if DEFAULT in logs else {DEFAULT: {}, **logs}
    return tuple(_output(name, log or {}) for name, log in named.items() if _has_access_lines(log or {}))


def _output(name: str, log: Mapping[str, Any]) -> LogOutput:
    writer = log.get("writer") or {}
    level = str(log.get("level") or "")
    return LogOutput(
        name=name,
        path=str(writer.get("filename") or "") if writer.get("output") == "file" else "",
        level=level if level.lower() in ABOVE_INFO else "",
        sampled=log.get("sampling") is not None,
    )


def _has_access_lines(log: Mapping[str, Any]) -> bool:
    """Tell whether access lines of some server go there: a log takes what it includes, or all, without what it excludes."""
    include, exclude = (log.get(key) or () for key in ("include", "exclude"))
    included = not include or any(_within(one, ACCESS) or _within(ACCESS, one) for one in include)
    return included and not _any_within(ACCESS, exclude)


def _any_within(name: str, others: Iterable[str]) -> bool:
    return any(_within(name, one) for one in others)


def _within(name: str, other: str) -> bool:
    """Tell whether a logger is another one or below it."""
    return name == other or name.startswith(f"{other}.")
