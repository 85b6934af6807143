"""Whatever stands in an nginx log: no exception, and the split into blocks changes nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailhealth.core.bulk import Bulk
from tailhealth.core.model import Attempt, End, Origin
from tailhealth.logs.nginx import NginxReader
from tailhealth.logs.nginx_shape import Shape
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import LogRules
from tests.logs.nginx_lines import BASE, line, mapping, read

if TYPE_CHECKING:
    from tailhealth.logs.reading import Event

FUZZ = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "50")), suppress_health_check=[HealthCheck.too_slow])
"""`FUZZ_EXAMPLES=50000 pytest tests/logs/test_nginx_fuzz.py` looks longer."""

CASES = Path(__file__).parent.parent / "cases"
REAL = sorted({one for path in CASES.glob("*nginx*.jsonl") for one in path.read_bytes().split(b"\n")[:4]})
PIECES = (
    b'"',
    b"\\",
    b"{",
    b"}",
    b"\n",
    b",",
    b":",
    b"-",
    b" : ",
    b", ",
    b"\x00",
    b"\xff",
    b"9" * 400,
    b'{"a":',
    b"\\u",
    b"[",
    b"NaN",
)

values = st.sampled_from(
    [
        *("-", "", "200", "502", "502, 200", "0.1", "0.1 : 0.2", "1e999", "x", None, 7, -1, True, [1], {"a": 1}),
        *(" 0.1", ".5", "1e2", "200.0", "+1", "-1", "-0", "007", "000", "1_0", "nan", "inf", 499, 0.1),
    ]
)
addresses = st.sampled_from(["10.9.0.1:80", "10.9.0.1:80, 10.9.0.1:80", "[::1]:9 : pool", "unix:/a, b", " : ", "-", "a : : b"])
made = st.builds(
    lambda address, at, **others: line(upstream_addr=address, msec=f"{BASE + at}", **others),
    addresses,
    st.integers(0, 400),
    status=values,
    upstream_status=values,
    upstream_header_time=values,
    upstream_response_time=values,
    request_time=values,
    host=values,
    request_uri=values,
)
told = st.builds(
    lambda at, code, **others: line(msec=f"{BASE + at}", status=code, upstream_status=code, **others),
    st.integers(0, 9),
    st.sampled_from(["200", "200", "200", "404", "500", "499", "101"]),
    sent_http_content_type=st.sampled_from(["text/html", "text/event-stream"]),
    upstream_trailer_grpc_status=st.sampled_from(["", "-", "", "0", "14"]),
    upstream_http_retry_after=st.sampled_from(["", "", "-", "5"]),
)
plain = st.integers(0, 9).map(lambda at: line(msec=f"{BASE + at}"))


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A real line with pieces put in or taken out."""
    text = draw(st.sampled_from(REAL))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + draw(st.integers(0, 12)) :]
    return text + b"\n"


files = st.lists(st.one_of(made, told, plain, plain, mutated(), st.binary(max_size=40)), max_size=60).map(b"".join)


def split_read(data: bytes, cuts: list[int]) -> tuple[list[Event], Tally]:
    """Read a file in blocks that end at the line ends nearest to `cuts`."""
    tally = Tally()
    reader = NginxReader(LogRules(), 3, "access.log", tally)
    events: list[Event] = []
    start = 0
    for cut in sorted(cuts):
        end = data.rfind(b"\n", start, cut) + 1
        if end > start:
            events += reader.feed(data[start:end], start)
            start = end
    return events + reader.feed(data[start:], start) + reader.finish(), tally


@FUZZ
@given(files, st.lists(st.integers(0, 20_000), max_size=6))
def test_any_split_gives_the_same(data: bytes, cuts: list[int]) -> None:
    """Events and counts are those of the file, however its lines come in blocks."""
    assert split_read(data, cuts) == read(data)


@FUZZ
@given(files, st.sampled_from([None, BASE + 5, BASE + 100_000]))
def test_fast_is_careful(data: bytes, now: float | None) -> None:
    """The decoder and the loops for plain lines tell what reading each line with care tells, in history and live."""
    with patch.object(Shape, "rows", return_value=None):
        careful = read(data, now=now)

    assert read(data, now=now) == careful


@FUZZ
@given(files, st.sampled_from([None, BASE + 5]))
def test_bulks_hold_what_they_say(data: bytes, now: float | None) -> None:
    """What a bulk tells of its attempts is true of each, and all in it were answered and have nothing else to be judged by."""
    entries = NginxReader(LogRules(), 3, "access.log", Tally()).read(data, 0, now)
    for bulk in (entry for entry in entries if isinstance(entry, Bulk)):
        attempts = bulk.attempts()
        assert len(attempts) == bulk.count
        for upstream, share in bulk.shares.items():
            own = [one for one in attempts if one.upstream == upstream]
            assert share.ends == sorted(one.ended for one in own)
            assert share.header == max(one.header or 0.0 for one in own)
            assert share.duration >= max(one.duration or 0.0 for one in own)
            assert share.ends[0] - share.duration <= min(one.started for one in own)
        for one in attempts:
            assert (one.end, one.origin, one.file, one.grpc_status, one.retry_after) == (
                End.ANSWERED,
                Origin.ACCESS,
                3,
                None,
                False,
            )
            assert one.status in bulk.statuses
            assert 200 <= (one.status or 0) < 499
            assert one.header is not None


@FUZZ
@given(st.lists(st.integers(0, 9), min_size=1, max_size=80), mutated(), st.integers(0, 80))
def test_one_bad_line_costs_only_itself(times: list[int], odd: bytes, place: int) -> None:
    """All plain lines around a mutated one are read, unless that one is the beginning of a record over several lines."""
    lines = [line(msec=f"{BASE + at}") for at in times]
    events, tally = read(b"".join([*lines[:place], odd, *lines[place:]]))
    found = [event.ended for event in events]

    assert tally.skipped["torn"] or all(found.count(BASE + at) >= times.count(at) for at in times)


@FUZZ
@given(st.binary(max_size=2000))
def test_random_bytes(data: bytes) -> None:
    """Random bytes are counted, line by line, and never an exception."""
    _, tally = read(data, mapping(upstream="a", time="b.c"))

    assert tally.lines == data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


@FUZZ
@given(files)
def test_events_are_sound(data: bytes) -> None:
    """Every attempt can be ordered, judged and written: finite times, an end after the start, text that UTF-8 spells."""
    for event in read(data)[0]:
        assert isinstance(event, Attempt)
        assert 0.0 <= event.started <= event.ended < 1e11
        assert event.header is None or 0.0 <= event.header < 1e9
        assert event.upstream
        (event.uri + event.host + event.method + event.client).encode()
