"""The parts of the live bench: each measures one thing about a controller that runs."""

from __future__ import annotations

import math
import multiprocessing
import os
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import requests

from tailhealth.service.control import Request, ask
from tests.bench.lines import UPSTREAMS, caddy_lines
from tests.bench.live_stage import Stage, Writer, stage
from tests.bench.process import cpu_seconds, resident
from tests.real.faults import FaultyAdmin
from tests.real.servers import DEADLINE

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

FAST = 25_000
"""Lines a second where memory is measured: five times as fast as life."""
ROLL = 500 << 20
"""Bytes at which the log is rolled: five times what Caddy does."""
NOTHING_WAITS = """
lateness = 0
[guard]
settle = 0
"""
AT_ONCE = """
coalesce = 0
min_apply_interval = 0
"""


def cpu_share(rate: float, seconds: float, settle: float, failing: float = 0.0) -> float:
    """Return the share of one core that the controller takes while so many lines a second are written.

    Args:
        rate: Lines a second.
        seconds: How long it is measured.
        settle: Seconds before that, of which nothing is measured.
        failing: Share of the lines that tell of a 500.
    """
    with stage() as scene, Writer(scene.log, failing=failing) as writer:
        writer.pace(rate, settle)
        began, used = time.monotonic(), cpu_seconds(scene.run.pid)
        writer.pace(rate, seconds)
        share = (cpu_seconds(scene.run.pid) - used) / (time.monotonic() - began)
        scene.wait_for_lines(writer.written)
    return share


class Memory(NamedTuple):
    """Resident bytes of a controller, in the order of a run."""

    start: int
    """It knows the pool, and no line came."""
    early: int
    """A tenth of the lines was read."""
    late: int
    """All were read."""


def memory(count: int, lines: int) -> Memory:
    """Run a controller over a pool of `count` upstreams that so many lines name in turn.

    Lines come five times as fast as the fastest log that is promised, and wait a fifth as long: as many are held as in life.
    """
    names = tuple(f"10.{number // 62_500}.{number // 250 % 250}.{number % 250 + 1}:11434" for number in range(count))
    with stage(names, rules='lateness = "200ms"') as scene, Writer(scene.log, names) as writer:
        start = resident(scene.run.pid)
        for tenth in range(1, 11):
            while writer.written < lines * tenth // 10:
                writer.pace(FAST, 0.1)
                writer.roll_at(ROLL)
            if tenth == 1:
                scene.wait_for_lines(writer.written)
                early = resident(scene.run.pid)
        scene.wait_for_lines(writer.written)
        return Memory(start, early, resident(scene.run.pid))


class Recorder(FaultyAdmin):
    """Stands before an admin interface, passes everything on, and notes when changes arrive."""

    def __init__(self, port: int) -> None:
        self.arrivals: list[float] = []
        """Of each change that was answered, by a clock that never jumps."""
        self._answered = threading.Condition()
        super().__init__(("127.0.0.1", port))

    def wait(self, count: int) -> float:
        """Wait until so many changes were answered; return when the last of them arrived."""
        with self._answered:
            if not self._answered.wait_for(lambda: len(self.arrivals) >= count, DEADLINE):
                raise TimeoutError(f"no change within {DEADLINE:g} s")
            return self.arrivals[count - 1]

    def _treat(self, client: socket.socket, request: bytes) -> None:
        at = time.monotonic()
        super()._treat(client, request)
        if request.startswith(b"PATCH"):
            with self._answered:
                self.arrivals.append(at)
                self._answered.notify_all()


class Lateness(NamedTuple):
    """Seconds, in the order in which they were measured."""

    whole: list[float]
    """From a line written to the request that takes its upstream out."""
    bare: list[float]
    """What the machine needs for that at the least, measured in turn: a file synced to the disk, and two requests before it."""


def latencies(count: int, rate: float) -> Lateness:
    """Eject an upstream so often, with `rate` other lines a second beside.

    What a line shows is that a connection was refused, the second in a row. It is read, judged and written down, Caddy's
    configuration is read, the intent is synced to the disk, and then the request goes out.
    """
    dice = random.Random(7)
    found = Lateness([], [])
    sick, *well = UPSTREAMS
    with _recorded() as (scene, recorder), _beside(scene.log, tuple(well), rate), scene.log.open("ab", buffering=0) as log:
        for number in range(count):
            threading.Event().wait(dice.uniform(0.1, 0.4))
            text = _refused(sick, time.time())
            began = time.monotonic()
            log.write(text)
            found.whole.append(recorder.wait(2 * number + 1) - began)
            reply = ask(scene.run.state, Request("readmit", upstream=sick))
            if not reply.ok:
                raise RuntimeError(reply.error)
            recorder.wait(2 * number + 2)
            found.bare.append(_bare(scene))
    return found


def _bare(scene: Stage) -> float:
    path = scene.log.with_name("synced")
    began = time.monotonic()
    with path.open("wb") as file:
        file.write(b" " * 2000)
        file.flush()
        os.fsync(file.fileno())
    path.replace(path.with_name("replaced"))
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
    for _ in range(2):
        requests.get(scene.admin + "/config/", timeout=DEADLINE).raise_for_status()
    return time.monotonic() - began


@contextmanager
def _recorded() -> Iterator[tuple[Stage, Recorder]]:
    recorders: list[Recorder] = []

    def before(port: int) -> str:
        recorders.append(Recorder(port))
        return recorders[0].address

    try:
        with stage(rules=NOTHING_WAITS, proxy=AT_ONCE, before=before) as scene:
            yield scene, recorders[0]
    finally:
        for one in recorders:
            one.stop()


@contextmanager
def _beside(log: Path, upstreams: tuple[str, ...], rate: float) -> Iterator[None]:
    """Let a process of its own write other lines meanwhile, the first of each upstream before anything else."""
    with Writer(log, upstreams) as writer:
        writer.write(len(upstreams))
    process = multiprocessing.get_context("spawn").Process(target=_write, args=(log, upstreams, rate))
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join(DEADLINE)


def _write(log: Path, upstreams: tuple[str, ...], rate: float) -> None:
    with Writer(log, upstreams) as writer:
        writer.pace(rate, math.inf)


def _refused(upstream: str, now: float) -> bytes:
    """Write two lines at once that tell of a connection that was refused."""
    (line,) = caddy_lines(1, upstreams=(upstream,))
    fields = {"ts": f"{now:.7f}", "duration": "0.0005", "status": "502", "upstream_latency_ms": "null"}
    for name, value in fields.items():
        line = re.sub(rf'"{name}":[0-9.]+', f'"{name}":{value}', line, count=1)
    return line.encode() * 2


def percentile(values: list[float], share: float) -> float:
    """Return the least of them that `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def starts(rounds: int) -> tuple[float, float]:
    """Return how many seconds the bare interpreter and `tailhealth --help` take, in turn: the medians."""
    took = [(_took("-c", "pass"), _took("-m", "tailhealth", "--help")) for _ in range(rounds)]
    bare, whole = zip(*took, strict=True)
    return statistics.median(bare), statistics.median(whole)


def _took(*words: str) -> float:
    began = time.monotonic()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began
