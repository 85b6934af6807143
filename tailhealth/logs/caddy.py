"""Reads Caddy's JSON log into attempts (DESIGN section 3, "Caddy").

Three ways lead to the same result. Blocks of plain good lines go through one typed decoder and a tight loop: one for access
lines alone, one for logs at DEBUG. Lines that are not so plain are taken one by one from the decoder's records. Lines that the
decoder can't be trusted with (keys that stand twice, fields under other names, broken bytes) are parsed with care.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tailhealth.logs import caddy_text
from tailhealth.logs.caddy_decoded import Decoded, Where, decode, first_odd
from tailhealth.logs.caddy_kind import LineKind, kind_of
from tailhealth.logs.caddy_meaning import Meaning
from tailhealth.logs.caddy_plain import Plain
from tailhealth.logs.caddy_roundtrips import Roundtrips
from tailhealth.logs.caddy_shape import BUILT_IN
from tailhealth.logs.caddy_terms import CaddyTerms, remade, terms_of
from tailhealth.logs.hints import hint
from tailhealth.logs.lines import MAX_LINE, ends_of
from tailhealth.logs.outline import Outlining, part_of
from tailhealth.logs.reading import LineReader, Skip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tailhealth.logs.caddy_shape import Line
    from tailhealth.logs.outline import Answered, Failed, Load
    from tailhealth.logs.plain import Part
    from tailhealth.logs.reading import Entry, Event, Tally
    from tailhealth.logs.rules import LogRules

BLOCK = 1 << 18
"""Bytes that are decoded at once."""
CHECKED_LINES = 500
"""So many first lines of a file are all searched for keys that stand twice or under other names; see `CHECKED_EVERY`."""
PATIENCE = 8
"""So many records are taken one by one before the loop for plain ones is tried again."""


class CaddyReader(LineReader):
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
        foreign: Callable[[bytes, int, float | None], Sequence[Entry]] | None = None,
        *,
        near: float | None = None,
    ) -> None:
        self.name = name
        self._tally = tally
        self._meaning = meaning = Meaning(rules, file, tally, foreign, near)
        self._shape = meaning.shape
        self._file = file
        self._plain: Plain | None = None
        self._roundtrips: Roundtrips | None = None
        self._rules = rules
        self._outlining: Outlining[CaddyTerms] = Outlining()
        self._lines = 0
        self._careful_only = self._shape.nested
        """Keys stand twice in this file, or inside objects: every line is parsed with care."""

    @property
    def held(self) -> int | None:
        """Offset of a line whose events are held back until its neighbour comes; None if there is none."""
        return self._meaning.filter.held.offset if self._meaning.filter.held is not None else None

    def read(self, block: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read whole lines; see `LineReader`."""
        entries: list[Entry] = []
        start = 0
        while start < len(block):
            end = block.rfind(b"\n", start, start + BLOCK) + 1 or block.find(b"\n", start) + 1 or len(block)
            if end - start > MAX_LINE:
                entries += self.read_line(block[start:end], offset + start, now)
            else:
                self._block(block[start:end], offset + start, now, entries)
            start = end
        return entries

    def read_line(self, line: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read one line, with or without its newline, that stands (or whose envelope stands) at `offset`."""
        entries: list[Entry] = []
        self._count(1)
        self._line(line, offset, now, entries)
        return entries

    def finish(self) -> list[Event]:
        """The file has ended: hand on what was held back."""
        return self._meaning.finish()

    def _count(self, lines: int) -> None:
        self._lines += lines
        self._tally.lines += lines

    def _block(self, block: bytes, offset: int, now: float | None, entries: list[Entry]) -> None:
        start = 0
        while start < len(block):
            start += self._part(block[start:] if start else block, offset + start, now, entries)

    def _part(self, block: bytes, offset: int, now: float | None, entries: list[Entry]) -> int:
        """Read lines until one teaches how the others are to be decoded; return the number of bytes read."""
        decoded = None if self._careful_only else decode(self._shape.decoder, block, offset)
        if decoded is None:
            start = 0
            for end in ends_of(block):
                self._count(1)
                self._line(block[start:end], offset + start, now, entries)
                start = end + 1
            return len(block)
        odd = self._first_odd(decoded)
        done = self._take(decoded, odd, now, entries)
        if done == odd < len(decoded.records):
            line = decoded.where(odd)
            self._count(1)
            self._line(line.line, line.offset, now, entries)
            done += 1
        return len(block) if done == len(decoded.records) else decoded.bounds(done)[0]

    def _first_odd(self, decoded: Decoded) -> int:
        if self._lines >= CHECKED_LINES:
            return first_odd(self._shape, decoded)
        count = len(decoded.records)
        return next((index for index in range(count) if self._shape.is_odd(decoded.where(index).line)), count)

    def _take(self, decoded: Decoded, stop: int, now: float | None, entries: list[Entry]) -> int:
        """Take records: plain attempts of one logger in a loop of their own, the others each by itself.

        Returns:
            The number of lines taken: fewer than there are if one taught that the others are to be decoded anew.
        """
        decoder, index, patience = self._shape.decoder, 0, 0
        while index < stop and self._shape.decoder is decoder:
            first = index
            plain = self._plain_now() if patience == 0 else None
            if plain is not None:
                index = self._take_plain(plain, decoded, index, stop, now, entries)
                # Where one is not plain, the next ones often are not either.
                patience = PATIENCE if index == first else 0
            else:
                patience = max(0, patience - 1)
            if index < stop:
                self._count(1)
                self._record(decoded.records[index], decoded.where(index), now, entries)
                index += 1
        return index

    def _take_plain(  # noqa: PLR0917 - a part of one block
        self, plain: Plain, decoded: Decoded, first: int, stop: int, now: float | None, entries: list[Entry]
    ) -> int:
        """Take plain records; return the index of the first that is not."""
        bounds = self._meaning.filter.bounds(now)
        if bounds is None:
            return first
        roundtrips = self._roundtrips if self._meaning.signs.roundtrips else None
        parts: list[Part] = []
        index = first if roundtrips is not None and roundtrips.is_near else plain.read(decoded, first, stop, bounds, parts)
        entries.extend(map(self._taken, parts))
        if roundtrips is not None and index < stop:
            bounds = bounds.after(parts[-1].last) if parts else bounds
            told = roundtrips.read(decoded, index, stop, bounds, has_upstream_key=self._meaning.signs.upstream_key)
            self._count(told.size)
            self._meaning.told(told)
            entries += told.attempts
            index += told.size
        return index

    def _taken(self, part: Part) -> Entry:
        self._count(part.size)
        self._meaning.plain(part)
        return part.entry

    @property
    def terms(self) -> CaddyTerms | None:
        """See `LineReader`."""
        plain = self._plain_now()
        if plain is None or self._careful_only or self._lines < CHECKED_LINES:
            return None
        if self._roundtrips is not None and self._roundtrips.is_near:
            # Of every second line there is nothing to outline.
            return None
        return self._outlining.terms(plain, plain.known, partial(terms_of, self._rules, plain))

    def accept(self, stretch: Answered | Failed, serial: int, load: Load) -> Entry | None:
        """Take plain lines that another process outlined on the terms of a serial number; None if they don't hold now."""
        plain, bounds = self._plain_now(), self._meaning.filter.bounds(None)
        if plain is None or self._careful_only or bounds is None:
            return None
        if not self._outlining.holds(serial, plain) or not bounds.has(stretch.first):
            return None
        return self._taken(part_of(stretch, plain.file, partial(remade, plain, stretch, load)))

    def _plain_now(self) -> Plain | None:
        """Return the loop for plain lines, as they are to be read now; None while too little is known of them."""
        meaning, shape = self._meaning, self._shape
        if not shape.in_seconds or not meaning.twice.is_single:
            return None
        if self._plain is None or self._plain.decoder is not shape.decoder:
            header, own = (meaning.records.scale(field, shape.names) for field in ("header_time", "response_time"))
            (logger,) = meaning.twice.loggers
            if header is not None:
                self._plain = Plain(shape, logger, meaning.records.addresses.known, header, own, self._file)
                self._roundtrips = Roundtrips(self._plain, meaning.running)
        return self._plain

    def _record(self, record: Line, where: Where, now: float | None, entries: list[Entry]) -> None:
        """Take one record that the decoder made of a line, unless it can't be trusted with it."""
        if self._shape.is_misread(record, where.line):
            self._line(where.line, where.offset, now, entries)
        else:
            self._shape.confirm(record)
            self._meaning.take(record, where, now, entries)

    def _line(self, line: bytes, offset: int, now: float | None, entries: list[Entry]) -> None:
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
            self._meaning.take(self._shape.line(members), Where(raw, offset), now, entries)
            return
        try:
            self._object(caddy_text.members_of(raw, repeated=self._shape.is_repeated(raw)), offset, now, entries)
        except ValueError:
            self._pieces(raw, offset, now, entries)

    def _pieces(self, raw: bytes, offset: int, now: float | None, entries: list[Entry]) -> None:
        """Take what can be saved of a line that is not one object."""
        found = list(caddy_text.pieces(raw))
        if all(isinstance(piece, caddy_text.Torn) for piece in found):
            self._tally.skip(Skip.INVALID_JSON if raw.endswith(b"}") else Skip.TORN, raw)
            return
        for piece in found:
            if isinstance(piece, caddy_text.Torn):
                self._tally.skip(Skip.TORN, piece.raw)
            else:
                self._object(piece, offset + piece.start, now, entries)

    def _object(self, found: caddy_text.Found, offset: int, now: float | None, entries: list[Entry]) -> None:
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
        self._meaning.take(self._shape.line(members), Where(found.raw, offset), now, entries)
