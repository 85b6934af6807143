"""Plain lines of nginx are summed up (DESIGN section 3, fast path)."""

from __future__ import annotations

from typing import Any

import pytest

from tailhealth.core.bulk import Bulk
from tailhealth.core.model import Attempt
from tailhealth.core.order import Entry, one_by_one
from tailhealth.logs.nginx import NginxReader
from tailhealth.logs.nginx_plain import FEW
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import LogRules
from tests.logs.nginx_lines import BASE, line, mapping

TOLD = {"sent_http_content_type": "text/html", "upstream_trailer_grpc_status": "", "upstream_http_retry_after": ""}


def good(number: int, **values: Any) -> bytes:
    """Write a good line, a tenth of a second after the one before."""
    return line(msec=f"{BASE + number / 10:.3f}", **{**TOLD, **values})


def entries(lines: list[bytes], rules: LogRules | None = None, now: float | None = None) -> list[Entry]:
    """Read the lines in one block, after one that teaches their shape and the upstream."""
    reader = NginxReader(rules or LogRules(), 3, "access.log", Tally())
    first, rest = lines[0], b"".join(lines[1:])
    assert len(reader.read(first, 0, now)) == 1
    return reader.read(rest, len(first), now)


def only_bulk(found: list[Entry]) -> Bulk:
    """Return the one bulk that all was summed up in."""
    (bulk,) = found
    assert isinstance(bulk, Bulk)
    return bulk


def test_a_bulk_tells_the_longest_times_and_all_statuses() -> None:
    """The longest header time; the longest time that a try or its request took; the statuses; and when each ended."""
    bulk = only_bulk(
        entries(
            [
                good(0),
                good(3, upstream_header_time="0.250", status="404", upstream_status="404"),
                good(1, upstream_response_time="0.700"),
                good(2, request_time="2.500"),
            ]
        )
    )
    share = bulk.shares["10.9.0.1:8080"]

    assert (share.header, share.duration, bulk.statuses, bulk.count, bulk.file) == (0.25, 2.5, frozenset({200, 404}), 3, 3)
    assert share.ends == [BASE + 0.1, BASE + 0.2, BASE + 0.3]
    assert [(one.ended, one.started) for one in bulk.attempts()] == [
        (BASE + 0.3, BASE + 0.3 - 0.3),
        (BASE + 0.1, BASE + 0.1 - 0.7),
        (BASE + 0.2, BASE + 0.2 - 2.5),
    ]


@pytest.mark.parametrize(
    "values",
    [
        {"status": "499"},
        {"status": "500", "upstream_status": "500"},
        {"status": "499", "upstream_status": "499"},
        {"status": "101", "upstream_status": "101"},
        {"upstream_header_time": "-", "upstream_status": "502", "status": "502"},
        {"upstream_trailer_grpc_status": "0"},
        {"upstream_http_retry_after": "5"},
        {"upstream_addr": "10.9.0.1:8080, 10.9.0.2:8080", "upstream_status": "502, 200", "upstream_header_time": "-, 0.1"},
    ],
)
def test_what_stands_by_itself(values: dict[str, str]) -> None:
    """A client that left, a failure, an upgrade, a gRPC status, a Retry-After and a second try are no part of a bulk."""
    first, *odd, last = entries([*map(good, range(4)), good(4, **values), *(good(number) for number in range(5, 9 + FEW))])

    assert isinstance(first, Bulk)
    assert isinstance(last, Bulk)
    assert (first.count, first.count + len(odd) + last.count) == (3, 8 + FEW + ("," in values.get("upstream_addr", "")))
    assert all(isinstance(one, Attempt) for one in odd)


@pytest.mark.parametrize(
    "values",
    [
        {"status": "200", "upstream_status": "498"},
        {"status": "500"},
        {"status": "-"},
        {"sent_http_content_type": "text/event-stream"},
        {"upstream_trailer_grpc_status": "-", "upstream_http_retry_after": "-"},
        {"host": "-", "request_uri": "", "remote_addr": "unix:"},
        {"upstream_response_time": "0", "request_time": "0.000"},
    ],
)
def test_what_a_bulk_holds(values: dict[str, str]) -> None:
    """Any status of an answer, whatever the client got, and any stream."""
    bulk = only_bulk(entries([*map(good, range(4)), good(4, **values), good(5)]))

    assert bulk.count == 5
    assert (
        bulk.attempts()[2:] == one_by_one(entries([good(0), *map(good, range(1, 3)), good(3), good(4, **values), good(5)]))[2:]
    )


