"""The loop for logs at DEBUG: which lines it takes, and which it leaves to a closer look."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from tailhealth.core.bulk import Bulk
from tailhealth.core.model import Aborted, Attempt
from tailhealth.core.order import one_by_one
from tailhealth.logs.caddy import CHECKED_LINES, CaddyReader
from tailhealth.logs.caddy_roundtrips import QUIET
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import LogRules
from tests.logs.caddy_lines import ABSENT, BASE, NOT_APPENDED, encoded, line, request, roundtrip

PROXY = {"level": "debug", "logger": "http.handlers.reverse_proxy"}
WARM = 10
"""So many requests, and the reader knows all about the file."""


def debug(first: int, stop: int, **fields: Any) -> bytes:
    """Write the lines of requests at DEBUG: the upstream is selected, answers, and the request ends."""
    selected = {**PROXY, "msg": "selected upstream", "dial": "10.9.0.1:8080", "total_upstreams": 2}
    return b"".join(
        chain.from_iterable(
            (encoded({**selected, "ts": BASE + number}), roundtrip(number), line(number, **fields))
            for number in range(first, stop)
        )
    )


def never(*_: object) -> None:
    """Stand in for what must not be called."""
    raise AssertionError("a plain line was read on its own")


FAILURES: list[dict[str, Any]] = [
    {"status": ABSENT, "error": "dial tcp 10.9.0.1:8080: connect: connection refused"},
    {"status": ABSENT, "error": "context canceled"},
    {"status": 500},
    {"status": 503},
]


@pytest.mark.parametrize("fields", [{}, NOT_APPENDED, {"upstream": None, "upstream_latency_ms": None, "retries": None}])
@pytest.mark.parametrize("now", [None, BASE + 60])
def test_the_loop_takes_plain_lines(fields: dict[str, Any], now: float | None) -> None:
    """Answers, failures, and what stands beside them go through the loop, and are what single lines tell."""
    head = debug(0, WARM, **fields)
    last = line(50, status=502, upstream_latency_ms=None)
    failed = b"".join(roundtrip(50, **failure) for failure in FAILURES)
    rest = debug(WARM, 50, **fields) + failed + last + line(50, retries=1) + debug(51, 60, **fields)
    tally, singles = Tally(), Tally()
    reader, other = CaddyReader(LogRules(), 0, "a", tally), CaddyReader(LogRules(), 0, "a", singles)
    events = reader.feed(head, 0, now)
    reader._record = reader._line = never  # type: ignore[method-assign, assignment]  # they must not be called
    events += reader.feed(rest, len(head), now)
    single, offset = list[object](), 0
    for each in (head + rest).splitlines(keepends=True):
        single += one_by_one(other.read_line(each, offset, now))
        offset += len(each)

    assert single == events
    assert singles == tally


LOOKED_AT: list[bytes] = [
    roundtrip(20).rstrip(b"}\n") + b',"status":500}\n',
    roundtrip(20, status=503, headers={"Retry-After": ["5"]}),
    roundtrip(20, logger="admin.api"),
    roundtrip(20, request=request(20, remote_ip="", client_ip="", remote_addr="192.0.2.7:99")),
    roundtrip(20, upstream="{dial}"),
    line(20, **{**NOT_APPENDED, "upstream_addr": "10.9.0.2:8080"}),
    line(20, **{**NOT_APPENDED, "duration": 0}),
    line(20, **{**NOT_APPENDED, "logger": "http.log.access.log1"}),
    line(20, status=503, resp_headers={"Retry-After": ["5"]}),
    line(20, retries="one"),
    line(20, grpc_status="14"),
    line(20, upstream_status=503),
    line(20, upstream_latency_ms=-1.5),
    encoded({**PROXY, "ts": BASE + 20, "message": "upstream roundtrip", "upstream": "10.9.0.2:8080"}),
    encoded(
        {**PROXY, "ts": BASE + 20, "msg": "aborting with incomplete response", "upstream": "10.9.0.1:8080", "error": "EOF"}
    ),
]


@pytest.mark.parametrize("looked_at", LOOKED_AT)
def test_what_is_not_plain_is_looked_at(looked_at: bytes) -> None:
    """A line that the loop can't be sure of is read on its own, also far into the file, where keys are searched no more."""
    size = CHECKED_LINES // 3 + 1
    head, tail = debug(0, size), debug(size, size + 2)
    tally, careful_tally = Tally(), Tally()
    reader, careful = CaddyReader(LogRules(), 0, "a", tally), CaddyReader(LogRules(), 0, "a", careful_tally)
    careful._careful_only = True
    events = reader.feed(head, 0)
    events += reader.feed(looked_at + tail, len(head))

    assert careful.feed(head + looked_at + tail, 0) == events
    assert careful_tally == tally


