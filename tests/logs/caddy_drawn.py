"""Caddy logs drawn at random: mostly good lines, with all kinds of others among them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.logs.caddy_lines import ABSENT, BASE, NOT_APPENDED, encoded, line, request, roundtrip

ODD: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"status": 499, "upstream_latency_ms": None, "duration": 31.5},
        {"status": 502, "upstream_latency_ms": None},
        {"status": 503, "resp_headers": {"Retry-After": ["5"]}},
        {"status": 101, "duration": 3600.5},
        {"upstream": None, "upstream_latency_ms": None, "retries": None},
        {"upstream": ABSENT, "upstream_latency_ms": ABSENT, "retries": ABSENT, "duration": 0},
        {"upstream_latency_ms": ABSENT},
        {"upstream_latency_ms": -1.5},
        {"upstream": "{http.reverse_proxy.upstream.hostport}"},
        {"upstream": "tcp/10.9.0.2:8080"},
        {"retries": 2},
        {"retries": 1, "upstream_duration_ms": 20.5},
        {"retries": "1"},
        {"upstream_status": 200},
        {"upstream_status": 503, "status": 200},
        {"upstream_duration_ms": 20.5},
        {"grpc_status": "14"},
        {"duration": 3},
        {"duration": "21ms"},
        {"duration": None},
        {"status": "ok"},
        {"ts": "2026-11-30T00:53:20.5Z"},
        {"ts": BASE + 9000},
        {"ts": ABSENT},
        {"msg": "NOP"},
        {"logger": "http.log.access"},
        {"logger": "admin.api"},
        {"bytes_read": "HIDDEN"},
        {"request": request(client_ip="", remote_ip="", remote_addr="192.0.2.7:99")},
        {"request": None},
    ]
)
RAW = st.sampled_from(
    [
        b"\n",
        b"  \r\n",
        b"plain text\n",
        b"{}\n",
        b"[1]\n",
        b'{"level":"info","ts":17\n',
        line(0)[:300] + b"\n",
        line(1).rstrip(b"\n") + line(2),
        line(3).rstrip(b"}\n") + b',"duration":99.5}\n',
        roundtrip(3, status=500).rstrip(b"}\n") + b',"status":200}\n',
        line(4).rstrip(b"\n") + b"\r\n",
        line(5).replace(b"/r/5", b"/\xff\xfe"),
        b'{"upstream_addr":"10.9.0.1:80","upstream_status":"200","msec":1796000000.5}\n',
    ]
)


@st.composite
def lines(draw: st.DrawFn) -> list[bytes]:
    """Draw the lines of a file: mostly good ones, with all kinds of others among them."""
    count = draw(st.integers(1, 40))
    made: list[bytes] = []
    for number in range(count):
        kind = draw(st.integers(0, 9))
        if kind < 6:
            made.append(line(number))
        elif kind < 8:
            made.append(line(number, **draw(ODD)))
        elif kind == 8:
            failed: dict[str, Any] = {"status": ABSENT, "error": "EOF"}
            made.append(roundtrip(number, **(failed if draw(st.booleans()) else {})))
        else:
            made.append(draw(RAW))
    return made


ERRORS = st.sampled_from(["EOF", "dial tcp 10.9.0.1:8080: connect: connection refused", "context canceled", "i/o timeout", ""])
ROUNDTRIPS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"status": 404},
        {"status": 500},
        {"status": 503},
        {"status": 503, "headers": {"Retry-After": ["5"]}},
        {"status": 101},
        {"status": "200"},
        {"status": ABSENT},
        {"status": 200, "error": "EOF"},
        {"status": "x", "error": "EOF"},
        {"duration": 0},
        {"duration": "18ms"},
        {"duration": -1.5},
        {"duration": 1e16},
        {"duration": ABSENT},
        {"upstream": "tcp/10.9.0.1:8080"},
        {"upstream": "{dial}"},
        {"upstream": "10.9.0.2:8080"},
        {"upstream": ABSENT},
        {"ts": BASE + 9000},
        {"ts": "2026-11-30T00:53:20.5Z"},
        {"logger": "http.handlers.reverse_proxy.x"},
        {"logger": "admin.api"},
        {"logger": ABSENT},
        {"request": request(remote_ip="", client_ip="", remote_addr="192.0.2.7:99")},
        {"request": None},
        {"upstream_addr": "10.9.0.3:8080"},
    ]
)
BESIDE: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"logger": "http.handlers.reverse_proxy", "msg": "selected upstream", "dial": "10.9.0.1:8080", "total_upstreams": 3},
        {"logger": "http.handlers.reverse_proxy", "msg": "aborting with incomplete response", "duration": 0.0184,
         "upstream": "10.9.0.1:8080", "request": request(0), "error": "unexpected EOF"},
        {"logger": "events", "msg": "event", "name": "tls_get_certificate", "ts": BASE + 9000},
        {"logger": "tls", "msg": "storage cleaned", "storage": {"time": 5}},
        {"logger": "tls", "message": "storage cleaned"},
        {"logger": "http.handlers.reverse_proxy", "message": "upstream roundtrip", "upstream": "10.9.0.1:8080",
         "duration": 0.0184, "request": request(0), "status": 200},
        {"logger": "http.log.access.log1", "msg": "handled request", "request": request(0), "duration": 0.0215, "status": 200},
        {"msg": "shutdown complete", "signal": "SIGTERM"},
    ]
)  # fmt: skip
NAMELESS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"upstream": None, "upstream_latency_ms": None, "retries": None},
        NOT_APPENDED,
        {**NOT_APPENDED, "duration": 0},
        {**NOT_APPENDED, "duration": 0, "status": 0},
        {**NOT_APPENDED, "status": 500},
        {**NOT_APPENDED, "resp_headers": {"Content-Type": ["text/event-stream"]}},
        {**NOT_APPENDED, "retries": 1},
        {**NOT_APPENDED, "grpc_status": "0"},
        {"upstream": None, "upstream_latency_ms": None, "status": 503},
        {"upstream": ABSENT, "upstream_addr": "10.9.0.2:8080"},
        {"upstream": ""},
    ]
)


@st.composite
def debug_lines(draw: st.DrawFn) -> list[bytes]:
    """Draw the lines of a log at DEBUG: requests with their tries, which may fail, and all that stands beside them.

    Where the operator appended nothing, no access line names its upstream.
    """
    appended, often = draw(st.booleans()), st.integers(0, draw(st.sampled_from([2, 9, 40])))
    made = [line(0), roundtrip(1), line(1)] if appended else [roundtrip(0)]
    nameless = NAMELESS if appended else st.just(NOT_APPENDED)
    for number in range(2, draw(st.integers(3, 30))):
        if draw(often):
            made.append(roundtrip(number, **(draw(ROUNDTRIPS) if draw(often) == 0 else {})))
        if draw(often) == 0:
            made.append(encoded({"level": "debug", "ts": BASE + number, **draw(BESIDE)}))
        if draw(often) == 0:
            made.append(roundtrip(number, status=ABSENT, error=draw(ERRORS)))
        if draw(often) == 0:
            made.append(draw(RAW))
        if not appended or draw(often) == 0:
            made.append(line(number, **draw(NAMELESS if draw(often) == 0 else nameless)))
        else:
            made.append(line(number, **(draw(ODD) if draw(often) == 0 else {})))
    return made
