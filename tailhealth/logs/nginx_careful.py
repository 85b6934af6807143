"""Reads a line that no known shape fits: repeated keys, broken JSON, other spellings, and lines that are no access records."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any, cast

from tailhealth.logs.nginx_gather import LONGEST_RECORD
from tailhealth.logs.nginx_names import ALIASES, RANKS, Flat, Key, Pairs, choose, flatten, recognised, spelling
from tailhealth.logs.nginx_shape import Row, Shape, SlowRow
from tailhealth.logs.nginx_text import PREFIXES, Nesting, members, occurrences, quoted, unescaped
from tailhealth.logs.reading import Skip, Tally
from tailhealth.logs.rules import LogRules

HINTS = {
    "escape": "every line begins with `escape=...`: this nginx does not know that parameter; update it to 1.11.8 or newer",
    "escape_default": "the log is not written with `escape=json`, quotes and other bytes are garbled: add it to the log_format",
    "unquoted": "numbers stand without quotes, so failed requests are no JSON: quote the variables in the log_format",
    "multi_line": "the log_format spans several lines: write it so that each record is one line",
    "ambiguous": (
        "lines have a key twice: the log_format names it twice, or clients can forge lines; name it once, with `escape=json`"
    ),
    "no_upstream_field": 'lines name no upstream: add "upstream_addr":"$upstream_addr" to the log_format',
    "no_upstream_status": 'the client\'s status judges: add "upstream_status":"$upstream_status" to the log_format',
    "no_header_time": (
        "nothing tells when a header came, so slow bodies pass for slow upstreams: add"
        ' "upstream_header_time":"$upstream_header_time" to the log_format'
    ),
    "no_status": 'lines have no client status: add "status":"$status" to the log_format',
    "arrival_time": 'lines have no time, that of their arrival is used: add "msec":"$msec" to the log_format',
}
"""What is wrong with a setup, with its remedy."""

MOST_SHAPES = 64
"""A file whose lines have more sets of keys than this has no shape worth learning."""

MOST_KEYS = 300
"""Nor has one with more keys in a line."""

_ABOUT_REQUEST = frozenset({"method", "path", "request", "host", "client", "request_time"})


@dataclass(frozen=True, slots=True)
class Object:
    """An access record, read with care."""

    row: Row
    times: list[Any]
    """Values that may be its time, the best first."""
    shape: Shape | None
    """How further lines of this kind can be read fast."""


class Careful:
    """Reads lines one by one, repairing what has one meaning only. Keeps the shapes that it has learned."""

    def __init__(self, rules: LogRules, name: str, tally: Tally) -> None:
        self._rules = rules
        self._name = name
        self._tally = tally
        self._shapes: dict[frozenset[Key], Shape] = {}

    def hint(self, code: str) -> None:
        """Say once what is wrong with the setup."""
        self._tally.hints.setdefault(code, f"{self._name}: {HINTS[code]}")

    def read(self, line: bytes) -> Object | Skip | None:
        """Read a line without blanks around it.

        Returns:
            An access record; or why the line can't be used, `TORN` meaning that it begins a record and does not end it; or None
            for a valid line that is no access record of nginx.
        """
        text = self._without_prefix(line)
        try:
            value = self._parsed(text)
        except (ValueError, RecursionError):
            return self._unreadable(text)
        if not isinstance(value, Pairs):
            return None
        flat = flatten(value)
        if _by_caddy(flat):
            return None
        if any(recognised(key, self._rules) for key in flat.repeated):
            self.hint("ambiguous")
            return Skip.AMBIGUOUS
        return self._object(flat)

    def _without_prefix(self, line: bytes) -> bytes:
        text = line.removeprefix(b"\xef\xbb\xbf")
        for prefix in PREFIXES:
            if text.startswith(prefix):
                rest = text[len(prefix) :].lstrip()
                if rest.startswith(b"{"):
                    self.hint("escape")
                    return rest
        return text

    def _parsed(self, text: bytes) -> Any:
        """Parse a line, repaired where it is no JSON as it stands.

        Raises:
            ValueError: It is no JSON and can't be made it.
            RecursionError: It is nested beyond all reason.
        """
        try:
            return members(text)
        except ValueError:
            if not text.startswith(b"{") or len(text) > LONGEST_RECORD:
                raise
        codes = []
        if b"\\x" in text:
            text = unescaped(text)
            codes.append("escape_default")
        try:
            value = members(text)
        except ValueError:
            value = members(quoted(text))
            codes.append("unquoted")
        for code in codes:
            self.hint(code)
        return value

    def _unreadable(self, text: bytes) -> Skip:
        if not text.startswith(b"{"):
            return Skip.INVALID_JSON
        names = {key[-1] for keys in self._shapes for key in keys} or {aliases[0] for aliases in ALIASES.values()}
        if any(occurrences(text, name) > 1 for name in names):
            self.hint("ambiguous")
            return Skip.AMBIGUOUS
        nesting = Nesting()
        nesting.add(text)
        return Skip.TORN if nesting.depth > 0 or nesting.broken else Skip.INVALID_JSON

    def _object(self, flat: Flat) -> Object | None:
        keys = frozenset(flat.values)
        shape = self._shapes.get(keys)
        choices = shape.choices if shape is not None else choose(flat.values, self._rules)
        chosen = {choice.field: choice.key for choice in choices}
        if not ("upstream" in chosen or ("status" in chosen and not _ABOUT_REQUEST.isdisjoint(chosen))):
            return None
        if shape is None and len(self._shapes) < MOST_SHAPES and len(keys) <= MOST_KEYS:
            shape = self._shapes[keys] = Shape(flat.values, self._rules)
            self._learned(chosen)
        row = SlowRow({field: _clean(flat.values[key]) for field, key in chosen.items()})
        return Object(cast("Row", row), self._times(flat, chosen), shape)

    def _times(self, flat: Flat, chosen: dict[str, Key]) -> list[Any]:
        """List what may be the line's time: the operator's key only, or all that are known, the best first."""
        if "time" in self._rules.fields:
            return [flat.values[chosen["time"]]] if "time" in chosen else []
        ranked = [(RANKS[spelling(key)], value) for key, value in flat.values.items() if spelling(key) in RANKS]
        return [value for (_, _), value in sorted((one for one in ranked if one[0][0] == "time"), key=lambda one: one[0])]

    def _learned(self, chosen: dict[str, Key]) -> None:
        """Say what the lines of a new shape lack."""
        for name, rule in self._rules.fields.items():
            if name not in chosen:
                self._tally.hints.setdefault(
                    f"no_{name}", f"{self._name}: lines have no key {rule.key!r}, which `fields.{name}` names; correct it"
                )
        if "upstream" not in chosen:
            self.hint("no_upstream_field")
            return
        for name in ("upstream_status", "header_time", "status"):
            if name not in chosen:
                self.hint(f"no_{name}")


def _by_caddy(flat: Flat) -> bool:
    """Tell whether an object is a line of Caddy's: by its logger, or by the object that holds the request."""
    logger = flat.values.get(("logger",))
    if isinstance(logger, str):
        return logger.startswith("http.")
    return ("request", "uri") in flat.values and ("request", "proto") in flat.values and ("upstream_addr",) not in flat.values


def _clean(value: Any) -> Any:
    """Make a value fit for a row: a text that UTF-8 can spell (JSON can spell half a surrogate pair), a number or None.

    Anything else becomes a number that is none, so that whoever needs it finds a bad value.
    """
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    return value if value is None or type(value) is float else nan
