"""Caddy lines that are odd: broken, quoted, mapped, without a time, or from the future."""

from __future__ import annotations

from typing import Any

import pytest

from tailhealth.logs.reading import Skip
from tailhealth.logs.rules import FieldRule, LogRules
from tests.logs.caddy_lines import ABSENT, BASE, attempt, encoded, events, line, request


def test_key_name_in_a_value_is_no_repeated_key() -> None:
    """A client that sends the text of a key changes nothing."""
    found, tally = events(line(request=request(uri='/"status":500,"duration":9', headers={"status": ["x"], "ts": ["1"]})))
    assert (len(found), tally.hints) == (1, {})


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "ok"}, Skip.BAD_VALUE),
        ({"status": None}, Skip.BAD_VALUE),
        ({"upstream_latency_ms": "HIDDEN"}, Skip.BAD_VALUE),
        ({"ts": "soon"}, Skip.BAD_VALUE),
        ({"duration": -1.5}, Skip.BAD_VALUE),
        ({"duration": [1]}, Skip.BAD_VALUE),
    ],
)
def test_unusable_values(fields: dict[str, Any], reason: Skip) -> None:
    """A value that is needed and can't be read makes the line a skip with its reason, never an answer."""
    found, tally = events(line(**fields))
    assert ([], {reason: 1}) == (found, dict(tally.skipped))
    assert reason in tally.examples


def test_a_bad_line_costs_only_itself() -> None:
    """Lines around a broken one are read, wherever it stands in the block."""
    found, tally = events(line(0) + b'{"level":"info","ts":179600\n' + line(1) + b"plain text\n" + line(2))
    assert (len(found), tally.lines, dict(tally.skipped)) == (3, 5, {Skip.TORN: 1, Skip.INVALID_JSON: 1})


def test_torn_and_glued_lines() -> None:
    """A torn beginning costs only itself where a whole record follows it in the same line; glued records are two."""
    torn = line(0)[:200] + line(1)
    found, tally = events(torn + line(2).rstrip(b"\n") + line(3))
    assert [one.ended for one in found] == [BASE + 1.25, BASE + 2.25, BASE + 3.25]
    assert [200, len(torn), len(torn + line(2)) - 1] == [one.offset for one in found]
    assert dict(tally.skipped) == {Skip.TORN: 1}


def test_a_record_quoted_in_text_is_text() -> None:
    """A line that only quotes a record is no record, whatever a client put in its URI."""
    found, tally = events(b'2026/11/30 00:53:20 [error] 1#1: request: "GET /' + line(0).rstrip() + b'"\n')
    assert (found, dict(tally.skipped)) == ([], {Skip.INVALID_JSON: 1})


def test_mapped_fields() -> None:
    """What the operator maps is read from there, nested, renamed and in its unit."""
    rules = LogRules(
        fields={
            "status": FieldRule("code"),
            "request_time": FieldRule("took", "ms"),
            "upstream": FieldRule("lb.node"),
            "header_time": FieldRule("lb.ttfb", "us"),
            "client": FieldRule("request.remote_ip"),
            "path": FieldRule("route"),
        }
    )
    data = encoded(
        {
            "ts": BASE,
            "logger": "http.log.access",
            "msg": "handled request",
            "request": request(client_ip="198.51.100.1"),
            "code": 201,
            "took": 35,
            "lb": {"node": "10.9.0.3:80", "ttfb": 12_000},
            "route": "/api",
        }
    )
    one = attempt(data, rules)
    assert (one.upstream, one.status, one.duration) == ("10.9.0.3:80", 201, 0.035)
    assert one.header == pytest.approx(0.012)
    assert (one.client, one.uri, one.method) == ("192.0.2.10", "/api", "GET")


def test_console_line() -> None:
    """The console encoder's line is read; a message with tabs in it can't make a record of itself."""
    fields = line().decode().partition('"request"')[2]
    plain = "2026/11/30 00:53:20.250\t\x1b[34mINFO\x1b[0m\thttp.log.access.log0\thandled request\t" + '{"request"' + fields
    found, tally = events(plain.encode())
    assert (found[0].ended, *tally.hints) == (BASE + 0.25, "console_format")
    forged = (
        "2026/11/30 00:53:20.250\tERROR\thttp.log.error\tx\thttp.log.access.log0\thandled request\t" + '{"request"' + fields
    )
    assert (events(forged.encode())[0], dict(events(forged.encode())[1].skipped)) == ([], {Skip.INVALID_JSON: 1})


def test_wall_time_in_the_operators_zone() -> None:
    """A wall time is in the zone that the operator names."""
    assert attempt(line(ts="2026/11/30 01:53:20.250"), LogRules(zone="Europe/Paris")).ended == BASE + 0.25


def test_no_time_at_all() -> None:
    """Without times there is nothing to replay; live, the time of arrival serves. Both say so."""
    found, tally = events(line(ts=ABSENT))
    assert (found, tally.records, list(tally.hints)) == ([], 1, ["no_time"])
    found, tally = events(line(ts=ABSENT), now=BASE + 9)
    assert ([one.ended for one in found], list(tally.hints)) == ([BASE + 9], ["arrival_time"])
    assert dict(events(line() + line(ts=ABSENT))[1].skipped) == {Skip.NO_TIME: 1}


@pytest.mark.parametrize(("ahead", "skipped"), [(300.0, 0), (300.1, 1)])
def test_future_live(ahead: float, skipped: int) -> None:
    """Live, a time more than five minutes after the clock is skipped."""
    tally = events(line(ts=BASE + ahead), now=BASE)[1]
    assert skipped == tally.skipped[Skip.FUTURE]


@pytest.mark.parametrize(
    ("times", "kept"),
    [
        ((0, 300, 1), (0, 300, 1)),
        ((0, 301, 0), (0, 0)),
        ((0, 301, 1), (0, 301, 1)),
        ((0, 400, 500), (0, 400, 500)),
        ((0, 400), (0, 400)),
        ((400, 0, 1), (0, 1)),
        ((0, 9000, 9000, 1), (0, 9000, 9000, 1)),
    ],
)
def test_future_in_history(times: tuple[int, ...], kept: tuple[int, ...]) -> None:
    """In history, a time more than five minutes after both its neighbours is skipped, and moves nothing for the others."""
    if times[0] == 400:
        # The first line has no line before it: nothing speaks against it.
        kept = times
    found, tally = events(b"".join(line(ts=BASE + at) for at in times))
    assert [BASE + at for at in kept] == [one.ended for one in found]
    assert len(times) - len(kept) == tally.skipped[Skip.FUTURE]
    assert len(kept) == tally.records


def test_upstreams_without_end() -> None:
    """An upstream per request (a placeholder in the dial address) needs no memory per request."""
    data = b"".join(line(number, upstream=f"tenant-{number}.example:80") for number in range(5000))
    assert len(events(data)[0]) == 5000
