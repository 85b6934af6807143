"""Access lines of a Caddy that can't append fields: round-trip lines of the same request name their upstream."""

from __future__ import annotations

from typing import Any

from tailhealth.core.engine import Engine
from tailhealth.core.model import Aborted, Attempt, End, Origin
from tailhealth.core.rules import Settings
from tailhealth.logs.caddy_running import RUNNING, Running
from tests.core.harness import attempt
from tests.logs.caddy_lines import ABSENT, BASE, NOT_APPENDED, events, line, roundtrip

OTHER = "10.9.0.2:8080"


def ended(number: int, **fields: Any) -> bytes:
    """Write the access line of an older Caddy."""
    return line(number, **{**NOT_APPENDED, **fields})


def test_an_access_line_is_that_of_its_request() -> None:
    """It has the upstream of the round trip, its own duration, and nothing of a header."""
    read, tally = events(roundtrip(1) + ended(1, duration=4.5))
    _, access = read

    assert isinstance(access, Attempt)
    assert (access.origin, access.upstream, access.end) == (Origin.ACCESS, "10.9.0.1:8080", End.ANSWERED)
    assert (access.duration, access.header, access.header_came) == (4.5, None, None)
    assert (tally.records, tally.unattributed, tally.attempts) == (1, 0, 2)


def test_the_last_try_counts() -> None:
    """The access line of a retried request tells of the upstream that was tried last."""
    failed = roundtrip(1, upstream=OTHER, status=ABSENT, error="EOF")
    read, _ = events(failed + roundtrip(1) + ended(1) + failed + ended(1, status=502))

    assert [one.upstream for one in read if isinstance(one, Attempt)] == [OTHER, *["10.9.0.1:8080"] * 2, OTHER, OTHER]


def test_a_request_without_a_round_trip_names_nobody() -> None:
    """What Caddy answers itself stays without an upstream, also the second request of the same client for the same page."""
    read, tally = events(roundtrip(1) + ended(1) + ended(1) + ended(2))

    assert len(read) == 2
    assert (tally.records, tally.unattributed) == (3, 2)


def test_a_broken_request_is_aborted() -> None:
    """An access line without a duration ends its request, and is no answer."""
    read, tally = events(roundtrip(1) + ended(1, duration=0))
    _, aborted = read

    assert isinstance(aborted, Aborted)
    assert (aborted.client_port, aborted.uri, tally.aborted) == ("40001", "/r/1?token=secret", 1)


def test_a_field_of_its_own_goes_before() -> None:
    """Where access lines have a field for the upstream, one without it names nobody, whatever round-trip lines say."""
    for data in (line(0) + roundtrip(1) + ended(1), roundtrip(1) + line(0) + ended(1)):
        read, tally = events(data)

        assert len(read) == 2
        assert tally.unattributed == 1


def test_requests_end() -> None:
    """In the engine no request is taken for streaming after its end, and none counts twice."""
    read, tally = events(b"".join(roundtrip(number) + ended(number) for number in range(100)))
    engine = Engine(Settings(), discover=True)
    engine.read(read)
    engine.finish()

    assert (engine.attempts, engine.join.duplicates, engine.join.streaming(["10.9.0.1:8080"])) == (100, 100, 0)
    assert (tally.lines, tally.records, tally.unattributed, tally.other) == (200, 100, 0, 100)


def test_memory_is_bounded() -> None:
    """Of too many requests that never end the oldest is forgotten."""
    running = Running()
    for number in range(RUNNING + 1):
        running.begin(attempt("a:1", BASE, client_port=str(number)))

    assert running.end("192.0.2.1", "0", "") is None
    assert running.end("192.0.2.1", "1", "") == "a:1"
    assert running.end("192.0.2.1", "1", "") is None
