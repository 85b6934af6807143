"""nginx lines that are no JSON, no records, forged or torn, and the times that can't be (DESIGN section 3)."""

from __future__ import annotations

import pytest

from tailhealth.core.model import Attempt, End
from tailhealth.logs.nginx import NginxReader
from tailhealth.logs.nginx_text import quoted
from tailhealth.logs.reading import Tally
from tailhealth.logs.rules import LogRules
from tests.logs.nginx_lines import BASE, attempts, line, only, read

BARE = b'{"msec":1796000000.1,"uri":"/n","status":%s,"upstream_addr":"%s","upstream_status":%s,"upstream_response_time":%s}\n'
MULTI = b'{\n  "msec": %d,\n  "status": 200,\n  "upstream_addr": "10.9.0.1:80",\n  "upstream_status": "200"\n}\n'


@pytest.mark.parametrize(
    ("status", "address", "own", "time", "ends"),
    [
        (b"200", b"10.9.0.1:80, 10.9.0.2:80", b"502, 200", b"0.1, 0.2", [End.ANSWERED, End.ANSWERED]),
        (b"499", b"10.9.0.1:80", b"-", b"2.5", [End.ABANDONED]),
        (b"200", b"", b"", b"", []),
        (b"009", b"10.9.0.1:80 : 10.9.0.2:80", b"404 : 200", b"0.1 : 0.2", [End.ANSWERED, End.ANSWERED]),
    ],
)
def test_numbers_without_quotes(status: bytes, address: bytes, own: bytes, time: bytes, ends: list[End]) -> None:
    """Retried, cached and aborted requests are read though their numbers are no JSON: they are the evidence."""
    events, tally = read(BARE % (status, address, own, time))

    assert [event.end for event in events if isinstance(event, Attempt)] == ends
    assert (tally.records, dict(tally.skipped), "unquoted" in tally.hints) == (1, {}, True)


def test_numbers_without_quotes_among_good_lines() -> None:
    """Lines that are JSON are not touched, and need no hint."""
    events, tally = read(BARE % (b"200", b"10.9.0.1:80", b"200", b"0.1"))

    assert (len(events), "unquoted" in tally.hints) == (1, False)


@pytest.mark.parametrize(
    ("bare", "whole"),
    [
        (b'{"a":-,"b":,"c":}', b'{"a":"-","b":"","c":""}'),
        (b'{"a": 1, 2 : 3 , "b": "x" , "c": 5 }', b'{"a":"1, 2 : 3","b": "x" , "c":"5"}'),
        (b'{"a":10.0.0.1:80,"b":009}', b'{"a":"10.0.0.1:80","b":"009"}'),
        (b'{"a":"1","b":[1,2],"c":null,"d":{"e":-}}', b'{"a":"1","b":[1,2],"c":null,"d":{"e":"-"}}'),
        (b'{"a":1,}', b'{"a":"1"}'),
    ],
)
def test_what_is_quoted(bare: bytes, whole: bytes) -> None:
    """Bare numbers, lists, addresses, dashes and gaps get quotes; texts, arrays and words do not."""
    assert quoted(bare) == whole


@pytest.mark.parametrize("filler", [b" ", b", ", b"-", b'"a":', b'\\"', b'"":,', b'"', b"\\x22", b"{", b'{"a":['])
@pytest.mark.timeout(15)  # its share is some 30 ms; in the square of its length it would be more than a minute
def test_long_hostile_lines_are_read_in_linear_time(filler: bytes) -> None:
    """A long line that is almost JSON takes no more than its share: the time limit is the judge."""
    _, tally = read(b'{"a":-' + filler * (300_000 // len(filler)) + b"x}\n" + line())

    assert tally.records + tally.skipped.total() >= 1


def test_trailing_comma() -> None:
    """A comma that the format has too many is no reason to lose the line."""
    assert only(line()[:-2] + b",}\n").status == 200


def test_escape_default() -> None:
    r"""The bytes that `escape=default` writes as `\xHH` come back, and a backslash of JSON's own stays."""
    data = line(request_uri="/@\\t").replace(b"@", rb"\xD0\xB6\x22\x5C\x0A")

    assert only(data).uri == '/ж"\\\n\\t'
    assert list(read(data)[1].hints) == ["escape_default"]


def test_other_escapes_are_left_alone() -> None:
    """An odd escape that nginx does not write stays an error."""
    assert dict(read(line(request_uri="@").replace(b"@", rb"\q"))[1].skipped) == {"invalid_json": 1}


@pytest.mark.parametrize("prefix", [b"escape=json", b"escape=default ", b"escape=none"])
def test_escape_prefix(prefix: bytes) -> None:
    """An nginx that does not know `escape=` prints it before each line."""
    events, tally = read((prefix + line()) * 2)

    assert (len(events), list(tally.hints)) == (2, ["escape"])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"2026/11/30 00:53:20 [error] 7#7: " + line(), "invalid_json"),
        (b"escape=yes" + line(), "invalid_json"),
        (b"} trailing\n", "invalid_json"),
        (line()[:-1] + b"x\n", "invalid_json"),
        (line()[:60] + b"\n", "torn"),
        (b"[" * 5000 + b"\n", "invalid_json"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"\n", "invalid_json"),
        (b'{"status":NaN}\n', "invalid_json"),
    ],
)
def test_unreadable(data: bytes, reason: str) -> None:
    """What can't be read is counted with an example, and costs only itself."""
    events, tally = read(line() + data + line())

    assert len(events) == 2
    assert dict(tally.skipped) == {reason: 1}
    assert data.startswith(tally.examples[reason][:20])


