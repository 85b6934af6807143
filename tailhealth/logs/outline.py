"""What another process found out about a part of a file: plain attempts, and the gaps between them.

To read plain lines takes no more than the terms on which they are read, so several parts of a file can be read at once. All
other lines are gaps: the file's own reader reads them in their turn, because what they tell depends on the lines before them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sized
from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from tailhealth.core.bulk import Bulk, Share
from tailhealth.core.model import Attempt
from tailhealth.core.order import Entry
from tailhealth.logs.plain import Part

T = TypeVar("T", bound="Terms")


class Load(Protocol):
    """Reads the bytes of a file from one position up to another. Raises LogError."""

    path: str

    def __call__(self, start: int, end: int) -> bytes:
        """Read them."""
        ...


class Summed(msgspec.Struct, tag="s", array_like=True, gc=False):
    """One upstream's part of answered attempts; see `core.bulk.Share`."""

    upstream: str
    ends: list[float]
    header: float
    duration: float

    def part(self, start: int, stop: int | None) -> Summed:
        """Return some of them."""
        return Summed(self.upstream, self.ends[start:stop], self.header, self.duration)


class Answered(msgspec.Struct, tag="a", array_like=True):
    """Lines that are a bulk of plain attempts."""

    start: int
    end: int
    shares: list[Summed]
    statuses: frozenset[int]
    first: float
    last: float
    in_order: bool

    def cut(self, place: int, horizon: float, size: int) -> tuple[Answered, Answered] | None:
        """Return the first `size` lines, up to `horizon`, and the others; None if their times don't tell them apart."""
        cuts = [bisect_right(share.ends, horizon) for share in self.shares]
        if not self.in_order or sum(cuts) != size:
            return None
        before = [share.part(0, cut) for share, cut in zip(self.shares, cuts, strict=True) if cut]
        after = [share.part(cut, None) for share, cut in zip(self.shares, cuts, strict=True) if cut < len(share.ends)]
        last, first = max(share.ends[-1] for share in before), min(share.ends[0] for share in after)
        return (
            msgspec.structs.replace(self, end=place, shares=before, last=last),
            msgspec.structs.replace(self, start=place, shares=after, first=first),
        )


class Failed(msgspec.Struct, tag="f", array_like=True):
    """A line that is a plain attempt without an answer, or with an error."""

    start: int
    end: int
    attempt: Attempt
    below_500: bool

    @property
    def first(self) -> float:
        """Time of the line."""
        return self.attempt.ended


class Gap(msgspec.Struct, tag="g", array_like=True):
    """Lines that the file's reader has to read itself."""

    start: int
    end: int


Stretch: TypeAlias = Answered | Failed | Gap


class Outline(msgspec.Struct, array_like=True):
    """Whole lines of a file, outlined."""

    offset: int
    end: int
    stretches: list[Stretch]

    def cut(self, place: int, horizon: float, lines: Callable[[int, int], int]) -> tuple[Outline, Outline] | None:
        """Return the part before a line that begins at `place`, and the rest; None if they can't be told apart.

        Args:
            place: Position in the file.
            horizon: Time of the lines before it at most, and before that of the line.
            lines: Counts the lines from one position to another.
        """
        before: list[Stretch] = []
        after: list[Stretch] = []
        for stretch in self.stretches:
            if stretch.end <= place:
                before.append(stretch)
            elif stretch.start >= place:
                after.append(stretch)
            elif isinstance(stretch, Answered):
                parts = stretch.cut(place, horizon, lines(stretch.start, place))
                if parts is None:
                    return None
                before.append(parts[0])
                after.append(parts[1])
            else:
                before.append(Gap(stretch.start, place))
                after.append(Gap(place, stretch.end))
        return Outline(self.offset, place, before), Outline(place, self.end, after)


class Terms(Protocol):
    """All that the plain lines of one file depend on. It goes to other processes."""

    @property
    def serial(self) -> int:
        """Counts up whenever plain lines of the file are read in another way."""
        ...

    def outline(self) -> Callable[[bytes, int], list[Stretch]]:
        """Return what outlines whole lines that begin at a position of the file."""
        ...


