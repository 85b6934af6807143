"""The curves: every point is there, the bounds are told on both sides, and a point really is a replay."""

from __future__ import annotations

import pytest

from tests.bench.curves import GROWTH, Measured, main, measured, table, verdict
from tests.bench.curves_plan import Curve, Point, Sizes, curves

pytestmark = pytest.mark.outside

TINY = Sizes(
    lines=(300, 3000), packed=(300, 600), base=400, busy=(1, 3), idle=(5, 9), failing=(2,), pools=(1, 2), in_pools=4
)  # fmt: skip


def made_up(point: Point, rounds: int) -> Measured:
    """Tell of a process that did as it should."""
    return Measured(point, point.lines * rounds / 1e6, 27.0)


def test_every_curve_and_every_point(capsys: pytest.CaptureFixture[str]) -> None:
    """Each curve has its title, a row for each point, and what it comes to."""
    assert main(["--rounds", "2"], TINY, made_up) == 0

    blocks = [block.split("\n") for block in capsys.readouterr().out.strip("\n").split("\n\n")]
    assert [curve.title for curve in curves(TINY)] == [title for title, *_ in blocks]
    for curve, (_, _, *rows, text) in zip(curves(TINY), blocks, strict=True):
        assert [f"{point.x:,}" for point in curve.points] == [row.split()[0] for row in rows]
        assert {"2.00"} == {row.split()[3] for row in rows}
        assert text.startswith("a line takes 1.00 times as long")
        assert "MISSED" not in text


def test_one_curve(capsys: pytest.CaptureFixture[str]) -> None:
    """A word of its title picks it out."""
    main(["--only", "idle"], TINY, made_up)

    assert capsys.readouterr().out.startswith("\nupstreams, all but four idle\n")


POINT = Point(1000, 1000, ("10.0.0.1:80",))


def test_bars() -> None:
    """The greatest value is drawn at full width, also where there is nothing but ASCII."""
    found = [Measured(POINT, 1.0, 30.0), Measured(POINT._replace(x=2000), 0.5, 30.0)]
    shown = table(Curve("lines", (POINT,)), found, is_ascii=True)

    bars = [len(word) for word in shown.split() if word.startswith("#")]
    assert bars == [24, 24, 12, 24]


@pytest.mark.parametrize(("peak", "is_kept"), [(60.0625, True), (60.125, False)])
def test_the_bound_of_a_point(peak: float, is_kept: bool) -> None:
    """60 MB, and what its four busy upstreams may take."""
    curve = Curve("lines", (POINT,))

    assert is_kept is verdict(curve, [Measured(POINT, 1.0, peak)] * 2).is_kept


@pytest.mark.parametrize(("more", "is_kept"), [(GROWTH, True), (GROWTH + 0.125, False)])
def test_memory_stays_flat(more: float, is_kept: bool) -> None:
    """Ten times the lines may take no more than the allocator's own breath."""
    found = [Measured(POINT, 1.0, 30.0), Measured(POINT._replace(x=10_000), 10.0, 30.0 + more)]

    assert is_kept is verdict(Curve("lines", ()), found).is_kept


@pytest.mark.parametrize(("more", "is_kept"), [(16.0, True), (16.125, False)])
def test_memory_of_one_more(more: float, is_kept: bool) -> None:
    """A thousand more at their limit are within it."""
    last = POINT._replace(x=POINT.x + 1024, busy=2048)
    found = [Measured(POINT, 1.0, 30.0), Measured(last, 1.0, 30.0 + more)]

    assert is_kept is verdict(Curve("upstreams", (), 16.0), found).is_kept


@pytest.mark.parametrize("word", ["lines", ".gz", ".zst", "busy", "idle", "percent", "pools of 4", "told apart"])
def test_a_point_is_a_replay(word: str) -> None:
    """Each curve's last point is replayed in a process of its own, and all of its lines are judged."""
    curve = next(one for one in curves(TINY) if word in one.title)
    found = measured(curve.points[-1], 1)

    assert 0 < found.peak <= found.point.bound
    assert found.seconds > 0
