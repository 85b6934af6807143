"""The logs that the peers of `replay` read: three kinds, what each calls its fields, and what stands in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson

from tailhealth.logs.nginx_shape import Shape
from tailhealth.logs.rules import LogRules
from tests.bench.lines import caddy_lines, nginx_lines, roundtrip_lines, write
from tests.bench.replay_speed import struct_of_replay

FAILED = 500
"""A status from here on is bad."""

Counts: TypeAlias = dict[str, tuple[int, int]]
"""Of each upstream, how many lines name it, and how many of these are bad."""


class Keys(NamedTuple):
    """What the lines call the fields that the peers extract, `replay` among them."""

    time: str
    status: str
    duration: str
    upstream: str
    latency: str


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of log."""

    title: str
    lines: Callable[..., Iterator[str]]
    keys: Keys
    goaccess: tuple[str, ...]
    """Options that tell GoAccess how to read it."""
    decoder: Callable[[bytes], Any]
    """Makes the decoder that `replay` uses, out of a line."""
    per_attempt: int = 1
    """Lines that tell of one attempt."""
    is_bounded: bool = False
    """The bounds of the peers are for this kind."""


@dataclass(frozen=True, slots=True)
class Log:
    """A file, and what every peer must find in it."""

    path: Path
    kind: Kind
    lines: int
    counts: Counts

    @classmethod
    def of(cls, path: Path, kind: Kind) -> Log:
        """Count what stands in a file; that also brings it into the page cache."""
        lines, bad = Counter[str](), Counter[str]()
        with path.open("rb") as file:
            for line in file:
                fields = orjson.loads(line)
                upstream = fields[kind.keys.upstream]
                lines[upstream] += 1
                bad[upstream] += int(fields[kind.keys.status]) >= FAILED
        return cls(path, kind, lines.total(), {upstream: (count, bad[upstream]) for upstream, count in lines.items()})

    @classmethod
    def written(cls, folder: Path, name: str, lines: int, failing: float) -> Log:
        """Write a log of a kind, a share of whose lines is bad."""
        kind = KINDS[name]
        return cls.of(write(folder / f"{name}.jsonl", kind.lines(lines, failing=failing)), kind)

    def first(self, lines: int) -> Log:
        """Return a file with as many lines of this one, from its beginning."""
        if lines >= self.lines:
            return self
        path = self.path.with_name(f"first-{lines}-of-{self.path.name}")
        with self.path.open("rb") as file, path.open("wb") as out:
            out.writelines(islice(file, lines))
        return Log.of(path, self.kind)


def _of_caddy(_: bytes) -> Any:
    return struct_of_replay()


def _of_nginx(line: bytes) -> Any:
    return Shape({(key,): value for key, value in orjson.loads(line).items()}, LogRules()).decoder


_CADDY_KEYS = Keys("ts", "status", "duration", "upstream", "upstream_latency_ms")
_NGINX_KEYS = Keys("msec", "status", "request_time", "upstream_addr", "upstream_header_time")
_OF_GOACCESS = {"msec": "%x.%^", "remote_addr": "%h", "request_method": "%m", "host": "%v", "request_uri": "%U"} | {
    "status": "%s",
    "request_time": "%T",
    "request_length": "%b",
}
_AS_CADDY = ("--log-format=CADDY",)
_AS_NGINX = (
    f"--log-format={orjson.dumps(_OF_GOACCESS).decode()}",
    *("--datetime-format=%s", "--date-format=%s", "--time-format=%s"),
)

KINDS = {
    "caddy": Kind("Caddy lines", caddy_lines, _CADDY_KEYS, _AS_CADDY, _of_caddy, is_bounded=True),
    "nginx": Kind("nginx lines", nginx_lines, _NGINX_KEYS, _AS_NGINX, _of_nginx),
    "roundtrip": Kind("Round-trip lines", roundtrip_lines, _CADDY_KEYS, _AS_CADDY, _of_caddy, per_attempt=2),
}
"""By name. Of the round-trip lines every second one is an access line: the peers count both."""
