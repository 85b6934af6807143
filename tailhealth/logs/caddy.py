"""Reads Caddy's JSON log into attempts (DESIGN section 3, "Caddy").

Three ways lead to the same result. Blocks of plain good access lines go through one typed decoder and one tight loop. Lines
that are not so plain are taken one by one from the decoder's records. Lines that the decoder can't be trusted with (keys that
stand twice, fields under other names, broken bytes) are parsed with care.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tailhealth.logs import caddy_text
from tailhealth.logs.caddy_kind import LineKind, kind_of
from tailhealth.logs.caddy_meaning import Meaning
from tailhealth.logs.caddy_plain import Plain
from tailhealth.logs.caddy_record import Where
from tailhealth.logs.caddy_shape import BUILT_IN
from tailhealth.logs.hints import hint
from tailhealth.logs.lines import MAX_LINE
from tailhealth.logs.reading import Skip

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailhealth.logs.caddy_shape import Line
    from tailhealth.logs.reading import Event, Tally
    from tailhealth.logs.rules import LogRules

BLOCK = 1 << 18
"""Bytes that are decoded at once."""
CHECKED_LINES, CHECKED_EVERY = 500, 256
"""The first lines of a file, and every so many-th after them, are searched for keys that stand twice or under other names.

Only the configuration puts a key there twice, so it does in every line. In lines that could be held against an upstream,
status and duration are always searched; what can slip through for a moment after a reload is the duration of a good one.
"""
PATIENCE = 8
"""So many records are taken one by one before the loop for plain ones is tried again."""
CLOSED = 0x7D


class CaddyReader:
    """Reads one file of a Caddy's lines, already unwrapped from envelopes.

    Args:
        rules: How the log is to be read.
        file: Index of the file, for the order of attempts.
        name: What the file is called.
        tally: Where lines, records and skips are counted.
        foreign: Reads an object that Caddy does not write (another proxy's line in the same file); None: it counts as other.
        near: A time close to the first line's, for times without a year.
    """

    def __init__(
        self,
        rules: LogRules,
        file: int,
        name: str,
        tally: Tally,
        foreign: Callable[[bytes, int, float | None], list[Event]] | None = None,
        *,
        near: float | None = None,
    ) -> None:
        self.name = name
        self._tally = tally
        self._meaning = meaning = Meaning(rules, file, tally, foreign, near)
        self._shape = meaning.shape
        self._plain = Plain(file, meaning, tally)
        self._lines = 0
        self._careful_only = self._shape.nested
        """Keys stand twice in this file, or inside objects: every line is parsed with care."""

    @property
    def held(self) -> int | None:
        """Offset of a line whose events are held back until its neighbour comes; None if there is none."""
        return self._meaning.filter.held.offset if self._meaning.filter.held is not None else None

    def feed(self, block: bytes, offset: int, now: float | None = None) -> list[Event]:
        """Read whole lines; see `LineReader`."""
        events: list[Event] = []
        start = 0
        while start < len(block):
            end = block.rfind(b"\n", start, start + BLOCK) + 1 or block.find(b"\n", start) + 1 or len(block)
            if end - start > MAX_LINE:
                events += self.read_line(block[start:end], offset + start, now)
            else:
                self._block(block[start:end], offset + start, now, events)
            start = end
        return events

    def read_line(self, line: bytes, offset: int, now: float | None = None) -> list[Event]:
        """Read one line, with or without its newline, that stands (or whose envelope stands) at `offset`."""
        events: list[Event] = []
        self._count(1)
        self._line(line, offset, now, events)
        return events

    def finish(self) -> list[Event]:
        """The file has ended: hand on what was held back."""
        return self._meaning.finish()

    def _count(self, lines: int) -> None:
        self._lines += lines
        self._tally.lines += lines

    def _block(self, block: bytes, offset: int, now: float | None, events: list[Event]) -> None:
        start = 0
        while start < len(block):
            start += self._part(block[start:] if start else block, offset + start, now, events)

    def _part(self, block: bytes, offset: int, now: float | None, events: list[Event]) -> int:
        """Read lines until one teaches how the others are to be decoded; return the number of bytes read."""
        ends = _ends(block)
        records = None if self._careful_only else self._decode(block, ends)
        if records is None:
            start = 0
            for end in ends:
                self._count(1)
                self._line(block[start:end], offset + start, now, events)
                start = end + 1
            return len(block)
        odd = self._first_odd(block, ends)
        done = self._take(records[:odd] if odd < len(ends) else records, block, ends, offset, now, events)
        if done == odd < len(ends):
            start = ends[odd - 1] + 1 if odd else 0
            self._count(1)
            self._line(block[start : ends[odd]], offset + start, now, events)
            done += 1
        return min(ends[done - 1] + 1, len(block))

    def _decode(self, block: bytes, ends: list[int]) -> list[Line] | None:
        """Decode a block; None where the decoder's records may not be the lines: they are read one by one then.

        By itself the decoder accepts an object over two lines, two objects in one, and drops blank lines.
        """
        try:
            records = self._shape.decoder.decode_lines(block)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if len(records) != len(ends) or {block[end - 1] for end in ends} != {CLOSED}:
            return None
        return records

    def _first_odd(self, block: bytes, ends: list[int]) -> int:
        """Search the lines whose turn it is for keys that mislead the decoder; return the index of the first that has one."""
        every = 1 if self._lines < CHECKED_LINES else CHECKED_EVERY
        for index in range(-self._lines % every, len(ends), every):
            if self._shape.is_odd(block[ends[index - 1] + 1 if index else 0 : ends[index]]):
                return index
        return len(ends)

    def _take(  # noqa: PLR0917 - one block, in the loop's own words
        self, records: list[Line], block: bytes, ends: list[int], base: int, now: float | None, events: list[Event]
    ) -> int:
        """Take records: plain good attempts of one logger in a loop of their own, the others each by itself.

        Returns:
            The number of lines taken: fewer than there are if one taught that the others are to be decoded anew.
        """
        decoder, loggers = self._shape.decoder, {record.logger for record in records}
        fast = self._shape.in_seconds and self._meaning.twice.is_single(loggers)
        index, patience = 0, 0
        while index < len(records) and self._shape.decoder is decoder:
            first = index
            if fast and not patience:
                index = self._plain.read(records, block, ends, index, base, now, events)
                # Where one is not plain, the next ones often are not either.
                patience = PATIENCE if index == first else 0
            else:
                patience = max(0, patience - 1)
            if index < len(records):
                start = ends[index - 1] + 1 if index else 0
                self._record(records[index], Where(block[start : ends[index]], base + start), now, events)
                index += 1
            self._count(index - first)
        return index

    def _record(self, record: Line, where: Where, now: float | None, events: list[Event]) -> None:
        """Take one record that the decoder made of a line, unless it can't be trusted with it."""
        if self._shape.is_misread(record, where.line):
            self._line(where.line, where.offset, now, events)
        else:
            self._shape.confirm(record)
            self._meaning.take(record, where, now, events)

    def _line(self, line: bytes, offset: int, now: float | None, events: list[Event]) -> None:
        """Parse one line with care."""
        if len(line) > MAX_LINE:
            self._tally.skip(Skip.OVERSIZED, line)
            return
        raw = caddy_text.strip(line)
        if not raw:
            return
        if not raw.startswith(b"{"):
            members = caddy_text.console(raw)
            if members is None:
                self._tally.skip(Skip.INVALID_JSON, raw)
                return
            self._tally.hints["console_format"] = hint("console_format")
            self._meaning.take(self._shape.line(members), Where(raw, offset), now, events)
            return
        try:
            self._object(caddy_text.members_of(raw, repeated=self._shape.is_repeated(raw)), offset, now, events)
        except ValueError:
            self._pieces(raw, offset, now, events)

    def _pieces(self, raw: bytes, offset: int, now: float | None, events: list[Event]) -> None:
        """Take what can be saved of a line that is not one object."""
        found = list(caddy_text.pieces(raw))
        if all(isinstance(piece, caddy_text.Torn) for piece in found):
            self._tally.skip(Skip.INVALID_JSON if raw.endswith(b"}") else Skip.TORN, raw)
            return
        for piece in found:
            if isinstance(piece, caddy_text.Torn):
                self._tally.skip(Skip.TORN, piece.raw)
            else:
                self._object(piece, offset + piece.start, now, events)

    def _object(self, found: caddy_text.Found, offset: int, now: float | None, events: list[Event]) -> None:
        """Take one object of a line: of a key of Caddy's own that stands twice the first is Caddy's."""
        members = found.members
        kind = kind_of(self._shape.line(members))
        if kind is not LineKind.FOREIGN:
            self._shape.observe(members)
        own = {self._shape.names[field] for field in BUILT_IN} & found.repeated
        if own and kind not in (LineKind.OTHER, LineKind.FOREIGN):
            # Caddy's own line about the end of an upgraded connection has two durations, and nobody is to blame for that.
            members = {**members, **{key: found.first[key] for key in own}}
            self._tally.hints["duplicate_keys"] = hint("duplicate_keys")
            self._careful_only = True
        self._meaning.take(self._shape.line(members), Where(found.raw, offset), now, events)


def _ends(block: bytes) -> list[int]:
    """Return where the lines of a block end: at their newlines, the last perhaps without one."""
    ends: list[int] = []
    find, append = block.find, ends.append
    at = find(b"\n")
    while at >= 0:
        append(at)
        at = find(b"\n", at + 1)
    if not ends or ends[-1] + 1 < len(block):
        append(len(block))
    return ends
