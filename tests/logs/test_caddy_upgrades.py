"""The lines of an upgraded connection, as a real Caddy 2.11.7 writes them at DEBUG."""

from __future__ import annotations

from tailhealth.logs.detect import open_reader
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import LogRules
from tests.logs.caddy_lines import line, roundtrip

CLOSED = (
    b'{"level":"debug","ts":1795984305.4468453,"logger":"http.handlers.reverse_proxy","msg":"connection closed",'
    b'"upstream":"127.0.0.1:44947","duration":0.001600291,"request":{"remote_ip":"127.0.0.1","remote_port":"33786",'
    b'"method":"GET","host":"chat.example.test","uri":"/ws"},"duration":0.000417572}\n'
)


def test_two_durations_of_caddy_s_own() -> None:
    """Caddy names the duration twice when an upgraded connection closes: nobody's setup is wrong, and all else is read."""
    tally = Tally()
    reader = open_reader(LogRules(), 0, "access.log", tally)
    data = b"".join(CLOSED + roundtrip(number) + line(number, status=101) for number in range(20))
    events = [*reader.feed(data, 0), *reader.finish()]

    assert "duplicate_keys" not in tally.hints
    assert (len(events), tally.records, dict(tally.skipped)) == (40, 20, {})
