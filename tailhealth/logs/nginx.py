"""Reads the lines of a JSON `log_format` of nginx (DESIGN section 3, nginx).

Blocks of lines that are all plainly of one shape go through a typed decoder; of the others, each line is tried alone, and what
still does not fit is read with care. All three ways read a line alike, so the split of a file into blocks changes nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tailhealth.logs.lines import ends_of
from tailhealth.logs.nginx_attempts import Attempts
from tailhealth.logs.nginx_careful import Careful, Object
from tailhealth.logs.nginx_gather import Gathered
from tailhealth.logs.nginx_lists import Lists
from tailhealth.logs.nginx_plain import SMALL, Block, Plain
from tailhealth.logs.nginx_terms import NginxTerms, remade, terms_of
from tailhealth.logs.nginx_time import Times
from tailhealth.logs.order import FutureFilter
from tailhealth.logs.outline import Outlining, part_of
from tailhealth.logs.reading import Entry, Event, LineReader, Skip, Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailhealth.logs.nginx_shape import Row, Shape
    from tailhealth.logs.outline import Answered, Failed, Load
    from tailhealth.logs.plain import Part
    from tailhealth.logs.rules import LogRules

SHAPES = 4
"""So many shapes are tried on a line before it is read with care: a file may have lines of several formats."""
BLANKS = b" \t\r\n\x00"
"""What may stand around a record and is no part of it; NULs are the hole that a truncated file begins with."""


class NginxReader(LineReader):
    """Reads one file of an nginx's lines, already unwrapped from envelopes.

    Args:
        rules: How the log is to be read.
        file: Index of the file, for the order of attempts.
        name: What hints call the file.
        tally: Where lines, records and skips are counted.
        foreign: In what holds these bytes there may be lines of another proxy, which go to another reader.
    """

    def __init__(self, rules: LogRules, file: int, name: str, tally: Tally, foreign: bytes = b"") -> None:
        self._foreign = foreign
        self._tally = tally
        lists = Lists(rules)
        self._filter = FutureFilter(tally)
        self._times = Times(rules.tzinfo, self._filter)
        self._plain = Plain(lists.lone, rules.tzinfo, file) if lists.seconds_only else None
        self._attempts = Attempts(lists, file)
        self._careful = Careful(rules, name, tally)
        self._rules = rules
        self._outlining: Outlining[NginxTerms] = Outlining()
        self._shapes: list[Shape] = []
        """The shapes of recent lines, the latest first."""
        self._gathered: Gathered | None = None
        self._now: float | None = None
        """The wall clock where the lines at hand are live."""

    @property
    def held(self) -> int | None:
        """Offset of the first line that is not done with, because what comes next decides about it; None if there is none."""
        held, gathered = self._filter.held, self._gathered
        offsets = [one.offset for one in (held, gathered) if one is not None]
        return min(offsets, default=None)

    def read(self, block: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read whole lines; see `LineReader`."""
        self._now = now
        entries: list[Entry] = []
        if block:
            ends = ends_of(block)
            self._tally.lines += len(ends)
            self._block(block, ends, offset, entries)
        return entries

    def read_line(self, line: bytes, offset: int, now: float | None = None) -> list[Entry]:
        """Read one line, with or without its newline, that stands (or whose envelope stands) at `offset`."""
        self._now = now
        self._tally.lines += 1
        return list(self._line(line, offset))

    def finish(self) -> list[Event]:
        """Hand on what waited for a next line, and give up a record that was never completed."""
        self._give_up()
        return self._filter.finish()

    def _block(self, block: bytes, ends: list[int], offset: int, events: list[Entry]) -> None:
        shape = self._shapes[0] if self._shapes and self._gathered is None else None
        rows = shape.rows(block, ends) if shape is not None else None
        if shape is not None and rows is not None:
            done = self._rows(Block(shape, rows, ends, offset), block, events)
            if done < len(ends):
                self._rest(block, ends, done, offset, events)
        elif len(ends) <= SMALL:
            start = 0
            for end in ends:
                events += self._line(block[start:end], offset + start)
                start = end + 1
        else:
            # Halving costs little where one odd line spoils a block, and brings no more than the lines one by one otherwise.
            middle = len(ends) // 2
            self._block(block[: ends[middle - 1] + 1], ends[:middle], offset, events)
            self._rest(block, ends, middle, offset, events)

    def _rest(self, block: bytes, ends: list[int], first: int, offset: int, events: list[Entry]) -> None:
        """Read a block from one of its lines on."""
        start = ends[first - 1] + 1
        self._block(block[start:], [end - start for end in ends[first:]], offset + start, events)

    def _rows(self, block: Block, text: bytes, events: list[Entry]) -> int:
        """Take the rows of a block; return the index of the line from which on the rest is of another shape."""
        done = 0
        while done < len(block.ends) and self._shapes[0] is block.shape:
            done = self._take_plain(block, done, events)
            if done < len(block.ends):
                start = block.start(done)
                events += self._row(block.rows[done], text[start : block.ends[done]], block.offset + start)
                done += 1
        return done

    def _take_plain(self, block: Block, first: int, events: list[Entry]) -> int:
        """Take plain rows of a block from index `first` on; return the index of the first that is not."""
        bounds = self._filter.bounds(self._now)
        if self._plain is None or bounds is None:
            return first
        parts: list[Part] = []
        stop = self._plain.read(block, first, bounds, parts)
        events.extend(map(self._taken, parts))
        return stop

    def _taken(self, part: Part) -> Entry:
        self._filter.last = part.last
        self._tally.records += part.size
        self._tally.attempts += part.size
        return part.entry

    @property
    def terms(self) -> NginxTerms | None:
        """See `LineReader`."""
        shape = self._shapes[0] if self._shapes else None
        if shape is None or shape.decoder is None or self._plain is None:
            return None
        make = partial(terms_of, self._rules, shape, self._plain, self._foreign)
        return self._outlining.terms(shape, self._plain.known, make)

    def accept(self, stretch: Answered | Failed, serial: int, load: Load) -> Entry | None:
        """Take plain lines that another process outlined on the terms of a serial number; None if they don't hold now."""
        shape = self._shapes[0] if self._shapes else None
        plain, bounds = self._plain, self._filter.bounds(None)
        if shape is None or plain is None or self._gathered is not None or bounds is None:
            return None
        if not self._outlining.holds(serial, shape) or not bounds.has(stretch.first):
            return None
        part = part_of(stretch, plain.file, partial(remade, shape, plain, stretch, load))
        self._tally.lines += part.size
        return self._taken(part)

    def _line(self, line: bytes, offset: int) -> Sequence[Entry]:
        """Read one physical line."""
        text = line.strip(BLANKS)
        gathered = self._gathered
        if gathered is not None and gathered.ended_by(text):
            self._give_up()
        elif gathered is not None:
            gathered.add(text)
            if gathered.open:
                return []
            self._gathered = None
            text, offset = gathered.text, gathered.offset
        return self._record(text, offset) if text else []

    def _give_up(self) -> None:
        """Count the record that is being gathered as torn."""
        if self._gathered is not None:
            self._tally.skip(Skip.TORN, self._gathered.text)
            self._gathered = None

    def _record(self, text: bytes, offset: int) -> Sequence[Entry]:
        """Read the text of one record, in one of the shapes known or with care."""
        for index, shape in enumerate(self._shapes):
            ends = (len(text),)
            rows = shape.rows(text, ends)
            if rows is not None:
                if index:
                    self._shapes.insert(0, self._shapes.pop(index))
                entries: list[Entry] = []
                self._rows(Block(shape, rows, ends, offset), text, entries)
                return entries
        return self._with_care(text, offset)

    def _row(self, row: Row, text: bytes, offset: int) -> list[Event]:
        """Take one row that a shape read."""
        at = self._times.read(row.time, self._now)
        if at is None:
            # Perhaps it has another time.
            return self._with_care(text.strip(BLANKS), offset)
        return self._admit(row, at, text, offset)

    def _admit(self, row: Row, at: float, text: bytes, offset: int) -> list[Event]:
        try:
            reading = self._attempts.read(row, at, offset, text)
        except ValueError:
            self._tally.skip(Skip.BAD_VALUE, text)
            return []
        return self._filter.admit(reading, self._now)

    def _with_care(self, text: bytes, offset: int) -> list[Event]:
        """Read a record that no known shape fits, and learn its shape."""
        found = self._careful.read(text)
        if found is Skip.TORN:
            gathered = Gathered(text, offset)
            if gathered.open:
                self._gathered = gathered
                return []
        if isinstance(found, Skip):
            self._tally.skip(found, text)
        elif isinstance(found, Object):
            return self._object(found, text, offset)
        else:
            self._tally.other += 1
        return []

    def _object(self, found: Object, text: bytes, offset: int) -> list[Event]:
        if b"\n" in text:
            self._careful.hint("multi_line")
        if found.shape is not None:
            self._shapes = [found.shape, *(one for one in self._shapes if one is not found.shape)][:SHAPES]
        for value in found.times:
            at = self._times.read(value, self._now)
            if at is not None:
                return self._admit(found.row, at, text, offset)
        if found.times or self._now is None:
            self._tally.skip(Skip.NO_TIME, text)
            return []
        self._careful.hint("arrival_time")
        return self._admit(found.row, self._now, text, offset)
