"""What the plain lines of one nginx file depend on, so that another process can outline them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from operator import le
from typing import TYPE_CHECKING, Any

import msgspec

from tailhealth.logs.anywhere import addresses_of, changed
from tailhealth.logs.lines import ends_of
from tailhealth.logs.nginx_plain import SMALL, Block, Plain
from tailhealth.logs.nginx_shape import Shape
from tailhealth.logs.order import past_bounds
from tailhealth.logs.outline import Answered, Failed, Load, Sketch, Stretch
from tailhealth.logs.rules import LogRules

if TYPE_CHECKING:
    from tailhealth.core.model import Attempt
    from tailhealth.logs.plain import Part


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


def terms_of(rules: LogRules, shape: Shape, plain: Plain, foreign: bytes, serial: int) -> NginxTerms:
    """Return the terms on which plain lines are read."""
    return NginxTerms(serial, rules, list(shape.values.items()), foreign, dict(plain.known), plain.file)


def remade(shape: Shape, plain: Plain, stretch: Answered | Failed, load: Load) -> list[Attempt]:
    """Make the attempts of lines that are known to be plain.

    Raises:
        LogError: They can't be read any more.
    """
    block = load(stretch.start, stretch.end)
    ends = ends_of(block)
    rows = shape.rows(block, ends)
    if rows is None:
        raise changed(load.path)
    known = addresses_of((row.upstream for row in rows), load.path)
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
    count = len(block.rows)

    def read(index: int) -> list[Part]:
        parts: list[Part] = []
        # The line before is not known here: whoever takes the outline asks how far the first one leaps.
        time = plain.time(block.rows[index])
        plain.read(block, index, past_bounds(time if isinstance(time, float) else inf), parts)
        found = []
        for part in parts:
            times = [plain.time(row) for row in block.rows[index : index + part.size]]
            found.append(part._replace(in_order=all(map(le, times, times[1:]))))
            index += part.size
        return found

    sketch.add_lines(count, read, lambda line: block.offset + (block.start(line) if line < count else size))