@pytest.mark.parametrize(
    "data",
    [
        b"{}\n",
        b"[1]\n",
        b"7\n",
        b'{"time":1796000000,"msg":"reload"}\n',
        b'{"time":1796000000,"status":"ok"}\n',
        b'{"logger":"http.log.access","ts":1796000000,"status":200,"request":{"uri":"/","proto":"HTTP/1.1"}}\n',
        b'{"ts":1796000000,"status":200,"upstream":"10.9.0.1:80","request":{"uri":"/","proto":"HTTP/1.1"}}\n',
    ],
)
def test_no_records(data: bytes) -> None:
    """Valid lines that are no access records of nginx are counted apart."""
    events, tally = read(line() + data + line())

    assert (len(events), tally.other, tally.records, dict(tally.skipped)) == (2, 1, 2, {})


@pytest.mark.parametrize(
    "forged",
    [
        line()[:-2] + b',"upstream_addr":"10.9.9.9:80"}\n',
        line()[:-2] + b',"upstream\\u005faddr":"10.9.9.9:80"}\n',
        line()[:-2] + b',"upstream_addr":"10.9.9.9:80"\n',
        line(["request_uri"], uri="/")[:-2] + b',"uri":"/"}\n',
        line(upstream={"addr": 1})[:-3] + b',"addr":2}}\n',
        line()[:40] + line(),
    ],
)
def test_a_key_twice_is_ambiguous(forged: bytes) -> None:
    """A known key twice in one line is forged or broken: the line is skipped, wherever it stands in a block."""
    for data in (forged, line() + forged, line() * 40 + forged + line() * 40):
        events, tally = read(data)
        assert len(events) == data.count(line()) - (line() in forged)
        assert dict(tally.skipped) == {"ambiguous": 1}
        assert "escape=json" in tally.hints["ambiguous"]


def test_other_keys_may_stand_twice() -> None:
    """Keys that nobody reads may stand twice, and key-like text inside of values is no key."""
    assert len(attempts(line(x=1)[:-2] + b',"x":2}\n')) == 1
    assert len(attempts(line(http_user_agent='"upstream_addr":"10.9.9.9:80"') * 40)) == 40


def test_a_line_without_a_key_does_not_hide_one_with_it_twice() -> None:
    """The number of keys in a block is not enough to tell: one line may lack what another has twice."""
    twice = line()[:-2] + b',"status":"200"}\n'
    events, tally = read(line() + twice + line(["status"]))

    assert (len(events), dict(tally.skipped)) == (2, {"ambiguous": 1})


