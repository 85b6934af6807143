"""What the plain lines of one Caddy file depend on, so that another process can outline them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import msgspec

from tailhealth.logs.anywhere import addresses_of, changed
from tailhealth.logs.caddy_decoded import decode, first_odd
from tailhealth.logs.caddy_plain import Plain
from tailhealth.logs.caddy_shape import Shape
from tailhealth.logs.order import past_bounds
from tailhealth.logs.outline import Answered, Failed, Gap, Load, Sketch, Stretch
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


def terms_of(rules: LogRules, plain: Plain, serial: int) -> CaddyTerms | None:
    """Return the terms on which plain lines are read; None if they can't be told to another process."""
    if not isinstance(plain.logger, str):
        return None
    known = {spelled: address for spelled, address in plain.known.items() if address}
    names, scales = dict(plain.shape.names), (plain.header_scale, plain.own_scale)
    return CaddyTerms(serial, rules, names, plain.logger, known, *scales, plain.file)


def remade(plain: Plain, stretch: Answered | Failed, load: Load) -> list[Attempt]:
    """Make the attempts of lines that are known to be plain.

    Raises:
        LogError: They can't be read any more.
    """
    decoded = decode(plain.decoder, load(stretch.start, stretch.end), stretch.start)
    if decoded is None:
        raise changed(load.path)
    addresses = addresses_of((record.upstream for record in decoded.records), load.path)
    return plain.attempts(decoded, 0, len(decoded.records), addresses)


def _outline(plain: Plain, block: bytes, offset: int) -> list[Stretch]:
    """Outline whole lines that begin at `offset`."""
    decoded = decode(plain.decoder, block, offset)
    if decoded is None:
        return [Gap(offset, offset + len(block))]
    stop = first_odd(plain.shape, decoded)

    def read(index: int) -> list[Part]:
        parts: list[Part] = []
        # The line before is not known here: whoever takes the outline asks how far the first one leaps.
        time = decoded.records[index].time
        plain.read(decoded, index, stop, past_bounds(time if isinstance(time, float) else inf), parts)
        return parts

    sketch = Sketch()
    sketch.add_lines(stop, read, decoded.start)
    if stop < len(decoded.records):
        sketch.add_gap(decoded.start(stop), offset + len(block))
    return sketch.stretches
