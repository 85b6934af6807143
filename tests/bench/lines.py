"""Access lines as the proxies write them, for benches: about 1.1 KB each, many of them, always the same."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

START = 1_796_000_000.0
UPSTREAMS = tuple(f"10.0.0.{number}:11434" for number in range(1, 5))

_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
_CADDY = (
    '{{"level":"{level}","ts":{ts:.7f},"logger":"http.log.access.log0","msg":"handled request","request":{{'
    '"remote_ip":"203.0.113.{client}","remote_port":"{port}","client_ip":"203.0.113.{client}","proto":"HTTP/2.0",'
    '"method":"POST","host":"llm.example.com","uri":"/api/chat?session={n:08x}","headers":{{"User-Agent":["' + _AGENT + '"],'
    '"Accept":["application/json, text/plain, */*"],"Accept-Encoding":["gzip, deflate, br, zstd"],'
    '"Accept-Language":["en-GB,en;q=0.9,de;q=0.8"],"Content-Type":["application/json"],"Content-Length":["742"],'
    '"Sec-Fetch-Site":["same-origin"],"Sec-Fetch-Mode":["cors"],"Sec-Fetch-Dest":["empty"],"Cookie":["REDACTED"],'
    '"Referer":["https://llm.example.com/chat"]}},"tls":{{"resumed":false,"version":772,"cipher_suite":4865,'
    '"proto":"h2","server_name":"llm.example.com","ech":false}}}},"bytes_read":742,"user_id":"","duration":{duration:.9f},'
    '"size":{size},"status":{status},"resp_headers":{{"Server":["uvicorn"],"Via":["1.1 Caddy"],'
    '"Alt-Svc":["h3=\\":443\\"; ma=2592000"],"Date":["Mon, 30 Nov 2026 00:53:20 GMT"],'
    '"Content-Type":["application/json"]}},"upstream":"{upstream}","upstream_latency_ms":{latency:.6f},"retries":0}}\n'
)
_ROUNDTRIP = (
    '{{"level":"debug","ts":{ts:.7f},"logger":"http.handlers.reverse_proxy","msg":"upstream roundtrip",'
    '"upstream":"{upstream}","duration":{header:.9f},"request":{{"remote_ip":"203.0.113.{client}","remote_port":"{port}",'
    '"client_ip":"203.0.113.{client}","proto":"HTTP/2.0","method":"POST","host":"llm.example.com",'
    '"uri":"/api/chat?session={n:08x}","headers":{{"User-Agent":["' + _AGENT + '"],"Content-Type":["application/json"],'
    '"X-Forwarded-For":["203.0.113.{client}"],"X-Forwarded-Proto":["https"],"X-Forwarded-Host":["llm.example.com"],'
    '"Accept":["application/json, text/plain, */*"],"Accept-Encoding":["gzip, deflate, br, zstd"],"Via":["2.0 Caddy"],'
    '"Cookie":["REDACTED"],"Referer":["https://llm.example.com/chat"]}},"tls":{{"resumed":false,"version":772,'
    '"cipher_suite":4865,"proto":"h2","server_name":"llm.example.com","ech":false}}}},"headers":{{"Server":["uvicorn"],'
    '"Date":["Mon, 30 Nov 2026 00:53:20 GMT"],"Content-Type":["application/json"]}},"status":{status}}}\n'
)
_NGINX = (
    '{{"msec":"{ts:.3f}","remote_addr":"203.0.113.{client}","remote_port":"{port}","request_method":"POST",'
    '"host":"llm.example.com","request_uri":"/api/chat?session={n:08x}","status":"{status}","request_time":"{whole:.3f}",'
    '"request_length":"742","upstream_addr":"{upstream}","upstream_status":"{status}","upstream_connect_time":"0.001",'
    '"upstream_header_time":"{header:.3f}","upstream_response_time":"{whole:.3f}","upstream_http_retry_after":"",'
    '"upstream_trailer_grpc_status":"","sent_http_content_type":"application/json"}}\n'
)


def nginx_lines(count: int, *, failing: float = 0.0, rate: float = 100.0) -> Iterator[str]:
    """Write access lines of nginx in the recommended format; see `caddy_lines`."""
    return _lines(_NGINX, count, failing, rate)


def roundtrip_lines(count: int, *, failing: float = 0.0, rate: float = 100.0) -> Iterator[str]:
    """Write lines of Caddy, every second one a round-trip line whose request ends with the next; see `caddy_lines`."""
    access = caddy_lines(count // 2, failing=failing, rate=rate)
    for before, after in zip(_lines(_ROUNDTRIP, count // 2, failing, rate), access, strict=True):
        yield before
        yield after


def _lines(text: str, count: int, failing: float, rate: float) -> Iterator[str]:
    dice = random.Random(10)
    for n in range(count):
        header = dice.lognormvariate(-1.0, 0.5)
        yield text.format(
            ts=START + n / rate,
            client=n % 250,
            port=20_000 + n % 40_000,
            n=n,
            header=header,
            whole=header * 1.4,
            status=500 if dice.random() < failing else 200,
            upstream=UPSTREAMS[n % len(UPSTREAMS)],
        )


def caddy_lines(
    count: int, *, failing: float = 0.0, rate: float = 100.0, upstreams: tuple[str, ...] = UPSTREAMS
) -> Iterator[str]:
    """Write access lines of Caddy 2.11 with the recommended fields.

    Args:
        count: How many.
        failing: Share of them that the upstream answered with 500.
        rate: Lines per second of their own time.
        upstreams: Served in turn.
    """
    dice = random.Random(10)
    for n in range(count):
        header = dice.lognormvariate(-1.0, 0.5)
        bad = dice.random() < failing
        yield _CADDY.format(
            level="error" if bad else "info",
            ts=START + n / rate,
            client=n % 250,
            port=20_000 + n % 40_000,
            n=n,
            duration=header * 1.4,
            size=400 + n % 3000,
            status=500 if bad else 200,
            upstream=upstreams[n % len(upstreams)],
            latency=header * 1000,
        )


def write(path: Path, lines: Iterator[str]) -> Path:
    """Write lines to a file."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    return path