def test_records_over_several_lines() -> None:
    """A format over several lines gives records over several lines, at the offset of their first."""
    data = b"".join(MULTI % (BASE + number) for number in range(3))
    events, tally = read(data)

    assert [(event.ended, event.offset) for event in events] == [
        (BASE + number, number * len(data) // 3) for number in range(3)
    ]
    assert (tally.lines, tally.records, dict(tally.skipped), "multi_line" in tally.hints) == (18, 3, {}, True)


def test_torn_record_over_several_lines() -> None:
    """A record that breaks off costs itself, not the one after it, and not the rest of the file."""
    one = MULTI % BASE
    events, tally = read(one[: one.index(b'  "status"')] + one + line() + one[: one.index(b'  "status"')])

    assert (len(events), dict(tally.skipped)) == (2, {"torn": 2})


@pytest.mark.parametrize("torn", [b'{"msec":"1","status":\n', b'{"msec":"1",\n', b'{"a":[\n', b'{"a":"b\n'])
def test_torn_line_does_not_swallow_the_next(torn: bytes) -> None:
    """However a line is torn, the next one is read."""
    events, tally = read(line() + torn + line() + line())

    assert (len(events), dict(tally.skipped)) == (3, {"torn": 1})


def test_a_record_without_end_is_given_up() -> None:
    """Lines that never complete a record are bounded, and what follows is read."""
    events, tally = read(b"{\n" + b'"a":1,\n' * 2000 + line())

    assert len(events) == 1
    assert tally.skipped["torn"] == 1


@pytest.mark.parametrize("ending", [b"\r\n", b" \n", b"\n\n", b""])
def test_ends_of_lines(ending: bytes) -> None:
    """Blanks around a record are no part of it."""
    assert len(attempts((line()[:-1] + (ending or b"\n")) * 30 + line()[:-1])) == 31


def test_unicode_that_utf8_cannot_spell() -> None:
    """Half a surrogate pair and bytes that are no UTF-8 are replaced: every text can be written again."""
    for raw in (b"\\ud800", b"\xff\xfe", b"\xe2\x80\xa8"):
        only(line(request_uri="@").replace(b"@", raw)).uri.encode()


def test_future_times_in_history() -> None:
    """A time far after both its neighbours is skipped; one that all later lines share is a leap of the log."""
    stamps = [0, 302, 1, 302, 603, 604]
    events, tally = read(b"".join(line(msec=f"{BASE + at:.3f}") for at in stamps))

    assert [event.ended - BASE for event in events] == [0, 1, 302, 603, 604]
    assert dict(tally.skipped) == {"future": 1}


@pytest.mark.parametrize(("ahead", "number"), [(300.0, 1), (300.1, 0)])
def test_future_times_live(ahead: float, number: int) -> None:
    """Live, the wall clock tells what lies in the future."""
    events, tally = read(line(msec=f"{BASE + ahead:.3f}"), now=BASE)

    assert (len(events), tally.skipped["future"]) == (number, 1 - number)


@pytest.mark.parametrize(("behind", "hints"), [(60.0, []), (60.1, ["delayed"])])
def test_delayed_lines_live(behind: float, hints: list[str]) -> None:
    """Lines that come long after their time count, and it is said that a buffer holds them back."""
    reader = NginxReader(LogRules(), 0, "access.log", tally := Tally())
    reader.feed(line() * 2, 0, BASE)
    events = reader.feed(line(msec=f"{BASE + 9}") * 2, 1000, BASE + 9 + behind)

    assert (len(events), list(tally.hints)) == (2, hints)


def test_a_key_that_is_no_text() -> None:
    """A key with half a surrogate pair, learned from one line, does not stop the reading of another that is broken."""
    odd = line().replace(b'"host"', b'"\\ud800"')
    events, tally = read(odd + line()[:-20] + b"\n" + odd)

    assert (len(events), dict(tally.skipped)) == (2, {"torn": 1})


def test_held_back() -> None:
    """The reader tells from where on a restart has to read again: an incomplete record, a time that leaps."""
    reader = NginxReader(LogRules(), 0, "access.log", Tally())
    held = []
    rest = b'"msec":1796000401,"upstream_addr":"10.9.0.1:80"}\n'
    for offset, data in ((0, line()), (1000, line(msec=f"{BASE + 400}")), (2000, b"{\n"), (2002, rest), (3000, b"{\n")):
        reader.feed(data, offset)
        held.append(reader.held)

    assert held == [None, 1000, 1000, None, 3000]


def test_formats_side_by_side() -> None:
    """Lines of two formats in one file are all read, each by its own shape."""
    other = line(["upstream_header_time", "host"], extra="x")
    found = attempts((line() + other) * 50 + line() * 50 + other * 50)

    assert [one.header_came for one in found] == [True, None] * 50 + [True] * 50 + [None] * 50
    assert [one.offset for one in found] == sorted({one.offset for one in found})


def test_line_by_line_is_the_same() -> None:
    """Lines that come one by one, out of their envelopes, are read like a block."""
    data = [line(), line(upstream_status="502", upstream_header_time="-"), b"x\n", MULTI % BASE, line(["host"])]
    reader = NginxReader(LogRules(), 3, "access.log", tally := Tally())
    events, offset = [], 0
    for physical in b"".join(data).splitlines(keepends=True):
        events += reader.read_line(physical, offset)
        offset += len(physical)
    whole, counted = read(b"".join(data))

    assert events + reader.finish() == whole
    assert tally == counted
