"""The log that the tests of `top` look at."""

from __future__ import annotations

import time

import orjson

NODES = [f"10.0.0.{number}:11434" for number in range(1, 5)]


def line(ago: float, upstream: str, header: float | None = 0.3, **fields: object) -> bytes:
    """Write an access line that ended so many seconds ago; without a header time the client gave up after 100 s."""
    record = {
        "level": "info",
        "ts": time.time() - ago,
        "logger": "http.log.access.log0",
        "msg": "handled request",
        "request": {
            "remote_ip": "192.0.2.1", "remote_port": "4711", "client_ip": "192.0.2.1", "proto": "HTTP/1.1", "method": "POST",
            "host": "chat.example.test", "uri": "/api/chat", "headers": {},
        },
        "bytes_read": 10,
        "duration": 100.0 if header is None else header,
        "size": 10,
        "status": 499 if header is None else 200,
        "resp_headers": {},
        "upstream": upstream,
        "upstream_latency_ms": None if header is None else header * 1000,
        "retries": 0,
    }  # fmt: skip
    return orjson.dumps(record | fields, option=orjson.OPT_APPEND_NEWLINE)


def minute() -> bytes:
    """Write the last minute of four upstreams, of which the second answers nobody any more."""
    headers = [None if index % 4 == 1 and index > 60 else 0.3 for index in range(110)]
    return b"".join(line(60 - index / 2, NODES[index % 4], header) for index, header in enumerate(headers))
