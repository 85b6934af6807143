"""The time of a single line, for putting lines in order before they are read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tailhealth.logs.caddy_shape import NAMES, at_path
from tailhealth.logs.caddy_text import Found, console, members_of, pieces, strip
from tailhealth.logs.envelope import LEVELS
from tailhealth.logs.nginx_names import ALIASES
from tailhealth.logs.nginx_text import PREFIXES, quoted, unescaped
from tailhealth.logs.unwrap import open_one
from tailhealth.logs.values import parse_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailhealth.logs.rules import LogRules

_PLAIN = re.compile(rb'\{"level":"[a-z]+","ts":([0-9]{10}(?:\.[0-9]+)?),')
"""How nearly all lines of Caddy begin: reading the whole line costs fifty times as much."""
_NAMES = tuple(dict.fromkeys((*NAMES["time"], *ALIASES["time"])))


def line_time(rules: LogRules) -> Callable[[bytes], float | None]:
    """Return a function that tells the time of a line in epoch seconds, None for a line that has none that can be read.

    The line's own time goes before that of its envelopes. Of a record that stands over several lines, the line with the time
    tells.

    Args:
        rules: How the log is to be read.
    """
    zone, mapped = rules.tzinfo, rules.fields.get("time")
    names = (mapped.key,) if mapped is not None else _NAMES

    def read(value: object) -> float | None:
        try:
            return parse_time(value, zone)
        except ValueError:
            return None

    def of_members(members: dict[str, Any]) -> float | None:
        return next((at for name in names if (at := read(at_path(members, name))) is not None), None)

    def time_of(line: bytes) -> float | None:
        plain = _PLAIN.match(line) if mapped is None else None
        if plain is not None:
            return float(plain[1])
        text, outer = strip(line), None
        for _ in range(LEVELS):
            held = open_one(text)
            if held is None:
                break
            text, outer = strip(held.text), outer if outer is not None else held.at
        members = _members(text)
        own = of_members(members) if members is not None else None
        return own if own is not None else outer

    return time_of


def _members(text: bytes) -> dict[str, Any] | None:
    """Return the members of a line, of the first of several glued objects, or of a piece of a record over several lines."""
    text = strip(next((text[len(word) :] for word in PREFIXES if text.startswith(word)), text))
    if text.startswith(b'"'):
        text = b"{" + text.rstrip(b", ") + b"}"
    if not text.startswith(b"{"):
        return console(text)
    for attempt in (text, quoted(unescaped(text))):
        try:
            return members_of(attempt, repeated=False).members
        except ValueError:
            continue
    first = next(pieces(text))
    return first.members if isinstance(first, Found) else None
