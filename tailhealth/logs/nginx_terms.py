"""What the plain lines of one nginx file depend on, so that another process can outline them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from operator import le
from typing import TYPE_CHECKING, Any

import msgspec

from tailhealth.core.address import canonical
from tailhealth.logs.anywhere import changed
from tailhealth.logs.lines import ends_of
from tailhealth.logs.nginx_plain import Block, Plain
from tailhealth.logs.nginx_shape import Shape
from tailhealth.logs.outline import Answered, Failed, Load, Sketch, Stretch, part_of
from tailhealth.logs.plain import past_bounds
from tailhealth.logs.rules import LogRules

if TYPE_CHECKING:
    from tailhealth.core.model import Attempt
    from tailhealth.logs.plain import Part

SMALL = 16
"""Of a block that is not plainly of one shape, so many lines that are not either are a gap."""


class NginxTerms(msgspec.Struct, frozen=True):
    """See `Terms`."""

    serial: int
    rules: LogRules
    values: list[tuple[tuple[str, ...], Any]]
    """Those of a line of the shape."""
    foreign: bytes
    """A block with these bytes may have lines of another proxy: it is a gap. Empty: it may not."""
    known: dict[str, str]
    """Canonical addresses of upstreams by their spelling."""
    file: int

    def outline(self) -> Callable[[bytes, int], list[Stretch]]:
        """See `Terms`."""
        return partial(_outline, self, Shape(dict(self.values), self.rules), Plain(self.known, self.rules.tzinfo, self.file))


class Outlining:
    """The terms of one file as they change, and what outlines on these terms tell.

    Args:
        rules: How the log is to be read.
    """

    def __init__(self, rules: LogRules) -> None:
        self._rules = rules
        self._shape: Shape | None = None
        self._terms: NginxTerms | None = None
        self._serial = 0

    def terms(self, shape: Shape, plain: Plain, foreign: bytes) -> NginxTerms:
        """Return the terms on which plain lines are read now."""
        if self._terms is None or self._shape is not shape or len(self._terms.known) != len(plain.known):
            self._serial += self._shape is not shape
            self._shape = shape
            values = list(shape.values.items())
            self._terms = NginxTerms(self._serial, self._rules, values, foreign, dict(plain.known), plain.file)
        return self._terms

    def holds(self, serial: int, shape: Shape) -> bool:
        """Tell whether what was outlined on the terms of a serial number is still right."""
        return self._serial == serial and self._shape is shape

    def part(self, shape: Shape, plain: Plain, stretch: Answered | Failed, load: Load) -> Part:
        """Return what an outline tells of plain lines."""
        return part_of(stretch, plain.file, partial(self._remade, shape, plain, stretch, load))

    def _remade(self, shape: Shape, plain: Plain, stretch: Answered | Failed, load: Load) -> list[Attempt]:
        """Make the attempts of lines that are known to be plain.

        Raises:
            LogError: They can't be read any more.
        """
        block = load(stretch.start, stretch.end)
        ends = ends_of(block)
        rows = shape.rows(block, ends)
        if rows is None:
            raise changed(load.path)
        known = {spelled: canonical(spelled, "") for spelled in {row.upstream for row in rows}}
        attempts = plain.attempts(Block(shape, rows, ends, stretch.start), 0, len(rows), known)
        if len(attempts) != len(rows):
            raise changed(load.path)
        return attempts


def _outline(terms: NginxTerms, shape: Shape, plain: Plain, block: bytes, offset: int) -> list[Stretch]:
    """Outline whole lines that begin at `offset`."""
    sketch = Sketch()
    if terms.foreign and terms.foreign in block:
        sketch.add_gap(offset, offset + len(block))
    else:
        _sketch(shape, plain, block, offset, sketch)
    return sketch.stretches


def _sketch(shape: Shape, plain: Plain, block: bytes, offset: int, sketch: Sketch) -> None:
    ends = ends_of(block)
    rows = shape.rows(block, ends)
    if rows is not None:
        _sketch_rows(plain, Block(shape, rows, ends, offset), len(block), sketch)
    elif len(ends) <= SMALL:
        sketch.add_gap(offset, offset + len(block))
    else:
        middle = ends[len(ends) // 2 - 1] + 1
        _sketch(shape, plain, block[:middle], offset, sketch)
        _sketch(shape, plain, block[middle:], offset + middle, sketch)


def _sketch_rows(plain: Plain, block: Block, size: int, sketch: Sketch) -> None:
    count, index = len(block.rows), 0

    def start(line: int) -> int:
        return block.offset + (block.start(line) if line < count else size)

    while index < count:
        parts: list[Part] = []
        # The line before is not known here: whoever takes the outline asks how far the first one leaps.
        time = plain.time(block.rows[index])
        plain.read(block, index, past_bounds(time if isinstance(time, float) else inf), parts)
        for part in parts:
            times = [plain.time(row) for row in block.rows[index : index + part.size]]
            in_order = all(map(le, times, times[1:]))
            sketch.add(part._replace(in_order=in_order), start(index), start(index + part.size))
            index += part.size
        if index < count:
            sketch.add_gap(start(index), start(index + 1))
            index += 1
