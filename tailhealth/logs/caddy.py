"""Reads Caddy's JSON log into attempts (DESIGN section 3, "Caddy").

Three ways lead to the same result. Blocks of plain good access lines go through one typed decoder and one tight loop. Lines
that are not so plain are taken one by one from the decoder's records. Lines that the decoder can't be trusted with (keys that
stand twice, fields under other names, broken bytes) are parsed with care.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from tailhealth.logs import caddy_text
from tailhealth.logs.caddy_fields import optional
from tailhealth.logs.caddy_kind import HANDLED, LineKind, kind_of
from tailhealth.logs.caddy_plain import Plain
from tailhealth.logs.caddy_record import Records, Where
from tailhealth.logs.caddy_shape import BUILT_IN, Request, Shape
from tailhealth.logs.caddy_signs import Signs
from tailhealth.logs.caddy_twice import Duplicates, Key
from tailhealth.logs.hints import hint
from tailhealth.logs.lines import MAX_LINE
from tailhealth.logs.order import FutureFilter, Reading
from tailhealth.logs.reading import EXAMPLE_BYTES, Skip
from tailhealth.logs.values import NoYearError, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailhealth.logs.caddy_shape import Line
    from tailhealth.logs.reading import Event, Tally
    from tailhealth.logs.rules import LogRules

BLOCK = 1 << 18
"""Bytes that are decoded at once."""
CHECKED_LINES, CHECKED_EVERY = 2_000, 64
"""The first lines of a file and every so many-th after them are searched for keys that stand twice.

