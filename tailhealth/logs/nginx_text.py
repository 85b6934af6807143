r"""The text of an nginx line: what operators and versions of nginx make of JSON, and the way back.

A `log_format` is text with variables in it, so a line is JSON only if its author took care. Without `escape=json` quotes and
bytes are written `\xHH`; variables without quotes leave `502, 200`, `-` or nothing where a number was expected; nginx before
1.11.8 prints the words `escape=json` themselves; a format written over several lines makes records of several lines.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tailhealth.logs.nginx_names import Pairs

PREFIXES = (b"escape=json", b"escape=default", b"escape=none")
"""What an nginx that does not know `escape=` prints before each line."""

_HEX = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|.)", re.DOTALL)
_BARE = re.compile(rb'("[^"\\:,{}\[\]]{1,80}"\s*+:)([-0-9., :]*+)(?=["}\]])')
"""A key and whatever of a bare value follows it. Possessive: a hostile line may be long and must not be searched twice."""
_TRAILING_COMMA = re.compile(rb",\s*\}\s*\Z")
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]"]', re.DOTALL)


def members(line: bytes) -> Any:
    """Parse one JSON value; objects become `Pairs`. Bytes that are no UTF-8 are replaced.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is nested beyond all reason.
    """
    text = line.decode("utf-8", "replace")
    return json.loads(text, object_pairs_hook=Pairs, parse_constant=_refuse, parse_int=float)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def unescaped(line: bytes) -> bytes:
    r"""Turn the `\xHH` of `escape=default` into what JSON would have: the byte, or an escape where JSON demands one."""
    return _HEX.sub(_json_byte, line)


def _json_byte(found: re.Match[bytes]) -> bytes:
    if found[1] is None:
        return found[0]
    byte = bytes((int(found[1], 16),))
    if byte in b'"\\':
        return b"\\" + byte
    return byte if byte >= b" " else b"\\u%04x" % byte[0]


def quoted(line: bytes) -> bytes:
    """Put quotes around numbers, lists of numbers, addresses, dashes and gaps that stand without them."""
    return _TRAILING_COMMA.sub(b"}", _BARE.sub(_quote, line))


def _quote(found: re.Match[bytes]) -> bytes:
    key, value = found[1], found[2].strip()
    comma = b"," if value.endswith(b",") else b""
    if not comma and found.string[found.end() : found.end() + 1] == b'"':
        # The value is a text, and quoted.
        return found[0]
    return key + b'"' + value.removesuffix(b",").rstrip() + b'"' + comma


def occurrences(line: bytes, name: str) -> int:
    """Count how often a name stands as a key in a line that is no JSON."""
    return len(re.findall(rb'"' + re.escape(name.encode("utf-8", "surrogatepass")) + rb'"\s*:', line))


class Nesting:
    """Follows the braces of a record over its physical lines, outside of its strings."""

    def __init__(self) -> None:
        self.depth = 0
        self.broken = False
        """A string is open at the end of a line: no multi-line format does that, the line is torn."""

    def add(self, line: bytes) -> None:
        """Take one more physical line."""
        for found in _TOKEN.finditer(line):
            token = found[0]
            if token in (b"{", b"["):
                self.depth += 1
            elif token in (b"}", b"]"):
                self.depth -= 1
            elif token == b'"':
                self.broken = True
                return

    @property
    def open(self) -> bool:
        """More lines may complete the record."""
        return self.depth > 0 and not self.broken