def test_after_a_failure_few_are_not_summed_up() -> None:
    """A bulk of two or three would cost more than they do: so many good ones must stand together first."""
    failed = {"status": "500", "upstream_status": "500"}
    lines = [good(number, **(failed if number in {1, 1 + FEW} else {})) for number in range(3 + 3 * FEW)]
    *singles, bulk = entries(lines)

    assert len(singles) == 2 + 2 * FEW - 1
    assert isinstance(bulk, Bulk)
    assert bulk.count == 1 + FEW


def test_two_spellings_of_an_upstream_share() -> None:
    """A bulk knows an upstream by its canonical address, and its attempts too."""
    reader = NginxReader(LogRules(), 0, "access.log", Tally())
    spelled = ["[::1]:9000", "[0:0::1]:9000"]
    lines = [good(number, upstream_addr=spelled[number % 2]) for number in range(6)]
    reader.read(b"".join(lines[:2]), 0)
    bulk = only_bulk(reader.read(b"".join(lines[2:]), 1000))

    assert list(bulk.shares) == ["[::1]:9000"]
    assert [one.upstream for one in bulk.attempts()] == ["[::1]:9000"] * 4


def test_attempts_are_made_of_what_was_known_then() -> None:
    """A bulk's attempts can be made when its reader has forgotten the spellings of addresses."""
    reader = NginxReader(LogRules(), 0, "access.log", Tally())
    reader.read(good(0), 0)
    bulk = only_bulk(reader.read(good(1) + good(2), 1000))
    reader._attempts._lists.lone.clear()

    assert [one.upstream for one in bulk.attempts()] == ["10.9.0.1:8080"] * 2
    assert [one.offset for one in bulk.attempts()] == [1000, 1000 + len(good(1))]


@pytest.mark.parametrize("time", ["time_iso8601", "time_local"])
def test_lines_with_dates_are_summed_up(time: str) -> None:
    """A date with its year needs no other line to be read."""
    value = {"time_iso8601": "2026-11-30T00:53:20+00:00", "time_local": "30/Nov/2026:00:53:20 +0000"}[time]
    bulk = only_bulk(entries([line(without=["msec"], **{time: value})] * 4))

    assert bulk.ends == [BASE] * 3


def test_a_date_without_its_year_is_read_by_the_line_before() -> None:
    """It depends on another line, so it is no part of a bulk."""
    lines = [good(0, at="Dec 31 23:59:59"), good(1, at="Dec 31 23:59:59"), good(2, at="Jan  1 00:00:00")]
    found = entries(lines, mapping(time="at"), now=BASE + 32 * 86_400)

    assert [one.ended for one in found if isinstance(one, Attempt)] == [1798761599.0, 1798761600.0]


def test_lists_in_one_line_leave_the_others_plain() -> None:
    """Where one line of a block has lists, only that one is read on its own."""
    lists = {"upstream_addr": "10.9.0.2:80, 10.9.0.1:80", "upstream_status": "502, 200", "upstream_header_time": "-, 0.1"}
    found = entries([good(number, **(lists if number == 50 else {})) for number in range(101)])

    assert [one.count if isinstance(one, Bulk) else 1 for one in found] == [49, 1, 1, 50]


def test_numbers_without_quotes_are_summed_up() -> None:
    """Whether a number is written as text makes no difference."""
    numbers = {"status": 200, "upstream_status": 200, "request_time": 0.3, "upstream_header_time": 0.1}
    numbered = only_bulk(entries([good(number, **numbers, upstream_response_time=0.3) for number in range(9)]))
    texts = only_bulk(entries([good(number) for number in range(9)]))

    assert [one.started for one in numbered.attempts()] == [one.started for one in texts.attempts()]
    assert (numbered.shares["10.9.0.1:8080"].header, numbered.statuses) == (0.1, frozenset({200}))
