"""The parts of the live bench: they measure what they say, and the table tells when a bound was not kept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
import requests

from tests.bench.lines import UPSTREAMS
from tests.bench.live import (
    BREATH,
    BUSY,
    IDLE,
    LATEST,
    LONGER,
    MB,
    MEMORY,
    PARTS,
    Size,
    failing_row,
    memory_rows,
    speed_row,
    start_row,
)
from tests.bench.live_parts import Lateness, Memory, Recorder, percentile
from tests.bench.live_stage import Writer, stage
from tests.real.caddy import caddy, reverse_proxy

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

TINY = Size(seconds=0.3, settle=0.1, lines=100, many=8, ejections=2, rounds=1)


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("cpu", ["CPU, no lines", "CPU, 100 lines/s", "CPU, 5,000 lines/s", "CPU, 5,000 lines/s, all fail"]),
        (
            "memory",
            [
                f"memory, {n} upstreams, {when}"
                for n in (4, 8)
                for when in ("at the start", "after 10 lines", "after 100 lines")
            ],
        ),
        ("speed", [f"line to request, {rate}: p50 / p99" for rate in ("no other lines", "100 lines/s", "5,000 lines/s")]),
        ("start", ["`--help` beyond the bare interpreter"]),
    ],
)
def test_each_part_measures(part: str, names: list[str]) -> None:
    """With a real Caddy and a real controller, which has read every line and sent every change in the end."""
    rows = list(PARTS[part](TINY))

    assert [row.what for row in rows] == names
    assert all(row.measured[0].isdecimal() or row.measured[0] == "-" for row in rows)


def test_the_controller_reads_what_the_writer_writes() -> None:
    """Each line is an attempt of now, of the upstreams in turn, and fails as often as it is told to."""
    with stage() as scene, Writer(scene.log, failing=1.0) as writer:
        began = time.time()
        writer.write(400)
        scene.wait_for_lines(400)
        status = scene.run.status()
        (log,) = status["inputs"]
        assert (log["lines"], log["skipped"], log["hints"]) == (400, {}, {})
        assert began - 0.001 <= log["newest"] <= time.time()
        writer.pace(50.0, 2.0)
        scene.wait_for_lines(writer.written)
        shown = scene.run.status()["stats"]["upstreams"]
        assert {one["upstream"] for one in shown} == set(UPSTREAMS)
        assert {kind for one in shown for kind in one["bad"]} == {"status"}
        assert 90 <= writer.written - 400 <= 100


def test_a_log_that_is_rolled_is_read_on() -> None:
    """Nothing is lost between two files."""
    with stage() as scene, Writer(scene.log) as writer:
        for _ in range(4):
            writer.write(50)
            scene.wait_for_lines(writer.written)
            writer.roll_at(40_000)
        (log,) = scene.run.status()["inputs"]
        assert (log["lines"], log["gaps"]) == (200, 0)
        assert len(list(scene.log.parent.iterdir())) == 2


def test_only_changes_are_recorded(tmp_path: Path) -> None:
    """Each is answered by Caddy itself, and what is only read is passed on."""
    with caddy(tmp_path, [reverse_proxy("127.0.0.1:1")]) as proxy:
        recorder = Recorder(proxy.admin_port)
        try:
            place = recorder.address + "/config/apps/http/grace_period"
            assert requests.get(place, timeout=10).json() == "5s"
            began = time.monotonic()
            assert requests.patch(place, json="6s", timeout=10).ok
            assert began <= recorder.wait(1) <= time.monotonic()
            assert len(recorder.arrivals) == 1
        finally:
            recorder.stop()
        assert proxy.get("/config/apps/http/grace_period").json() == "6s"


@pytest.mark.parametrize(("failing", "kept"), [(0.2, True), (0.201, False)])
def test_a_pool_that_fails_costs_at_most_twice_as_much(failing: float, kept: bool) -> None:
    """On both sides of the bound."""
    assert failing_row(0.1, failing).kept is kept


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        (Memory(MEMORY + 10 * IDLE, MEMORY + 10 * BUSY, MEMORY + 10 * BUSY), [True, True, True]),
        (Memory(MEMORY + 10 * IDLE + 1, MEMORY + 10 * BUSY + 1, MEMORY + 10 * BUSY + 1), [False, False, False]),
        (Memory(40 * MB, 45 * MB, 45 * MB + BREATH + 10 * BUSY), [True, True, True]),
        (Memory(40 * MB, 45 * MB, 45 * MB + BREATH + 10 * BUSY + 1), [True, True, False]),
    ],
)
def test_bounds_of_memory(found: Memory, kept: list[bool]) -> None:
    """For each upstream so much, and after ten times the lines no more."""
    assert [row.kept for row in memory_rows(10, 1000, found)] == kept


@pytest.mark.parametrize(("late", "kept"), [(LATEST, True), (LATEST + 0.001, False)])
def test_the_bound_of_the_last_percent(late: float, kept: bool) -> None:
    """One of a hundred may take as long as it likes, the next one not."""
    row = speed_row("none", Lateness([0.01] * 98 + [late, 9.0], [0.001] * 100))

    assert row.kept is kept
    assert row.measured == f"10 / {late * 1000:.0f} ms (its disk and admin interface: 1 / 1 ms)"


@pytest.mark.parametrize(("beyond", "kept"), [(LONGER - 0.001, True), (LONGER + 0.001, False)])
def test_the_bound_of_the_start(beyond: float, kept: bool) -> None:
    """What the interpreter itself needs does not count."""
    assert start_row(5.0, 5.0 + beyond).kept is kept


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.0, 1)])
def test_percentiles(share: float, value: int) -> None:
    """The smallest value that so many do not exceed."""
    assert percentile([float(one) for one in range(100, 0, -1)], share) == value
