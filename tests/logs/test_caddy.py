"""What single Caddy lines tell of an upstream."""

from __future__ import annotations

from typing import Any

import pytest

from tailhealth.core.model import Aborted, Attempt, End, Origin
from tests.logs.caddy_lines import ABSENT, BASE, aborted, attempt, events, line, request, roundtrip


def test_good_answer() -> None:
    """A plain line is one answered attempt with its header time, and dated by its start."""
    assert attempt(line()) == Attempt(
        ended=BASE + 0.25,
        upstream="10.9.0.1:8080",
        end=End.ANSWERED,
        started=BASE + 0.25 - 0.0215,
        status=200,
        header=0.0184,
        header_came=True,
        duration=0.0215,
        method="GET",
        host="shop.example.test",
        uri="/r/0?token=secret",
        client="192.0.2.10",
        client_port="40000",
        body_bytes=12,
    )


@pytest.mark.parametrize(
    ("status", "end"),
    [
        (0, End.ABANDONED),
        (499, End.ABANDONED),
        (498, End.ANSWERED),
        (500, End.ANSWERED),
        (502, End.REFUSED),
        (503, End.ANSWERED),
        (504, End.TIMED_OUT),
        (200, End.ANSWERED),
    ],
)
def test_null_header_time(status: int, end: End) -> None:
    """A header time that is present and null proves that no header came, whatever the client got."""
    one = attempt(line(status=status, upstream_latency_ms=None))
    assert (end, False, None, None, 0.0215) == (one.end, one.header_came, one.status, one.header, one.duration)


@pytest.mark.parametrize(
    ("status", "end", "told"),
    [
        (0, End.ABANDONED, None),
        (499, End.ABANDONED, None),
        (502, End.ANSWERED, 502),
        (504, End.ANSWERED, 504),
        (200, End.ANSWERED, 200),
    ],
)
def test_absent_header_time(status: int, end: End, told: int | None) -> None:
    """A key that is not there proves nothing: the client's status judges, and a hint says so."""
    found, tally = events(line(status=status, upstream_latency_ms=ABSENT))
    (one,) = found
    assert isinstance(one, Attempt)
    assert (end, None, told, None) == (one.end, one.header_came, one.status, one.header)
    assert "no_header_time" in tally.hints


@pytest.mark.parametrize(
    ("fields", "end", "status", "came"),
    [
        ({"status": 200, "upstream_status": 502}, End.ANSWERED, 502, True),
        ({"status": 200, "upstream_status": None, "upstream_latency_ms": None}, End.ANSWERED, None, False),
        ({"status": 502, "upstream_status": None, "upstream_latency_ms": ABSENT}, End.REFUSED, None, False),
        ({"status": 502, "upstream_status": 502, "upstream_latency_ms": ABSENT}, End.ANSWERED, 502, True),
        ({"status": 499}, End.CUT, None, True),
        ({"status": 499, "upstream_status": 200}, End.CUT, 200, True),
        ({"status": 0, "upstream_status": 101}, End.ABANDONED, None, True),
    ],
)
def test_upstream_status(fields: dict[str, Any], end: End, status: int | None, came: bool | None) -> None:
    """The upstream's own status goes before the client's; null is as good a proof as a null header time."""
    one = attempt(line(**fields))
    assert (end, status, came) == (one.end, one.status, one.header_came)


def test_retries() -> None:
    """After a retry the whole duration is not this upstream's; only its own is."""
    alone, with_own = attempt(line(retries=1, duration=9.0)), attempt(line(retries=1, duration=9.0, upstream_duration_ms=21.0))
    assert (alone.duration, alone.started) == (None, BASE + 0.25 - 9.0)
    assert pytest.approx((with_own.duration, with_own.own_duration)) == (0.021, 0.021)
    assert "2 requests" in events(line(retries=1) + line(1, retries="2"))[1].hints["retries"]
    assert "retries" not in events(line(retries=0) + line(1, retries=None))[1].hints


