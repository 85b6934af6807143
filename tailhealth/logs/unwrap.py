"""Reads files whose lines stand in envelopes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tailhealth.logs.caddy_shape import NAMES
from tailhealth.logs.caddy_text import console, members_of, strip
from tailhealth.logs.envelope import LEVELS, LOST, Wrapped, unprefixed, unwrapped
from tailhealth.logs.hints import hint
from tailhealth.logs.lines import MAX_LINE
from tailhealth.logs.mixed import Mixed
from tailhealth.logs.nginx_names import ALIASES
from tailhealth.logs.reading import LineReader, Skip

if TYPE_CHECKING:
    from tailhealth.logs.reading import Entry, Event, Tally
    from tailhealth.logs.rules import LogRules
    from tailhealth.logs.sniff import Proxy

_STREAMS = 16
"""Lines of so many streams may be split over several envelopes at once."""


class Unwrapping(LineReader):
    """Takes the envelope off each line and hands what it holds to the proxies' readers.

    Args:
        rules: How the log is to be read.
        file: Index of the file, for the order of attempts.
        name: What hints call the file.
        tally: Where lines, records and skips are counted.
        first: The proxy whose lines the file mostly has.
        near: A time close to the first line's, for times without a year.
    """

    def __init__(self, rules: LogRules, file: int, name: str, tally: Tally, first: Proxy, *, near: float | None = None) -> None:
        self._inner = Mixed(rules, file, name, tally, first, near=near)
        self._tally = tally
        self._parts: dict[str, tuple[int, bytearray]] = {}
        """The beginnings of split lines with their offsets, by stream. One that grew too long is empty and stays so."""
        self._near = near
        mapped = rules.fields.get("time")
        names = {*NAMES["time"], *ALIASES["time"], "@timestamp", *([mapped.key.split(".")[-1]] if mapped else [])}
        self._has_time = re.compile(
            rb'"(?:' + b"|".join(re.escape(name).encode() for name in sorted(names)) + rb')"\s*:', re.IGNORECASE
        )

    @property
    def held(self) -> int | None:
        """Offset of the first line that is held back; None if there is none."""
        waiting = [offset for offset, _ in self._parts.values()]
        if self._inner.held is not None:
            waiting.append(self._inner.held)
        return min(waiting, default=None)

    def read(self, block: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read whole lines; see `LineReader`."""
        events: list[Entry] = []
        start = 0
        while start < len(block):
            end = block.find(b"\n", start) + 1 or len(block)
            events += self._line(block[start:end], offset + start, now)
            start = end
        return events

    def finish(self) -> list[Event]:
        """The file has ended: a line whose rest never came is torn."""
        for _, part in self._parts.values():
            self._tally.skip(Skip.TORN, bytes(part))
        self._parts.clear()
        return self._inner.finish()

    def _line(self, line: bytes, offset: int, now: float | None) -> list[Entry]:
        if len(line) > MAX_LINE:
            return self._skipped(Skip.OVERSIZED, line)
        held = self._opened(line, now)
        if held is LOST:
            self._tally.hints["lost_messages"] = hint("lost_messages")
            return self._skipped(Skip.OVERSIZED, line)
        if held.at is not None:
            self._near = held.at
        text = held.text
        if held.partial or held.stream in self._parts:
            whole = self._joined(held, offset)
            if whole is None:
                self._tally.lines += 1
                return []
            offset, text = whole
        text = strip(text)
        if text.startswith(b"{"):
            return self._inner.read_line(self._timed(text, held.at), offset, now)
        if console(text) is not None:
            return self._inner.read_line(text, offset, now)
        if text and held.stream == "stdout":
            return self._skipped(Skip.INVALID_JSON, text)
        self._tally.lines += 1
        self._tally.other += bool(text)
        return []

    def _opened(self, line: bytes, now: float | None) -> Wrapped:
        """Take off all envelopes of a line. The outermost time is kept, and the innermost stream."""
        held = Wrapped(strip(line))
        near = self._near if self._near is not None else now
        for _ in range(LEVELS):
            inner = open_one(held.text, near)
            if inner is None:
                break
            if inner is LOST:
                return LOST
            stream, partial = inner.stream or held.stream, inner.partial or held.partial
            held = Wrapped(inner.text, held.at if held.at is not None else inner.at, stream, partial)
            if partial:
                break
        return held

    def _joined(self, held: Wrapped, offset: int) -> tuple[int, bytes] | None:
        """Put the parts of a split line together; None while more are to come, or if it is longer than a line may be."""
        if len(self._parts) >= _STREAMS and held.stream not in self._parts:
            self._parts.pop(next(iter(self._parts)))
        start, part = self._parts.setdefault(held.stream, (offset, bytearray()))
        part += held.text
        if held.partial:
            if len(part) > MAX_LINE:
                del part[MAX_LINE + 1 :]
            return None
        del self._parts[held.stream]
        if len(part) > MAX_LINE:
            self._tally.skip(Skip.OVERSIZED, bytes(part))
            return None
        return start, bytes(part)

    def _timed(self, text: bytes, at: float | None) -> bytes:
        """Give a record without a time of its own that of its envelope."""
        if at is None or not text.endswith(b"}") or self._has_time.search(text):
            return text
        return text[:-1].rstrip() + (b"" if text[:-1].rstrip().endswith((b"{", b",")) else b",") + b'"ts":%.6f}' % at

    def _skipped(self, reason: Skip, line: bytes) -> list[Entry]:
        self._tally.lines += 1
        self._tally.skip(reason, line)
        return []


def open_one(text: bytes, near: float | None = None) -> Wrapped | None:
    """Take one envelope off a line; None if it has none."""
    if not text.startswith(b"{"):
        return unprefixed(text, near)
    try:
        return unwrapped(members_of(text, repeated=False).members)
    except ValueError:
        return None
