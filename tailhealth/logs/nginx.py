"""Reads the lines of a JSON `log_format` of nginx (DESIGN section 3, nginx).

Blocks of lines that are all plainly of one shape go through a typed decoder; of the others, each line is tried alone, and what
still does not fit is read with care. All three ways read a line alike, so the split of a file into blocks changes nothing.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from tailhealth.logs.nginx_attempts import Attempts
from tailhealth.logs.nginx_careful import Careful, Object
from tailhealth.logs.nginx_gather import Gathered
from tailhealth.logs.order import AHEAD, DELAYED, FutureFilter, Reading
from tailhealth.logs.reading import EXAMPLE_BYTES, Event, Skip, Tally
from tailhealth.logs.values import FIRST_EPOCH, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tailhealth.logs.nginx_shape import Row, Shape
    from tailhealth.logs.rules import LogRules

SMALL = 16
"""A block of at most so many lines that is not plainly of one shape is read line by line; a larger one is halved."""
SHAPES = 4
"""So many shapes are tried on a line before it is read with care: a file may have lines of several formats."""
MILLISECONDS = 1e11
"""A number from here on counts no seconds."""
BLANKS = b" \t\r\n\x00"
"""What may stand around a record and is no part of it; NULs are the hole that a truncated file begins with."""


class NginxReader:
    """Reads one file of an nginx's lines, already unwrapped from envelopes.

    Args:
        rules: How the log is to be read.
        file: Index of the file, for the order of attempts.
        name: What hints call the file.
        tally: Where lines, records and skips are counted.
    """

    def __init__(self, rules: LogRules, file: int, name: str, tally: Tally) -> None:
        self._tally = tally
        self._zone = rules.tzinfo
        self._attempts = Attempts(rules, file)
        self._careful = Careful(rules, name, tally)
        self._filter = FutureFilter(tally)
        self._shapes: list[Shape] = []
        """The shapes of recent lines, the latest first."""
        self._gathered: Gathered | None = None
        self._now: float | None = None
        """The wall clock where the lines at hand are live."""
        self._time_text: Any = object()
        """The latest spelling of a time, and the time."""
        self._time = 0.0

    @property
    def held(self) -> int | None:
        """Offset of the first line that is not done with, because what comes next decides about it; None if there is none."""
        held, gathered = self._filter.held, self._gathered
        offsets = [one.offset for one in (held, gathered) if one is not None]
        return min(offsets, default=None)

    def feed(self, block: bytes, offset: int, now: float | None = None) -> list[Event]:
        """Read whole lines; see `LineReader`."""
        self._now = now
        events: list[Event] = []
        if block:
            lines = _count_lines(block)
            self._tally.lines += lines
            self._block(block, lines, offset, events)
        return events

    def read_line(self, line: bytes, offset: int, now: float | None = None) -> list[Event]:
        """Read one line, with or without its newline, that stands (or whose envelope stands) at `offset`."""
        self._now = now
        self._tally.lines += 1
        return self._line(line, offset)

    def finish(self) -> list[Event]:
        """Hand on what waited for a next line, and give up a record that was never completed."""
        self._give_up()
        return self._filter.finish()

    def _block(self, block: bytes, lines: int, offset: int, events: list[Event]) -> None:
        shape = self._shapes[0] if self._shapes and self._gathered is None else None
        rows = shape.rows(block, lines) if shape is not None else None
        if rows is not None:
            done = self._rows(rows, block, offset, events)
            if done < len(block):
                self._block(block[done:], _count_lines(block[done:]), offset + done, events)
        elif lines <= SMALL:
            for line, at in _lines(block, offset):
                events += self._line(line, at)
        else:
            # Halving costs little where one odd line spoils a block, and brings no more than the lines one by one otherwise.
            middle = block.find(b"\n", len(block) // 2) + 1 or block.find(b"\n") + 1
            before = block.count(b"\n", 0, middle)
            self._block(block[:middle], before, offset, events)
            if middle < len(block):
                self._block(block[middle:], lines - before, offset + middle, events)

    def _rows(self, rows: list[Any], block: bytes, offset: int, events: list[Event]) -> int:
        """Take the rows of a block; return the position from which on the rest is to be read anew, in another shape."""
        shape, future, now = self._shapes[0], self._filter, self._now
        plain, keep, find = self._attempts.plain, events.append, block.find
        earliest, latest = (-inf, inf) if now is None else (now - DELAYED, now + AHEAD)
        if now is None and future.last is not None:
            latest = future.last + AHEAD
        position = count = 0
        for row in rows:
            start = position
            position = find(b"\n", start) + 1 or len(block)
            at = self._when(row.time)
            if at is not None and earliest <= at <= latest and future.held is None:
                attempt = plain(row, at, offset + start, shape)
                if attempt is not None:
                    future.last = at
                    if now is None:
                        latest = at + AHEAD
                    count += 1
                    keep(attempt)
                    continue
            events += self._row(row, block[start:position], offset + start)
            if now is None and future.last is not None:
                latest = future.last + AHEAD
            if self._shapes[0] is not shape:
                break
        self._tally.records += count
        self._tally.attempts += count
        return position

    def _line(self, line: bytes, offset: int) -> list[Event]:
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

    def _record(self, text: bytes, offset: int) -> list[Event]:
        """Read the text of one record, in one of the shapes known or with care."""
        for index, shape in enumerate(self._shapes):
            rows = shape.rows(text, 1)
            if rows is not None:
                if index:
                    self._shapes.insert(0, self._shapes.pop(index))
                return self._row(rows[0], text, offset)
        return self._with_care(text, offset)

    def _row(self, row: Row, text: bytes, offset: int) -> list[Event]:
        """Take one row that a shape read."""
        at = self._when(row.time)
        if at is None:
            # Perhaps it has another time.
            return self._with_care(text.strip(BLANKS), offset)
        return self._admit(row, at, text, offset)

    def _admit(self, row: Row, at: float, text: bytes, offset: int) -> list[Event]:
        attempt = self._attempts.plain(row, at, offset)
        if attempt is not None:
            reading = Reading(at=at, line=text[:EXAMPLE_BYTES], offset=offset, events=(attempt,))
        else:
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
            at = self._when(value)
            if at is not None:
                return self._admit(found.row, at, text, offset)
        if found.times or self._now is None:
            self._tally.skip(Skip.NO_TIME, text)
            return []
        self._careful.hint("arrival_time")
        return self._admit(found.row, self._now, text, offset)

    def _when(self, value: Any) -> float | None:
        """Return a line's time in epoch seconds, None if it is none."""
        if value == self._time_text:
            return self._time
        # Dashes and slashes stand in dates; the numbers are what is worth being fast at.
        if type(value) is float or (type(value) is str and "-" not in value and "/" not in value):
            try:
                number = float(value)
            except ValueError:
                number = 0.0
            if FIRST_EPOCH <= number < MILLISECONDS:
                return number
        try:
            time = parse_time(value, self._zone, self._now if self._filter.last is None else self._filter.last)
        except ValueError:
            return None
        self._time_text, self._time = value, time
        return time


def _count_lines(block: bytes) -> int:
    return block.count(b"\n") + (not block.endswith(b"\n"))


def _lines(block: bytes, offset: int) -> Iterator[tuple[bytes, int]]:
    """Yield the lines of a block with their offsets in the file. Only 0x0A ends a line (DESIGN section 3, Both)."""
    for line in block.split(b"\n"):
        yield line, offset
        offset += len(line) + 1
