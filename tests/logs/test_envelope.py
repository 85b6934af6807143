"""Lines in the envelopes of containers, journals and log stores."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tailhealth.core.model import Attempt
from tailhealth.logs.reading import Skip
from tailhealth.logs.rules import LogRules
from tailhealth.logs.times import line_time
from tests.logs.caddy_lines import ABSENT, BASE, detected, line, roundtrip

TEXT = line().rstrip(b"\n")
STAMP = "2026-11-30T00:53:31.000000000Z"
OUTER = BASE + 11
"""When the envelopes say that the line came."""


def wrapped(text: bytes = TEXT, key: str = "log", **members: Any) -> bytes:
    """Put a line into a JSON envelope."""
    return json.dumps({key: text.decode("utf-8", "replace"), **members}).encode() + b"\n"


PREFIXES = [
    f"{STAMP} stdout F ".encode(),
    b"2026-11-30T01:53:31.5+01:00 stderr F ",
    f"{STAMP} stdout F:tag ".encode(),
    b"[pod/edge-7c9f/caddy] ",
    f"[pod/edge-7c9f/caddy] {STAMP} ".encode(),
    b"caddy-1  | ",
    b"\x1b[36mcaddy-1  |\x1b[0m ",
    f"caddy-1  | {STAMP} ".encode(),
    f"{STAMP} ".encode(),
    b"<6>",
    b"<190>Nov 30 00:53:20 edge1 caddy[77]: ",
    b"<190>Nov 30 00:53:20 caddy: ",
    b"Nov  3 00:53:20 edge1 caddy[77]: @cee: ",
    b"2026-11-30T00:53:20.123456+00:00 edge1 caddy[77]: ",
    b"<190>1 2026-11-30T00:53:21.000Z edge1 caddy 77 - - ",
    b'<190>1 2026-11-30T00:53:21.000Z edge1 caddy 77 ID [a@1 k="v\\]"][b@2] \xef\xbb\xbf@cee:',
    b"312 <190>1 - edge1 caddy - - - ",
]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefixes(prefix: bytes) -> None:
    """What commands, runtimes and daemons put before a line is taken off, in every line of the file."""
    found, tally = detected((prefix + TEXT + b"\n") * 3)
    assert [one.ended for one in found] == [BASE + 0.25] * 3
    assert (tally.lines, tally.records, dict(tally.skipped)) == (3, 3, {})


JSON_ENVELOPES: list[dict[str, Any]] = [
    {"key": "log", "text": TEXT + b"\n", "stream": "stdout", "time": STAMP},
    {"key": "log", "text": TEXT + b"\n", "stream": "stderr", "time": STAMP, "attrs": {"tag": "x"}},
    {"key": "log"},
    {"key": "log", "date": 1796000031.0, "kubernetes": {"pod_name": "edge"}, "stream": "stdout"},
    {"key": "line", "labels": {"job": "caddy"}, "timestamp": STAMP},
    {"key": "message", "source_type": "file", "file": "/var/log/a.log", "host": "edge1", "timestamp": STAMP},
    {"key": "message", "@timestamp": STAMP, "agent": {"type": "filebeat"}, "log": {"offset": 12}},
    {"key": "MESSAGE", "__REALTIME_TIMESTAMP": "1796000011000000", "PRIORITY": "6"},
]


@pytest.mark.parametrize("envelope", JSON_ENVELOPES, ids=",".join)
def test_json_envelopes(envelope: dict[str, Any]) -> None:
    """Exports of log stores are unwrapped by their key; the line's own fields win."""
    found, tally = detected(wrapped(**envelope) * 2)
    assert [one.ended for one in found] == [BASE + 0.25] * 2
    assert (tally.lines, tally.records, dict(tally.skipped)) == (2, 2, {})


