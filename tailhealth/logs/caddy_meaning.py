"""What the decoded lines of one Caddy file mean, one by one: attempts, other lines, and what can't be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from tailhealth.logs.caddy_fields import client_of, optional
from tailhealth.logs.caddy_kind import HANDLED, LineKind, kind_of
from tailhealth.logs.caddy_plain import ANSWERS
from tailhealth.logs.caddy_record import Records
from tailhealth.logs.caddy_running import Running
from tailhealth.logs.caddy_shape import Request, Shape
from tailhealth.logs.caddy_signs import Signs
from tailhealth.logs.caddy_twice import Duplicates, Key
from tailhealth.logs.hints import hint
from tailhealth.logs.order import FutureFilter, Reading
from tailhealth.logs.plain import Part
from tailhealth.logs.reading import EXAMPLE_BYTES, Skip
from tailhealth.logs.values import NoYearError, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tailhealth.logs.caddy_decoded import Where
    from tailhealth.logs.caddy_shape import Line
    from tailhealth.logs.caddy_told import Told
    from tailhealth.logs.reading import Entry, Event, Tally
    from tailhealth.logs.rules import LogRules

UNAVAILABLE = 503


class NoTimeError(Exception):
    """A line has no time although its neighbours have."""


class Meaning:
    """Takes lines in the order of the file, counts them and hands on their events.

    Args:
        rules: How the log is to be read.
        file: Index of the file, for the order of attempts.
        tally: Where records and skips are counted.
        foreign: Reads an object that Caddy does not write; None: it counts as other.
        near: A time close to the first line's, for times without a year.
    """

    def __init__(
        self,
        rules: LogRules,
        file: int,
        tally: Tally,
        foreign: Callable[[bytes, int, float | None], Sequence[Entry]] | None,
        near: float | None,
    ) -> None:
        self.shape = Shape(rules)
        self.records = Records(rules, file, tally)
        self.signs = Signs(tally)
        self.filter = FutureFilter(tally)
        self.twice = Duplicates()
        self.running = Running()
        self._zone = rules.tzinfo
        self._tally = tally
        self._foreign = foreign
        self._near = near

    def finish(self) -> list[Event]:
        """The file has ended: hand on what was held back."""
        self.signs.finish()
        if self.records.unit.undecided and self.records.unit.unit is None:
            self._tally.hints["unit_unknown"] = hint("unit_unknown")
        return self.filter.finish()

    def plain(self, part: Part) -> None:
        """Count plain attempts of the one logger."""
        self.filter.last = part.last
        self._tally.records += part.size
        self._tally.attempts += part.size
        self.twice.passed(part)
        self.signs.plain(part)

    def told(self, found: Told) -> None:
        """Count the lines of a log at DEBUG that were read together."""
        self.signs.upstream_key = found.has_upstream_key
        for record in found.records:
            if isinstance(record, Part):
                self.plain(record)
            else:
                self._single(record)
        self._tally.unattributed += found.unattributed
        self._tally.attempts += found.roundtrips - found.unattributed
        self._tally.other += found.roundtrips + found.others
        if found.last is not None:
            self.filter.last = found.last

    def _single(self, record: Key) -> None:
        """Count an access line of the one logger, with a status below 500, as that of an attempt."""
        (logger,) = self.twice.loggers
        self.twice.is_one(record, logger)
        self.signs.record(record.ended, ANSWERS)
        self._tally.records += 1
        self._tally.attempts += 1

    def take(self, line: Line, where: Where, now: float | None, events: list[Entry]) -> None:
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
                events += self.filter.admit(reading, now)

    def _time(self, line: Line, now: float | None, *, is_record: bool) -> float | None:
        """Return a line's time.

        A log without times is told by its first record: live, the time of arrival is used; in history nothing can be judged,
        so None is returned and the record only counted.

        Raises:
            NoTimeError: This line has none, others have.
            ValueError: It can't be read.
        """
        if line.time is not UNSET and line.time is not None and line.time != "":
            near = self.filter.last if self.filter.last is not None else self._near
            try:
                return parse_time(line.time, self._zone, near if near is not None else now)
            except NoYearError:
                self._tally.hints["no_year"] = hint("no_year")
                raise
        if now is not None:
            self._tally.hints["arrival_time"] = hint("arrival_time")
            return now
        if self.filter.last is not None or not is_record:
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
        spelled = line.upstream if self.shape.names["upstream"] == "upstream" else line.dial
        read = self.records.roundtrip if kind is LineKind.ROUNDTRIP else self.records.broken_body
        attempt = read(line, at, where, spelled)
        if attempt is not None and kind is LineKind.ROUNDTRIP:
            self.signs.roundtrips = True
            if not self.signs.upstream_key:
                self.running.begin(attempt)
        self._learn_unit()
        return Reading(at, where.line[:EXAMPLE_BYTES], where.offset, (attempt,) if attempt else (), records=0, other=1)

    def _access(self, line: Line, at: float, where: Where) -> Reading | None:
        took = self.records.took(line)
        request = line.request if isinstance(line.request, Request) else Request()
        if self.twice.is_one(Key(at, request.remote_port, request.uri, took), line.logger):
            self._tally.duplicates += 1
            return None
        self.signs.record(at, line.status)
        handled = line.message in (HANDLED, UNSET)
        reading = Reading(at, where.line[:EXAMPLE_BYTES], where.offset)
        attempt = None
        if line.upstream is UNSET:
            # Without a field for the upstream, a round-trip line of the same request knows it.
            upstream = None if self.signs.upstream_key else self.running.end(*client_of(request), request.uri)
            if handled and took == 0.0 and (optional(line.status) == 0 or self.signs.upstream_key or upstream is not None):
                reading.events, reading.aborted = (self.records.aborted(line, at, where),), 1
            elif handled and upstream is not None:
                named = msgspec.structs.replace(line, upstream=upstream)
                attempt = self.records.access(named, at, where, self.shape.names)
        else:
            self.signs.upstream_key = True
            attempt = self.records.access(line, at, where, self.shape.names) if handled else None
            reading.pool_events = int(line.upstream is None and line.status == UNAVAILABLE)
        if attempt is None:
            optional(line.status)
            reading.unattributed = 1
            return reading
        reading.events = (attempt,)
        self.signs.attributed(line)
        self._learn_unit()
        return reading

    def _learn_unit(self) -> None:
        """Note what the latest line told about the unit of durations."""
        unit = self.records.unit
        if unit.assumed:
            self._tally.hints["unit_assumed"] = hint("unit_assumed", unit=unit.unit)
        elif unit.unit == "s" and not self.shape.in_seconds:
            self._tally.hints.pop("unit_assumed", None)
            self.shape.durations_are_seconds()
