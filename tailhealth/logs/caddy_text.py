"""From the bytes of a Caddy line to its members: what was glued, torn, coloured or written by the console encoder."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

BOM = b"\xef\xbb\xbf"
TRIES = 50
"""So many places are tried to find the next whole object after a torn one: a hostile line must not cost more than others."""

_CONSOLE = re.compile(
    rb"([^\t{]{8,40})\t(?:\x1b\[\d+m)?([A-Za-z]{4,6})(?:\x1b\[0m)?\t(?:([\w.\-]+)\t)?([^\t]*)\t(\{.*\})\Z", re.DOTALL
)
"""Caddy's console encoder: time, level (in colour), logger, message, fields."""
_LITERAL_ENDING = re.compile(r"(?:\\r\\n|\\n|\\r|\s)*")
"""A Caddyfile's `line_ending \\r\\n` is written as four characters; all objects stand in one line then."""
_START = re.compile(r'\{"(?:level|severity|lvl|ts|@timestamp|timestamp|time|logger|msg|message)":(?=["\d])')
"""How a record begins. Within a string its quotes would be escaped, so a client can't forge one."""


class Found(NamedTuple):
    """One object of a line."""

    members: dict[str, Any]
    repeated: frozenset[str]
    """Keys that stand more than once; of these `members` has the last."""
    first: dict[str, Any]
    """The first values of the repeated keys."""
    start: int
    """Where the object begins in the line, in bytes."""
    raw: bytes


class Torn(NamedTuple):
    """A part of a line that is no whole object."""

    raw: bytes


def strip(line: bytes) -> bytes:
    """Take away what does not belong to a line: a hole of NULs, a byte order mark, blanks and carriage returns."""
    return line.strip(b"\0 \t\r\n").removeprefix(BOM).lstrip(b"\0 \t")


def members_of(line: bytes, *, repeated: bool) -> Found:
    """Parse one object.

    Args:
        line: Its bytes; those that are no UTF-8 are replaced.
        repeated: Look for keys that stand twice.

    Raises:
        ValueError: It is no JSON object.
    """
    if not repeated:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            value = _lenient(line.decode("utf-8", "replace"))
        if not isinstance(value, dict):
            raise ValueError("no object")
        return Found(value, frozenset(), {}, 0, line)
    pairs = _lenient(line.decode("utf-8", "replace"), pairs=True)
    if not isinstance(pairs, _Pairs):
        raise ValueError("no object")  # noqa: TRY004 - as above
    first: dict[str, Any] = {}
    seen: dict[str, Any] = {}
    for key, value in pairs.members:
        if key in seen and key not in first:
            first[key] = seen[key]
        seen[key] = value.plain() if isinstance(value, _Pairs) else value
    return Found(seen, frozenset(first), first, 0, line)


class _Pairs:
    """An object with its members as they stand."""

    def __init__(self, members: list[tuple[str, Any]]) -> None:
        self.members = members

    def plain(self) -> dict[str, Any]:
        """Return it as a mapping; inner objects are left as they are where nobody reads them."""
        return {key: value.plain() if isinstance(value, _Pairs) else value for key, value in self.members}


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _lenient(text: str, *, pairs: bool = False) -> Any:
    """Parse JSON that may hold raw control characters.

    Raises:
        ValueError: It is no JSON, or nested beyond all reason.
    """
    hook = _Pairs if pairs else None
    try:
        return json.loads(text, strict=False, parse_constant=_refuse, object_pairs_hook=hook)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def console(line: bytes) -> dict[str, Any] | None:
    """Read a line of the console encoder as the JSON encoder would have written it; None if it is none.

    The whole line must have that form: a message in which a client's text stands can't make another record of it.
    """
    found = _CONSOLE.match(line)
    if found is None:
        return None
    try:
        members = members_of(found[5], repeated=False).members
    except ValueError:
        return None
    stamp, logger, message = (found[part].decode("utf-8", "replace") if found[part] else "" for part in (1, 3, 4))
    return {**members, "ts": stamp, "msg": message, **({"logger": logger} if logger else {})}


def pieces(line: bytes) -> Iterator[Found | Torn]:
    """Read the objects of a line that is not one object: several glued together, or a torn one before a whole one."""
    text = line.decode("utf-8", "surrogateescape")
    decoder = json.JSONDecoder(strict=False, parse_constant=_refuse)
    at, tries, torn = 0, 0, 0
    while at < len(text):
        tries += 1
        try:
            value, end = decoder.raw_decode(text, at) if text[at] == "{" else (None, at)
        except (ValueError, RecursionError):
            value, end = None, at
        if isinstance(value, dict):
            if torn < at:
                yield Torn(text[torn:at].encode("utf-8", "surrogateescape"))
            raw = text[at:end].encode("utf-8", "surrogateescape")
            yield Found(value, frozenset(), {}, len(text[:at].encode("utf-8", "surrogateescape")), raw)
            ending = _LITERAL_ENDING.match(text, end)
            torn = at = ending.end() if ending else end
            continue
        following = _START.search(text, at + 1) if tries < TRIES else None
        at = following.start() if following else len(text)
    if torn < at:
        yield Torn(text[torn:].encode("utf-8", "surrogateescape"))