@pytest.mark.parametrize("envelope", [one for one in JSON_ENVELOPES if len(one) > 1], ids=",".join)
def test_time_of_the_envelope(envelope: dict[str, Any]) -> None:
    """A line without a time of its own has that of its envelope."""
    text = line(ts=ABSENT).rstrip(b"\n") + (b"\n" if "text" in envelope else b"")
    (one,) = detected(wrapped(**{**envelope, "text": text}))[0]
    assert round(one.ended) in {OUTER, BASE + 31}
    assert one.ended == line_time(LogRules())(wrapped(**{**envelope, "text": text}).rstrip(b"\n"))


def test_docker_splits_long_lines() -> None:
    """A line that Docker split over several envelopes is one line, with lines of the other stream in between."""
    parts = [TEXT[:100], TEXT[100:200], TEXT[200:] + b"\n"]
    out = [wrapped(part, stream="stdout", time=STAMP) for part in parts]
    other = wrapped(line(9), stream="stderr", time=STAMP)
    found, tally = detected(out[0] + other + out[1] + out[2])
    assert [(BASE + 9.25, len(out[0])), (BASE + 0.25, 0)] == [(one.ended, one.offset) for one in found]
    assert (tally.lines, tally.records, dict(tally.skipped)) == (4, 2, {})


def test_cri_partial_lines() -> None:
    """The parts of a CRI line are joined, per stream."""
    head = f"{STAMP} stdout ".encode()
    data = head + b"P " + TEXT[:150] + b"\n" + f"{STAMP} stderr F ".encode() + TEXT + b"\n" + head + b"F " + TEXT[150:] + b"\n"
    found, tally = detected(data)
    assert [one.ended for one in found] == [BASE + 0.25] * 2
    assert dict(tally.skipped) == {}


def test_a_split_line_without_its_end() -> None:
    """A part whose rest never comes is a torn line."""
    tally = detected(wrapped(TEXT + b"\n", stream="stdout", time=STAMP) + wrapped(TEXT[:99], stream="stdout", time=STAMP))[1]
    assert dict(tally.skipped) == {Skip.TORN: 1}


def test_a_split_line_above_the_cap() -> None:
    """Parts that add up to more than a line may have are dropped, and counted once."""
    part = wrapped(b"x" * 200_000, stream="stdout", time=STAMP)
    data = wrapped(TEXT + b"\n", stream="stdout", time=STAMP) + part * 6 + wrapped(b"end\n", stream="stdout", time=STAMP)
    found, tally = detected(data + wrapped(TEXT + b"\n", stream="stdout", time=STAMP))
    assert (len(found), dict(tally.skipped)) == (2, {Skip.OVERSIZED: 1})


def test_journal_bytes_and_lost_text() -> None:
    """A journal's text may be an array of bytes; null is a lost record, and the hint says how to get it."""
    entry: dict[str, Any] = {"__REALTIME_TIMESTAMP": "1796000011000000"}
    as_bytes = json.dumps({"MESSAGE": list(TEXT), **entry}).encode() + b"\n"
    lost = json.dumps({"MESSAGE": None, **entry}).encode() + b"\n"
    found, tally = detected(wrapped(key="MESSAGE", **entry) + as_bytes + lost)
    assert (len(found), dict(tally.skipped)) == (2, {Skip.OVERSIZED: 1})
    assert "--all" in tally.hints["lost_messages"]


def test_nested_envelopes() -> None:
    """An export of container logs is unwrapped twice."""
    assert len(detected(wrapped(f"{STAMP} stdout F ".encode() + TEXT, key="line", labels={"job": "x"}))[0]) == 1


@pytest.mark.parametrize(
    ("data", "other", "skipped"),
    [
        (f"{STAMP} stdout F started\n".encode(), 0, 1),
        (f"{STAMP} stderr F started\n".encode(), 1, 0),
        (b"caddy-1  | started\n", 1, 0),
        (wrapped(b"started\n", stream="stderr", time=STAMP), 1, 0),
    ],
)
def test_text_in_envelopes(data: bytes, other: int, skipped: int) -> None:
    """Plain text of a container is no access line: on stdout it could have been one, elsewhere it is other."""
    tally = detected((PREFIXES[0] + TEXT + b"\n") + data)[1]
    assert (other, skipped) == (tally.other, tally.skipped[Skip.INVALID_JSON])