Only the configuration puts a key there twice, so it does in every line. Lines that could be held against an upstream are all
searched; what can slip through for a moment after a reload is the whole duration of a good one.
"""
UNAVAILABLE = 503
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
        self._zone = rules.tzinfo
        self._shape = Shape(rules)
        self._records = Records(rules, file, tally)
        self._signs = Signs(tally)
        self._filter = FutureFilter(tally)
        self._foreign = foreign
        self._near = near
        self._twice = Duplicates()
        self._plain = Plain(file, self._records, self._shape, self._signs, self._twice, self._filter, tally)
        self._lines = 0
        self._careful_only = self._shape.nested
        """Keys stand twice in this file, or inside objects: every line is parsed with care."""

    @property
    def held(self) -> int | None:
        """Offset of a line whose events are held back until its neighbour comes; None if there is none."""
        return self._filter.held.offset if self._filter.held is not None else None

    def feed(self, block: bytes, offset: int, now: float | None = None) -> list[Event]:
        """Read whole lines; see `LineReader`."""
        events: list[Event] = []
        start = 0
        while start < len(block):
            end = block.rfind(b"\n", start, start + BLOCK) + 1 or block.find(b"\n", start) + 1 or len(block)
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
        self._signs.finish()
        if self._records.unit.undecided and self._records.unit.unit is None:
            self._tally.hints["unit_unknown"] = hint("unit_unknown")
        return self._filter.finish()

    def _count(self, lines: int) -> None:
        self._lines += lines
        self._tally.lines += lines

    def _block(self, block: bytes, offset: int, now: float | None, events: list[Event]) -> None:
        ends = _ends(block)
        records = None if self._careful_only else self._decode(block, ends)
        if records is not None and not self._is_searched_clean(block, ends):
            records = None
        if records is not None and self._shape.in_seconds and self._twice.is_single(record.logger for record in records):
            self._count(len(ends))
            self._fast(records, block, ends, offset, now, events)
            return
        # What a line teaches about the file's names makes the rest of the block's records void.
        start, decoder = 0, self._shape.decoder
        for index, end in enumerate(ends):
            self._count(1)
            if records is None or self._shape.decoder is not decoder:
                self._line(block[start:end], offset + start, now, events)
            else:
                self._record(records[index], Where(block[start:end], offset + start), now, events)
            start = end + 1

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

    def _is_searched_clean(self, block: bytes, ends: list[int]) -> bool:
        """Search the lines of a block whose turn it is for keys that stand twice."""
        start = 0
        for number, end in enumerate(ends, self._lines):
            if (number < CHECKED_LINES or number % CHECKED_EVERY == 0) and self._shape.is_repeated(block, start, end):
                return False
            start = end + 1
        return True

    def _fast(  # noqa: PLR0917 - one block, in the loop's own words
        self, records: list[Line], block: bytes, ends: list[int], base: int, now: float | None, events: list[Event]
    ) -> None:
        """Take the records of one access logger: plain good attempts in one loop, the others each on its own."""
        plain, start, decoder = self._plain, 0, self._shape.decoder
        while start < len(records):
            stop = plain.read(records, ends, start, base, now, events) if self._shape.decoder is decoder else start
            if stop < len(records):
                at = ends[stop - 1] + 1 if stop else 0
                where = Where(block[at : ends[stop]], base + at)
                if self._shape.decoder is decoder:
                    self._record(records[stop], where, now, events)
                else:
                    self._line(where.line, where.offset, now, events)
            start = stop + 1

    def _record(self, record: Line, where: Where, now: float | None, events: list[Event]) -> None:
        """Take one record that the decoder made of a line, unless it can't be trusted with it."""
        if self._shape.is_repeated(where.line) or self._shape.elsewhere.search(where.line):
            self._line(where.line, where.offset, now, events)
        else:
            self._shape.confirm(record)
            self._interpret(record, where, now, events)

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
            self._interpret(self._shape.line(members), Where(raw, offset), now, events)
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
        if kind_of(self._shape.line(members)) is not LineKind.FOREIGN:
            self._shape.observe(members)
        own = {self._shape.names[field] for field in BUILT_IN} & found.repeated
        if own:
            members = {**members, **{key: found.first[key] for key in own}}
            self._tally.hints["duplicate_keys"] = hint("duplicate_keys")
            self._careful_only = True
        self._interpret(self._shape.line(members), Where(found.raw, offset), now, events)

    def _interpret(self, line: Line, where: Where, now: float | None, events: list[Event]) -> None:
        """Count a line and hand on what it tells."""
        kind = kind_of(line)
        if kind is LineKind.FOREIGN and self._foreign is not None:
            self._tally.lines -= 1  # the other reader counts it itself
            events += self._foreign(where.line, where.offset, now)
            return
        if kind in (LineKind.OTHER, LineKind.FOREIGN):
            self._tally.other += 1
            return
        try:
            at = self._time(line, now, is_record=kind is LineKind.ACCESS)
            reading = None if at is None else self._reading(kind, line, at, where)
        except NoTimeError:
            self._tally.skip(Skip.NO_TIME, where.line)
        except ValueError:
            self._tally.skip(Skip.BAD_VALUE, where.line)
        else:
            if reading is not None:
                events += self._filter.admit(reading, now)

    def _time(self, line: Line, now: float | None, *, is_record: bool) -> float | None:
        """Return a line's time.

        A log without times is told by its first record: live, the time of arrival is used; in history nothing can be judged,
        so None is returned and the record only counted.

        Raises:
            NoTimeError: This line has none, others have.
            ValueError: It can't be read.
        """
        if line.time is not UNSET and line.time is not None and line.time != "":
            near = self._filter.last if self._filter.last is not None else self._near
            try:
                return parse_time(line.time, self._zone, near if near is not None else now)
            except NoYearError:
                self._tally.hints["no_year"] = hint("no_year")
                raise
        if now is not None:
            self._tally.hints["arrival_time"] = hint("arrival_time")
            return now
        if self._filter.last is not None or not is_record:
            raise NoTimeError
        self._tally.hints["no_time"] = hint("no_time")
        self._tally.records += 1
        return None

    def _reading(self, kind: LineKind, line: Line, at: float, where: Where) -> Reading | None:
        """Read one line of a kind that tells of an upstream; None for a record that another logger wrote already.

        Raises:
            ValueError: A value that is needed can't be read.
        """
        if kind is LineKind.ACCESS:
            return self._access(line, at, where)
        spelled = line.upstream if self._shape.names["upstream"] == "upstream" else line.dial
        read = self._records.roundtrip if kind is LineKind.ROUNDTRIP else self._records.broken_body
        attempt = read(line, at, where, spelled)
        self._signs.roundtrips |= kind is LineKind.ROUNDTRIP and attempt is not None
        self._learn_unit()
        return Reading(at, where.line[:EXAMPLE_BYTES], where.offset, (attempt,) if attempt else (), records=0, other=1)

    def _access(self, line: Line, at: float, where: Where) -> Reading | None:
        took = self._records.took(line)
        request = line.request if isinstance(line.request, Request) else Request()
        if self._twice.is_one(Key(at, request.remote_port, request.uri, took), line.logger):
            self._tally.duplicates += 1
            return None
        self._signs.record(at, line.status)
        handled = line.message in (HANDLED, UNSET)
        reading = Reading(at, where.line[:EXAMPLE_BYTES], where.offset)
        attempt = None
        if line.upstream is UNSET:
            if handled and took == 0.0 and (optional(line.status) == 0 or self._signs.upstream_key):
                reading.events, reading.aborted = (self._records.aborted(line, at, where),), 1
        else:
            self._signs.upstream_key = True
            attempt = self._records.access(line, at, where, self._shape.names) if handled else None
            reading.pool_events = int(line.upstream is None and line.status == UNAVAILABLE)
        if attempt is None:
            optional(line.status)
            reading.unattributed = 1
            return reading
        reading.events = (attempt,)
        self._signs.attributed(line)
        self._learn_unit()
        return reading

    def _learn_unit(self) -> None:
        """Note what the latest line told about the unit of durations."""
        unit = self._records.unit
        if unit.assumed:
            self._tally.hints["unit_assumed"] = hint("unit_assumed", unit=unit.unit)
        elif unit.unit == "s" and not self._shape.in_seconds:
            self._tally.hints.pop("unit_assumed", None)
            self._shape.durations_are_seconds()


class NoTimeError(Exception):
    """A line has no time although its neighbours have."""


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
