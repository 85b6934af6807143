"""The `access_log` directives of nginx's configuration: what holds lines back, and what leaves some out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec


class AccessLog(msgspec.Struct, frozen=True):
    """One `access_log` that writes a file."""

    path: str
    """As the directive spells it."""
    buffered: bool = False
    """Lines wait in a buffer until it is full, or for `flush`."""
    condition: str = ""
    """What decides whether a line is written; empty: every one is."""


def access_logs(files: Iterable[Mapping[str, Any]]) -> tuple[AccessLog, ...]:
    """Find all of them, in files as `crossplane` parses them."""
    found = (_log(args) for one in files for args in _arguments(one["parsed"]) if args and args[0] != "off")
    return tuple(dict.fromkeys(found))


def _arguments(statements: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    for one in statements:
        if one["directive"] == "access_log":
            yield one["args"]
        yield from _arguments(one.get("block", ()))


def _log(args: list[str]) -> AccessLog:
    options = dict(word.partition("=")[::2] for word in args[1:] if "=" in word)
    # Compressed lines are buffered too, and `flush` alone buffers nothing.
    return AccessLog(
        args[0], buffered="buffer" in options or "gzip" in options or "gzip" in args[2:], condition=options.get("if", "")
    )
