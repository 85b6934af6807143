"""What `status` says beneath the picture."""

from __future__ import annotations

from tailhealth.core.quiet import TooQuiet
from tailhealth.service.conditions import Condition, Kind
from tailhealth.views.status import hints, stalled_off, too_little_traffic, troubles
from tests.views.build import T0, UTC_ZONE, pool


def test_troubles() -> None:
    """Each with its pool, if it is about one, and since when; a proxy's own words are made harmless."""
    found = [
        Condition(Kind.ADMIN_UNREACHABLE, "connection refused\x1b[2J", T0),
        Condition(Kind.GENERATOR, "others rewrite it", T0 + 5, "chat"),
    ]
    assert troubles(found, UTC_ZONE) == [
        "connection refused\\x1b[2J (since 2026-11-29 10:00:00)",
        "chat: others rewrite it (since 2026-11-29 10:00:05)",
    ]


def test_too_little_traffic() -> None:
    """What is missing where, and the line to write into the configuration; or that no line would help."""
    helped = TooQuiet("chat", ("a:1", "b:1"), 4, 600.0, 5400.0)
    (line,) = too_little_traffic([helped])
    assert line == (
        "chat: too little traffic to judge by ratio: fewer than 4 requests counted within 10 min at a:1, b:1; "
        'window.within = "1h30m" would do'
    )
    written = [too_little_traffic([TooQuiet("p", (), 4, 1.0, one)])[0] for one in (60.0, 3600.0, 86_400.0)]
    assert [line.partition('"')[2].partition('"')[0] for line in written] == ["1m", "1h", "24h"]
    assert "no `within` up to a day would help" in too_little_traffic([TooQuiet("p", ("a:1",), 4, 600.0, None)])[0]


def test_stalled_off() -> None:
    """Only where it is off, with the reason."""
    assert stalled_off([pool(), pool(name="chat", stalled_off="stalled_after is off")]) == [
        "chat: hung requests are found only when they end: stalled_after is off"
    ]


def test_hints() -> None:
    """All of them, each with its log."""
    given = [("a.log", {"x": "no header time", "y": "unit assumed"}), ("b.log", {})]
    assert list(hints(given)) == ["a.log: no header time", "a.log: unit assumed"]