def test_null_shows_that_there_is_a_field_for_upstreams() -> None:
    """Once some access line had it, one without it and without a duration was aborted."""
    head = debug(0, WARM, **NOT_APPENDED)
    reader = CaddyReader(LogRules(), 0, "a", Tally())
    reader.feed(head, 0)
    absent = line(30, **{**NOT_APPENDED, "duration": 0})

    assert reader.feed(absent, len(head)) == []
    (aborted,) = reader.feed(line(31, upstream=None, upstream_latency_ms=None, retries=None) + absent, len(head) + len(absent))
    assert isinstance(aborted, Aborted)


@pytest.mark.parametrize(
    "looked_at",
    [
        line(30, **{**NOT_APPENDED, "retries": 1}),
        line(30, **{**NOT_APPENDED, "grpc_status": "0"}),
        line(30, **{**NOT_APPENDED, "status": 500}),
        line(30, **{**NOT_APPENDED, "resp_headers": {"Content-Type": ["text/event-stream"]}}),
        line(31) + line(30, **NOT_APPENDED),
    ],
)
def test_what_is_not_plain_of_an_older_caddy(looked_at: bytes) -> None:
    """An access line whose upstream a round-trip line names has a closer look too, where it says more than plain ones do."""
    data = debug(0, WARM, **NOT_APPENDED) + roundtrip(30) + looked_at
    tally, careful_tally = Tally(), Tally()
    reader, careful = CaddyReader(LogRules(), 0, "a", tally), CaddyReader(LogRules(), 0, "a", careful_tally)
    careful._careful_only = True

    assert careful.feed(data, 0) == reader.feed(data, 0)
    assert careful_tally == tally


AT_THE_END = [
    roundtrip(WARM, ts=BASE + 250),
    roundtrip(WARM, ts=BASE + 250, status=500),
    line(WARM, ts=BASE + 250),
    line(WARM, ts=BASE + 250, status=502, upstream_latency_ms=None),
    line(WARM, ts=BASE + 250, retries=1),
    line(WARM, ts=BASE + 250, upstream=None, upstream_latency_ms=None),
]


@pytest.mark.parametrize("last", AT_THE_END)
def test_every_line_of_a_request_moves_time(last: bytes) -> None:
    """What comes 250 s after it does not lie in the future, though it does of the lines before it."""
    tally = Tally()
    reader = CaddyReader(LogRules(), 0, "a", tally)
    head = debug(0, WARM) + last
    reader.feed(head, 0)

    assert len(reader.feed(roundtrip(WARM, ts=BASE + 500), len(head))) == 1
    assert reader.held is None


def test_access_lines_alone_are_summed_up_again() -> None:
    """When DEBUG is switched off, access lines go back into bulks; the first round-trip line takes them out of them."""
    reader = CaddyReader(LogRules(), 0, "a", Tally())
    offset, kinds = 0, list[list[type]]()
    for block in (
        debug(0, WARM),
        b"".join(line(number) for number in range(WARM, WARM + QUIET)),
        b"".join(line(number) for number in range(100, 110)),
        debug(110, 120),
        line(120),
    ):
        kinds.append([type(entry) for entry in reader.read(block, offset)])
        offset += len(block)

    assert kinds[1:] == [[Attempt] * QUIET, [Bulk], [Attempt] * 20, [Attempt]]
