"""What Caddy counts by itself: requests in flight, the process, and the upstreams that its own checks hold down."""

from __future__ import annotations

import re

import msgspec

from tailhealth.core.address import canonical

PROCESS = re.compile(rb"^process_start_time_seconds (\S+)", re.MULTILINE)
HEALTHY = re.compile(rb'^caddy_reverse_proxy_upstreams_healthy\{upstream="((?:[^"\\]|\\.)*)"\} (\S+)', re.MULTILINE)
ESCAPED = re.compile(r"\\(.)")


class Counter(msgspec.Struct, frozen=True):
    """One element of `GET /reverse_proxy/upstreams`."""

    address: str
    num_requests: int


def in_flight(body: bytes) -> dict[str, int]:
    """Read requests in flight per canonical address; addresses that are none (placeholders) are left out.

    A unix socket appears in two spellings of one counter: the greater count holds. `tcp/h:p` and `h:p` are two counters of one
    server: they are added (DESIGN section 3).

    Raises:
        ValueError: The body is not what Caddy writes there.
    """
    counts: dict[str, int] = {}
    for counter in msgspec.json.decode(body, type=list[Counter]):
        try:
            address = canonical(counter.address)
        except ValueError:
            continue
        before = counts.get(address, 0)
        counts[address] = max(before, counter.num_requests) if address.startswith("unix/") else before + counter.num_requests
    return counts


def process(metrics: bytes) -> str:
    """Read the identity of the process: when it started, as the metrics write it; `""` if they do not say."""
    found = PROCESS.search(metrics)
    return found[1].decode("ascii", "replace") if found else ""


def held_down(metrics: bytes) -> frozenset[str]:
    """Read which upstreams Caddy's own checks hold down; Caddy brings this up to date every 10 s."""
    down = set()
    for label, value in HEALTHY.findall(metrics):
        if float(value) == 0:
            try:
                down.add(canonical(ESCAPED.sub(r"\1", label.decode("utf-8", "replace"))))
            except ValueError:
                continue
    return frozenset(down)