def test_own_duration_is_no_total() -> None:
    """The whole duration is the client's; the upstream's own stands beside it."""
    one = attempt(line(duration=42.0, upstream_duration_ms=80.0))
    assert one.duration == 42.0
    assert one.own_duration == pytest.approx(0.08)


@pytest.mark.parametrize(("fields", "stream"), [({"upstream_latency_ms": ABSENT}, True), ({}, False)])
def test_event_stream(fields: dict[str, Any], stream: bool) -> None:
    """An event stream is marked where no header time makes that needless; a client's `Accept` marks nothing."""
    headers = {"Content-Type": ["text/event-stream; charset=utf-8"]}
    assert stream == attempt(line(resp_headers=headers, duration=900.0, **fields)).stream
    asked = request(headers={"Accept": ["text/event-stream"]})
    assert not attempt(line(request=asked, upstream_latency_ms=ABSENT)).stream


def test_retry_after() -> None:
    """`Retry-After` counts in the response only: a client could send one too."""
    assert attempt(line(status=503, resp_headers={"Retry-After": ["5"]})).retry_after
    assert not attempt(line(status=503, request=request(headers={"Retry-After": ["5"]}))).retry_after


def test_grpc_status() -> None:
    """A logged gRPC status is kept, as number or text; null is none."""
    assert [attempt(line(grpc_status=value)).grpc_status for value in (14, "14", None)] == [14, 14, None]


@pytest.mark.parametrize(
    ("given", "client", "port"),
    [
        ({"client_ip": "198.51.100.7"}, "198.51.100.7", "40000"),
        ({"client_ip": ""}, "192.0.2.10", "40000"),
        ({"remote_ip": "", "client_ip": "", "remote_port": "", "remote_addr": "192.0.2.9:1234"}, "192.0.2.9", "1234"),
        ({"remote_ip": "", "client_ip": "", "remote_port": "", "remote_addr": "[2001:db8::1]:1234"}, "2001:db8::1", "1234"),
    ],
)
def test_client(given: dict[str, Any], client: str, port: str) -> None:
    """The client's address is found in every version's spelling."""
    one = attempt(line(request=request(**given)))
    assert (client, port) == (one.client, one.client_port)


@pytest.mark.parametrize(
    ("error", "end"),
    [
        ("dial tcp 10.9.0.1:8080: connect: connection refused", End.REFUSED),
        ("dial tcp 10.9.0.1:8080: i/o timeout", End.REFUSED),
        ("EOF", End.REFUSED),
        ("read tcp 10.0.0.5:3->10.9.0.1:8080: read: connection reset by peer", End.REFUSED),
        ("net/http: timeout awaiting response headers", End.TIMED_OUT),
        ("context deadline exceeded", End.TIMED_OUT),
        ("context canceled", End.ABANDONED),
        ("net/http: HTTP/1.x transport connection broken: malformed HTTP response", End.ANSWERED),
    ],
)
def test_failed_roundtrip(error: str, end: End) -> None:
    """The error of a round trip tells whether the connection broke, the proxy or the client gave up, or no answer came."""
    one = attempt(roundtrip(status=ABSENT, headers=ABSENT, error=error, duration=0.5))
    assert (end, False, None, None, 0.5) == (one.end, one.header_came, one.status, one.header, one.duration)
    assert Origin.ROUNDTRIP is one.origin


def test_answered_roundtrip() -> None:
    """A round trip ends at its header; how long the body takes is not known yet."""
    one = attempt(roundtrip(status=503, headers={"Retry-After": ["1"]}))
    assert (one.status, one.header, one.header_came, one.duration, one.retry_after) == (503, 0.0184, True, None, True)
    assert one.started == pytest.approx(BASE + 0.2 - 0.0184)


