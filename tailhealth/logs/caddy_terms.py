"""What the plain lines of one Caddy file depend on, so that another process can outline them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import msgspec

from tailhealth.logs.anywhere import changed
from tailhealth.logs.caddy_address import Addresses
from tailhealth.logs.caddy_decoded import decode, first_odd
from tailhealth.logs.caddy_plain import Plain
from tailhealth.logs.caddy_shape import Shape
from tailhealth.logs.outline import Answered, Failed, Gap, Load, Sketch, Stretch, part_of
from tailhealth.logs.plain import past_bounds
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import LogRules

if TYPE_CHECKING:
    from tailhealth.core.model import Attempt
    from tailhealth.logs.plain import Part


class CaddyTerms(msgspec.Struct, frozen=True):
    """See `Terms`."""

    serial: int
    rules: LogRules
    names: dict[str, str]
    """The key of each field."""
    logger: str
    known: dict[str, str]
    """Canonical addresses of upstreams by their spelling."""
    header_scale: float
    own_scale: float | None
    file: int

    def outline(self) -> Callable[[bytes, int], list[Stretch]]:
        """See `Terms`."""
        shape = Shape(self.rules)
        shape.take_names(self.names)
        return partial(_outline, Plain(shape, self.logger, self.known, self.header_scale, self.own_scale, self.file))


class Outlining:
    """The terms of one file as they change, and what outlines on these terms tell.

    Args:
        rules: How the log is to be read.
    """

    def __init__(self, rules: LogRules) -> None:
        self._rules = rules
        self._plain: Plain | None = None
        self._terms: CaddyTerms | None = None
        self._serial = 0
        self._known = 0

    def terms(self, plain: Plain) -> CaddyTerms | None:
        """Return the terms on which plain lines are read now; None if they can't be told to another process."""
        if self._plain is not plain or self._known != len(plain.known):
            self._serial += self._plain is not plain
            self._plain, self._known = plain, len(plain.known)
            known = {spelled: address for spelled, address in plain.known.items() if address}
            self._terms = None
            if isinstance(plain.logger, str):
                names, scales = dict(plain.shape.names), (plain.header_scale, plain.own_scale)
                self._terms = CaddyTerms(self._serial, self._rules, names, plain.logger, known, *scales, plain.file)
        return self._terms

    def holds(self, serial: int, plain: Plain) -> bool:
        """Tell whether what was outlined on the terms of a serial number is still right."""
        return self._serial == serial and self._plain is plain

    def part(self, plain: Plain, stretch: Answered | Failed, load: Load) -> Part:
        """Return what an outline tells of plain lines."""
        return part_of(stretch, plain.file, lambda: _remade(plain, stretch, load))


def _remade(plain: Plain, stretch: Answered | Failed, load: Load) -> list[Attempt]:
    """Make the attempts of lines that are known to be plain.

    Raises:
        LogError: They can't be read any more.
    """
    decoded = decode(plain.decoder, load(stretch.start, stretch.end), stretch.start)
    if decoded is None:
        raise changed(load.path)
    spellings = {record.upstream for record in decoded.records if isinstance(record.upstream, str)}
    addresses = {spelled: address for spelled in spellings if (address := Addresses(Tally()).find(spelled)) is not None}
    return plain.attempts(decoded, 0, len(decoded.records), addresses)


def _outline(plain: Plain, block: bytes, offset: int) -> list[Stretch]:
    """Outline whole lines that begin at `offset`."""
    decoded = decode(plain.decoder, block, offset)
    if decoded is None:
        return [Gap(offset, offset + len(block))]
    sketch = Sketch()
    index, stop = 0, first_odd(plain.shape, decoded)
    while index < stop:
        parts: list[Part] = []
        # The line before is not known here: whoever takes the outline asks how far the first one leaps.
        time = decoded.records[index].time
        plain.read(decoded, index, stop, past_bounds(time if isinstance(time, float) else inf), parts)
        for part in parts:
            sketch.add(part, decoded.start(index), decoded.start(index + part.size))
            index += part.size
        if index < stop:
            sketch.add_gap(decoded.start(index), decoded.start(index + 1))
            index += 1
    if index < len(decoded.records):
        sketch.add_gap(decoded.start(index), offset + len(block))
    return sketch.stretches
