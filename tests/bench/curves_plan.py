"""Which curves there are, and what is replayed at each of their points."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple, cast

import zstandard

from tests.bench.lines import UPSTREAMS, caddy_lines

MB, PER_IDLE, PER_BUSY = 60.0, 4.0, 16.0
"""Memory may be so many MB, and so many KB more per upstream (DESIGN section 10)."""
PER_SECOND, FULL = 8, 320
"""A busy upstream's window is full after so many lines of it at this rate: 192 are kept one by one, the rest by the second."""
HOST = "llm.example.com"


class Sizes(NamedTuple):
    """How far the curves go."""

    lines: tuple[int, ...] = (30_000, 100_000, 300_000)
    packed: tuple[int, ...] = (30_000, 300_000)
    base: int = 100_000
    """Lines at a point that asks for no more."""
    busy: tuple[int, ...] = (4, 100, 1000)
    idle: tuple[int, ...] = (4, 100, 1000, 10_000)
    failing: tuple[int, ...] = (4, 20, 100)
    pools: tuple[int, ...] = (1, 10, 100)
    in_pools: int = 1000
    """Upstreams of all pools together."""


FAR = Sizes(lines=(30_000, 100_000, 300_000, 1_000_000, 3_000_000), busy=(4, 100, 1000, 10_000), failing=(4, 20, 100, 300))


class Point(NamedTuple):
    """A log and a configuration."""

    x: int
    lines: int
    served: tuple[str, ...]
    """Upstreams in the order in which they answer, over and over."""
    pools: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Upstreams of each pool; none: those of the log are one."""
    busy: int = len(UPSTREAMS)
    idle: int = 0
    failing: float = 0.02
    rate: float = 100.0
    ending: str = ".jsonl"

    @property
    def bound(self) -> float:
        """Return how many MB it may take."""
        return MB + (PER_IDLE * self.idle + PER_BUSY * self.busy) / 1024

    def written(self, folder: Path) -> tuple[Path, Path]:
        """Write its configuration and its log."""
        config, log = folder / "tailhealth.toml", folder / f"access{self.ending}"
        config.write_text("".join(self._tables()), encoding="utf-8")
        with _opened(log) as file:
            for line in self._log():
                file.write(line.encode())
        return config, log

    def _tables(self) -> Iterator[str]:
        """Pools of the same upstreams have a host each."""
        is_split = len(set(self.pools.values())) < len(self.pools)
        for name, upstreams in self.pools.items():
            yield f"[pool.{name}]\nupstreams = {json.dumps(upstreams)}\n"
            yield f'host = ["{name}.{HOST}"]\n' if is_split else ""

    def _log(self) -> Iterator[str]:
        """Each round of the upstreams is asked through the host of the next pool."""
        names = list(self.pools) or ["www"]
        lines = caddy_lines(self.lines, failing=self.failing, rate=self.rate, upstreams=self.served)
        for number, line in enumerate(lines):
            yield line.replace(HOST, f"{names[number // len(self.served) % len(names)]}.{HOST}")


def _opened(path: Path) -> IO[bytes]:
    match path.suffix:
        case ".gz":
            return cast("IO[bytes]", gzip.open(path, "wb", compresslevel=1))
        case ".zst":
            return cast("IO[bytes]", zstandard.open(path, "wb"))
        case _:
            return path.open("wb")


class Curve(NamedTuple):
    """Points that differ in one thing."""

    title: str
    points: tuple[Point, ...]
    limit: float | None = None
    """So many KB one more may take; None: it is not this that takes memory, which stays flat."""


def curves(sizes: Sizes) -> tuple[Curve, ...]:
    """Return all curves."""
    base = sizes.base
    return (
        Curve("lines", tuple(_lines(n) for n in sizes.lines)),
        Curve("lines, .gz", tuple(_lines(n, ".gz") for n in sizes.packed)),
        Curve("lines, .zst", tuple(_lines(n, ".zst") for n in sizes.packed)),
        Curve("busy upstreams", tuple(_busy(n, base) for n in sizes.busy), PER_BUSY),
        Curve("upstreams, all but four idle", tuple(_idle(n, base) for n in sizes.idle), PER_IDLE),
        *(Curve(f"percent failing of {n} upstreams", tuple(_failing(n, base, x) for x in (1, 10, 100))) for n in sizes.failing),
        Curve(f"pools of {sizes.in_pools:,} upstreams in all", tuple(_pools(n, sizes) for n in sizes.pools)),
        Curve(
            "pools of the same ten upstreams, told apart by host", tuple(_shared(n, base) for n in sizes.pools), 10 * PER_BUSY
        ),
    )


def _fleet(size: int) -> tuple[str, ...]:
    return tuple(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:11434" for number in range(size))


def _lines(count: int, ending: str = ".jsonl") -> Point:
    return Point(count, count, UPSTREAMS, ending=ending)


def _busy(size: int, base: int) -> Point:
    upstreams = _fleet(size)
    return Point(size, max(base, size * FULL), upstreams, {"p0": upstreams}, busy=size, rate=PER_SECOND * size)


def _idle(size: int, base: int) -> Point:
    """Each of the idle ones answers once, and the busy ones between them."""
    upstreams = _fleet(size)
    busy, idle = upstreams[:4], upstreams[4:]
    between = max(1, base // max(1, len(idle)) // len(busy))
    served = tuple(address for one in idle for address in (*busy * between, one)) or busy
    return Point(size, max(base, len(served)), served, {"p0": upstreams}, idle=len(idle))


def _failing(size: int, base: int, percent: int) -> Point:
    """At 5,000 lines a second: a pool that fails altogether may cost twice as much as a healthy one (DESIGN section 7)."""
    return _busy(size, base)._replace(x=percent, failing=percent / 100, rate=5000.0)


def _pools(count: int, sizes: Sizes) -> Point:
    """Each upstream stands in one of them."""
    one = _busy(sizes.in_pools, sizes.base)
    return one._replace(x=count, pools={f"p{number}": one.served[number::count] for number in range(count)})


def _shared(count: int, base: int) -> Point:
    """Each upstream stands in all of them, with a window in each."""
    upstreams = _fleet(10)
    places = len(upstreams) * count
    pools = {f"p{number}": upstreams for number in range(count)}
    return Point(count, max(base, places * FULL), upstreams, pools, busy=places, rate=PER_SECOND * places)