class Outlining(Generic[T]):
    """The terms of one file as they change."""

    def __init__(self) -> None:
        self._basis: object = None
        self._known = 0
        self._terms: T | None = None
        self._serial = 0

    def terms(self, basis: object, known: Sized, make: Callable[[int], T | None]) -> T | None:
        """Return the terms on which plain lines are read now; None if they can't be told to another process.

        Args:
            basis: Another one means that lines are read in another way.
            known: The upstreams that the terms name: with another number of them they are made anew.
            make: Makes the terms with a serial number.
        """
        if self._basis is not basis or self._known != len(known):
            self._serial += self._basis is not basis
            self._basis, self._known = basis, len(known)
            self._terms = make(self._serial)
        return self._terms

    def holds(self, serial: int, basis: object) -> bool:
        """Tell whether what was outlined on the terms of a serial number is still right."""
        return self._serial == serial and self._basis is basis


class Sketch:
    """An outline in the making: stretches in the order of the lines."""

    def __init__(self) -> None:
        self.stretches: list[Stretch] = []

    def add(self, part: Part, start: int, end: int) -> None:
        """Add plain lines, from one position of the file to another."""
        entry = part.entry
        if isinstance(entry, Attempt):
            self.stretches.append(Failed(start, end, entry, part.below_500))
            return
        shares = [Summed(upstream, share.ends, share.header, share.duration) for upstream, share in entry.shares.items()]
        self.stretches.append(Answered(start, end, shares, entry.statuses, part.first, part.last, part.in_order))

    def add_lines(self, stop: int, read: Callable[[int], list[Part]], start: Callable[[int], int]) -> None:
        """Add lines up to the one of index `stop`.

        Args:
            stop: Index of the first one that is not meant.
            read: Reads plain lines from an index on.
            start: Where the line of an index begins in the file; of the one past the last, where they end.
        """
        index = 0
        while index < stop:
            for part in read(index):
                self.add(part, start(index), start(index + part.size))
                index += part.size
            if index < stop:
                self.add_gap(start(index), start(index + 1))
                index += 1

    def add_gap(self, start: int, end: int) -> None:
        """Add lines that are not plain."""
        if self.stretches and isinstance(self.stretches[-1], Gap):
            self.stretches[-1].end = end
        else:
            self.stretches.append(Gap(start, end))


def part_of(stretch: Answered | Failed, file: int, make: Callable[[], list[Attempt]]) -> Part:
    """Return the part that was written down.

    Args:
        stretch: As it came.
        file: Index of the file.
        make: Makes the attempts of answered lines.
    """
    if isinstance(stretch, Failed):
        return Part(stretch.attempt, 1, stretch.first, stretch.first, stretch.below_500)
    shares: dict[str, Share] = {}
    for summed in stretch.shares:
        share = shares[summed.upstream] = Share()
        share.ends, share.header, share.duration = summed.ends, summed.header, summed.duration
    bulk = Bulk(shares, stretch.statuses, file, make)
    return Part(bulk, bulk.count, stretch.first, stretch.last, below_500=True, in_order=stretch.in_order)


def taken(
    outline: Outline,
    load: Load,
    read: Callable[[bytes, int], list[Entry]],
    accept: Callable[[Answered | Failed], Entry | None],
) -> list[Entry]:
    """Take lines that were outlined.

    Args:
        outline: What is known of them.
        load: Reads the bytes of the file.
        read: Reads lines that stand at a position: the gaps, and what was not accepted.
        accept: Counts plain lines and returns what they tell; None if that does not hold any more.

    Raises:
        LogError: Lines can't be read any more.
    """
    entries: list[Entry] = []
    for stretch in outline.stretches:
        entry = None if isinstance(stretch, Gap) else accept(stretch)
        entries += read(load(stretch.start, stretch.end), stretch.start) if entry is None else [entry]
    return entries