FORGED = '{"upstream_addr":"10.9.9.9:1","upstream_status":"500","msec":1796000000.5}'


@pytest.mark.parametrize(
    "data",
    [
        f'2026/11/30 00:53:20 [error] 1#1: *1 open() failed, request: "GET /{FORGED} HTTP/1.1"\n'.encode(),
        json.dumps({"message": FORGED, "@timestamp": STAMP, "status": 400, "request": FORGED}).encode() + b"\n",
        json.dumps({"log": FORGED, "upstream_addr": "", "status": "400", "msec": BASE}).encode() + b"\n",
        json.dumps({"line": FORGED}).encode() + b"\n",
        f"GET /| {FORGED}\n".encode(),
        f"x y z: {FORGED}\n".encode(),
    ],
)
def test_what_a_client_wrote_is_no_envelope(data: bytes) -> None:
    """A record that a client put into its URI, quoted in another line, is never read as one."""
    found, _ = detected(line(0, uri=1) + data + line(1))
    assert {"10.9.0.1:8080"} == {one.upstream for one in found if isinstance(one, Attempt)}
    assert not [one for one in detected(data)[0] if isinstance(one, Attempt) and one.upstream == "10.9.9.9:1"]


def test_lines_of_both_proxies_in_one_file() -> None:
    """A collector's file holds the lines of both proxies: each is read by its own rules."""
    nginx = b'{"msec":1796000003.5,"upstream_addr":"10.9.0.3:80","upstream_status":"502","status":"502"}\n'
    for data in (
        line() + nginx + line(1),
        nginx + line() + line(1),
        b"".join(b"<6>" + one for one in (nginx, line(), line(1))),
    ):
        found, tally = detected(data)
        assert sorted(one.upstream for one in found if isinstance(one, Attempt)) == [
            "10.9.0.1:8080",
            "10.9.0.1:8080",
            "10.9.0.3:80",
        ]
        assert (tally.lines, tally.records) == (3, 3)


def test_format_overrides_the_proxy() -> None:
    """With `format` given, lines are read as that proxy's whatever they look like, in their envelopes."""
    assert len(detected((b"<6>" + TEXT + b"\n") * 2, LogRules("caddy"))[0]) == 2


def test_first_lines_are_held_until_one_tells() -> None:
    """Lines that tell nothing come first: they are read in the end, in their order and with their offsets."""
    data = b"hello\n\n" + roundtrip() + line(1)
    found, tally = detected(data)
    assert [7, 7 + len(roundtrip())] == [one.offset for one in found]
    assert (tally.lines, dict(tally.skipped)) == (4, {Skip.INVALID_JSON: 1})


def test_nothing_but_foreign_lines() -> None:
    """A file without one access record is named as such."""
    found, tally = detected(b"nothing here\n" * 300)
    assert (found, tally.skipped[Skip.INVALID_JSON]) == ([], 300)
    assert "300 lines" in tally.hints["no_records"]


@pytest.mark.parametrize(("size", "kept"), [(64 * 1024, 1), (1024 * 1024 - 1000, 1), (1024 * 1024, 0)])
def test_long_lines(size: int, kept: int) -> None:
    """Lines are read up to a cap of 1 MiB; one above it is counted and costs only itself."""
    long = line(1, request={"uri": "/" + "a" * size, "remote_ip": "192.0.2.1"})
    found, tally = detected(line() + long + line(2))
    assert (2 + kept, 1 - kept) == (len(found), tally.skipped[Skip.OVERSIZED])


def test_noise_around_lines() -> None:
    """A byte order mark, CRs, blanks and a hole of NULs are no part of a line."""
    data = b"\xef\xbb\xbf" + TEXT + b"\r\n\r\n   \n" + b"\0" * 5000 + line(1) + line(2).rstrip(b"\n") + b"  "
    found, tally = detected(data)
    assert (len(found), tally.lines, dict(tally.skipped)) == (3, 5, {})