@pytest.mark.parametrize(("error", "end"), [("unexpected EOF", End.TRUNCATED), ("context canceled", End.CUT)])
def test_broken_body(error: str, end: End) -> None:
    """A body that broke off is the upstream's fault unless the client left."""
    one = attempt(roundtrip(level="warn", msg="aborting with incomplete response", status=ABSENT, error=error))
    assert (end, Origin.BROKEN_BODY, True, None) == (one.end, one.origin, one.header_came, one.status)


def test_own_field_under_another_name_beside_round_trips() -> None:
    """The operator's name of the upstream field does not hide the `upstream` of Caddy's own lines."""
    found, _ = events(line(upstream=ABSENT, upstream_addr="10.9.0.2:8080") + roundtrip(1) + roundtrip(2))
    assert [one.upstream for one in found if isinstance(one, Attempt)] == ["10.9.0.2:8080", "10.9.0.1:8080", "10.9.0.1:8080"]


def test_aborted_handler() -> None:
    """A line without the appended fields and with duration 0 is an aborted request once the file is known to have them."""
    cut = line(1, upstream=ABSENT, upstream_latency_ms=ABSENT, retries=ABSENT, duration=0)
    found, tally = events(line() + cut)
    assert [Attempt, Aborted] == [type(one) for one in found]
    assert (tally.aborted, tally.unattributed) == (1, 1)
    assert not events(cut)[1].aborted
    assert not events(line() + cut.replace(b'"duration":0,', b'"duration":0.001,'))[1].aborted


def test_panic() -> None:
    """Status 0 with duration 0 and no appended fields is a panic, in any file."""
    one = aborted(line(upstream=ABSENT, upstream_latency_ms=ABSENT, retries=ABSENT, duration=0, status=0))
    assert (one.status, one.client, one.client_port, one.uri) == (0, "192.0.2.10", "40000", "/r/0?token=secret")


@pytest.mark.parametrize(("status", "pool_events"), [(503, 1), (502, 0), (200, 0)])
def test_null_upstream(status: int, pool_events: int) -> None:
    """A null upstream is no attempt; with 503 it is a fact about the pool."""
    found, tally = events(line(upstream=None, upstream_latency_ms=None, retries=None, status=status))
    assert found == []
    assert (1, 1, pool_events) == (tally.records, tally.unattributed, tally.pool_events)


@pytest.mark.parametrize(
    ("spelled", "hint"),
    [
        ("{http.reverse_proxy.upstream.hostport}", "literal_placeholder"),
        ("10.9.0.1", "host_without_port"),
        ("[2001:db8::1]", "host_without_port"),
        ("app", "host_without_port"),
        ("58281e7f", "hashed_upstream"),
        ("10.9.0.1:8080\x1b[5m", "not_an_address"),
        ("10.9.0.1:99999", "not_an_address"),
    ],
)
def test_no_address(spelled: str, hint: str) -> None:
    """What is no address of one upstream blames nobody, and the hint names the remedy."""
    found, tally = events(line(upstream=spelled))
    assert (found, tally.records, tally.unattributed) == ([], 1, 1)
    assert [hint] == list(tally.hints)


@pytest.mark.parametrize(
    ("first", "repeated"),
    [
        ({"status": 502, "upstream_latency_ms": ABSENT}, b'"status":200'),
        ({"duration": 0.5}, b'"duration":1.25'),
        ({}, b'"ts":1700000000.0'),
    ],
)
def test_repeated_keys(first: dict[str, Any], repeated: bytes) -> None:
    """Of a key of Caddy's own that stands twice, the first counts; of an appended one, the last."""
    data = line(**first).rstrip(b"}\n") + b"," + repeated + b',"upstream":"10.9.0.7:1"}\n'
    found, tally = events(data)
    (one,), (alone,) = found, events(line(**first))[0]
    assert isinstance(one, Attempt)
    assert isinstance(alone, Attempt)
    assert (alone.status, alone.duration, alone.ended) == (one.status, one.duration, one.ended)
    assert one.upstream == "10.9.0.7:1"
    assert "duplicate_keys" in tally.hints
