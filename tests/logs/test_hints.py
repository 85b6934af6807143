"""What is wrong with the setup is found in the log itself, and said once with its remedy."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tailhealth.logs.caddy import CaddyReader
from tailhealth.logs.hints import HINTS, SNIPPET, hint
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import FieldRule, LogRules
from tests.logs.caddy_lines import ABSENT, BASE, attempt, events, line, roundtrip

STOCK: dict[str, Any] = {"upstream": ABSENT, "upstream_latency_ms": ABSENT, "retries": ABSENT}


def live(data: bytes) -> Tally:
    """Read lines of a file that has not ended."""
    tally = Tally()
    CaddyReader(LogRules(), 0, "a", tally).feed(data, 0)
    return tally


@pytest.mark.parametrize(("records", "said"), [(19, False), (20, True)])
def test_missing_upstream_field(records: int, said: bool) -> None:
    """Twenty records without an upstream field are enough to name the lines to add; a file that ends says it at once."""
    data = b"".join(line(number, **STOCK) for number in range(records))
    assert said == ("no_upstream_field" in live(data).hints)
    assert all(directive in events(data)[1].hints["no_upstream_field"] for directive in SNIPPET)


def test_round_trips_need_no_field() -> None:
    """Where round-trip lines tell of upstreams, access lines need not."""
    assert events(b"".join(roundtrip(number) + line(number, **STOCK) for number in range(30)))[1].hints == {}


def test_header_time() -> None:
    """A log that never has a header time is told so; one line that lacks it is not a habit."""
    bare = b"".join(line(number, upstream_latency_ms=ABSENT) for number in range(20))
    assert "no_header_time" in live(bare).hints
    assert "no_header_time" not in live(bare[: -len(line(19, upstream_latency_ms=ABSENT))]).hints
    assert events(line(0) + line(1, upstream_latency_ms=ABSENT))[1].hints == {}


@pytest.mark.parametrize(
    ("statuses", "seconds", "said"),
    [
        ([502] * 200, 600.0, True),
        ([502] * 199, 600.0, False),
        ([502] * 200, 599.0, False),
        ([502] * 199 + [499], 600.0, False),
        ([499] + [502] * 300, 900.0, False),
    ],
)
def test_level_filter_live(statuses: list[int], seconds: float, said: bool) -> None:
    """Two hundred records over ten minutes with nothing below 500 are the work of a filter."""
    last = len(statuses) - 1
    data = b"".join(line(ts=BASE + seconds * number / last, status=status) for number, status in enumerate(statuses))
    assert said == ("level_filter" in live(data).hints)


@pytest.mark.parametrize(("records", "said"), [(9, False), (10, True)])
def test_level_filter_in_history(records: int, said: bool) -> None:
    """In a finished file ten are enough to warn."""
    assert said == ("level_filter" in events(b"".join(line(number, status=502) for number in range(records)))[1].hints)


def thinned(rate: int, first: int, dice: random.Random) -> list[float]:
    """Make the times of traffic that a sampler thinned to the first few of each second."""
    kept = []
    for second in range(120):
        times = sorted(dice.random() for _ in range(rate))
        kept += [BASE + second + at for at in times[:first]]
    return kept


def of_times(times: list[float]) -> Tally:
    """Read lines of these times."""
    return events(b"".join(line(ts=at) for at in times))[1]


def test_sampling() -> None:
    """A ceiling that most seconds reach and none exceeds, early in the second, is a sampler's."""
    assert "sampling" in of_times(thinned(100, 10, random.Random(1))).hints


@pytest.mark.parametrize(
    "times",
    [
        [BASE + number / 10 for number in range(1200)],
        sorted(BASE + random.Random(number).random() * 120 for number in range(1200)),
        [BASE + second + 0.001 * number for second in range(20) for number in range(10)],
    ],
    ids=["constant rate", "random", "few seconds"],
)
def test_no_sampling(times: list[float]) -> None:
    """Traffic of a constant rate, natural traffic and a short log are not taken for sampled ones."""
    assert "sampling" not in of_times(times).hints


@pytest.mark.parametrize(
    ("durations", "read", "hints"),
    [
        ([0.5, 3], [0.5, 3.0], []),
        ([3, 0.5], [0.003, 0.5], []),
        ([12, 250_000], [0.012, 250.0], ["unit_assumed"]),
        ([5_000_000, 20_000_000], [0.005, 0.02], ["unit_assumed"]),
        ([5_000_000, 250], [0.005, 0.25], ["unit_assumed"]),
        ([50_000, 60_000], [None, None], ["unit_unknown"]),
    ],
)
def test_units_of_whole_durations(durations: list[float], read: list[float | None], hints: list[str]) -> None:
    """The unit of whole numbers is told by what can't be otherwise; what can't be told is left out, and said."""
    found, tally = events(b"".join(line(n, duration=value, upstream_latency_ms=None) for n, value in enumerate(durations)))
    assert read == pytest.approx([getattr(one, "duration", None) for one in found])
    assert hints == [code for code in tally.hints if code.startswith("unit")]


def test_header_time_tells_the_unit() -> None:
    """A duration is at least as long as its header took: that tells ms from ns at once."""
    assert attempt(line(duration=50_000, upstream_latency_ms=49_000.5)).duration == 50.0
    assert attempt(line(duration=50_000, upstream_latency_ms=0.04)).duration == pytest.approx(5e-5)
    assert attempt(line(duration=30, upstream_latency_ms=29_000.5)).duration == 30.0


def test_named_unit() -> None:
    """A unit that the operator names is not second-guessed."""
    rules = LogRules(fields={"request_time": FieldRule("duration", "ms")})
    assert attempt(line(duration=90_000), rules).duration == 90.0


def test_connections_do_not_tell_the_unit() -> None:
    """The lifetime of an upgraded connection says nothing about the unit."""
    found, tally = events(line(0, status=101, duration=7_200_000, upstream_latency_ms=1.2) + line(1, duration=25))
    assert [getattr(one, "duration", None) for one in found] == [None, 0.025]
    assert "unit_unknown" not in tally.hints


def test_delay_by_a_buffer() -> None:
    """Case 38: lines that were written while we watched and come late were buffered; old lines at the start were not."""
    tally = Tally()
    reader = CaddyReader(LogRules(), 0, "a", tally)
    reader.feed(line(ts=BASE - 900), 0, BASE)
    assert tally.hints == {}
    reader.feed(line(ts=BASE + 10), 1000, BASE + 70)
    assert tally.hints == {}
    reader.feed(line(ts=BASE + 11), 2000, BASE + 1111)
    assert "1100 s" in tally.hints["delayed"]


def test_every_hint_is_one_sentence_with_a_remedy() -> None:
    """No hint is empty or several lines long, and figures fit in."""
    figures: dict[str, dict[str, object]] = {
        "unit_assumed": {"unit": "ms"},
        "retries": {"count": 3},
        "no_records": {"lines": 20},
    }
    for code in HINTS:
        text = hint(code, **figures.get(code, {}))
        assert "\n" not in text
        assert "{unit}" not in text
        assert len(text) > 40
