"""Names, spellings and the operator's mapping of nginx fields."""

from __future__ import annotations

import pytest

from tailhealth.logs.nginx_names import ALIASES, choose, spelling
from tailhealth.logs.rules import LogRules
from tests.logs.nginx_lines import BASE, attempts, line, mapping, only, read


def test_aliases_are_of_one_field() -> None:
    """No name stands for two fields, and each is spelled as names are compared."""
    names = [alias for aliases in ALIASES.values() for alias in aliases]

    assert len(names) == len(set(names))
    assert names == [spelling((name,)) for name in names]


@pytest.mark.parametrize(
    ("key", "spelled"),
    [
        (("upstreamAddr",), "upstream_addr"),
        (("upstream-addr",), "upstream_addr"),
        (("@timestamp",), "timestamp"),
        (("upstream", "addr"), "upstream_addr"),
        (("nginx", "access", "upstream_status"), "upstream_status"),
        (("svc", "upstream_header_time"), "upstream_header_time"),
        (("httpRequest", "latency"), "http_request_latency"),
        (("app", "status"), "app_status"),
    ],
)
def test_spelling(key: tuple[str, ...], spelled: str) -> None:
    """Humps, dashes, dots and holding objects make no difference; an object of another meaning does."""
    assert spelling(key) == spelled


def test_best_known_name_wins() -> None:
    """Where several names stand for one field, the exact variable is believed, in any order."""
    for keys in ([("time",), ("msec",)], [("msec",), ("time",)]):
        assert [(one.field, one.key) for one in choose(keys, LogRules())] == [("time", ("msec",))]


@pytest.mark.parametrize(("companion", "number"), [("urt", 1), ("response_time", 0)])
def test_ua_needs_company(companion: str, number: int) -> None:
    """`ua` is the user agent unless other short names of upstream variables stand beside it."""
    data = line(["upstream_addr", "upstream_response_time"], ua="10.9.0.1:80", **{companion: "0.1"})

    assert len(read(data)[0]) == number


def test_mapped_fields() -> None:
    """The operator's keys go before all known names, lead into objects, and their numbers have the unit named."""
    rules = mapping(
        upstream="node", header_time="t.head@ms", response_time="t.all@ms", status="http.code", path="p.q", time="when"
    )
    data = line(
        ["status"],
        **{"node": "10.9.0.9:80", "t": {"head": 100, "all": "300"}, "http": {"code": 404}, "p.q": "/x", "when": BASE + 5},
    )
    for attempt in attempts(data * 2, rules):
        assert (attempt.upstream, attempt.header, attempt.duration, attempt.uri) == ("10.9.0.9:80", 0.1, 0.3, "/x")
        assert attempt.ended == BASE + 5


def test_one_key_for_two_fields() -> None:
    """One key may be mapped to two fields."""
    for attempt in attempts(line(x="0.25") * 2, mapping(header_time="x", response_time="x")):
        assert (attempt.header, attempt.duration) == (0.25, 0.25)


def test_mapped_key_that_is_missing() -> None:
    """A mapped key that no line has is said, with its name; the field is then unknown, not taken from elsewhere."""
    events, tally = read(line(), mapping(header_time="nowhere"))

    assert "'nowhere'" in tally.hints["no_header_time"]
    assert [event.header for event in attempts(line(), mapping(header_time="nowhere"))] == [None]
    assert len(events) == 1


@pytest.mark.parametrize(
    ("without", "code"),
    [
        ("upstream_addr", "no_upstream_field"),
        ("upstream_status", "no_upstream_status"),
        ("upstream_header_time", "no_header_time"),
    ],
)
def test_hints_for_missing_variables(without: str, code: str) -> None:
    """What a format lacks is said once, with the file and what to add; a whole format gives no hint."""
    _, tally = read(line([without]) * 3)

    assert list(tally.hints) == [code]
    assert tally.hints[code].startswith("access.log: ")
    assert f"${without}" in tally.hints[code]
    assert not read(line())[1].hints


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("0.012 s", 0.012), ("12ms", 0.012), ("12 us", 12e-6), (0.012, 0.012), ("0.012", 0.012), (12, 12.0)],
)
def test_units_in_the_text(value: object, seconds: float) -> None:
    """A number with its unit needs no mapping."""
    assert only(line(upstream_response_time=value)).duration == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("request_line", "method", "uri"),
    [
        ("POST /a?b=1 HTTP/1.1", "POST", "/a?b=1"),
        ("GET http://shop.example.test/x/y HTTP/1.1", "GET", "/x/y"),
        ("GET http://shop.example.test HTTP/1.1", "GET", "/"),
        ("\x16\x03\x01", "", ""),
        ("", "", ""),
    ],
)
def test_request_line(request_line: str, method: str, uri: str) -> None:
    """Method and path are taken from `$request` where nothing better is logged; garbage gives neither."""
    attempt = only(line(["request_method", "request_uri"], request=request_line))

    assert (attempt.method, attempt.uri) == (method, uri)


@pytest.mark.parametrize(
    ("host", "name"),
    [("a.test:8443", "a.test"), ("a.test", "a.test"), ("[::1]:80", "[::1]"), ("::1", "::1"), ("-", ""), (None, "")],
)
def test_host_has_no_port(host: str | None, name: str) -> None:
    """Hosts are compared without a port."""
    assert {one.host for one in attempts(line(host=host) * 2)} == {name}


@pytest.mark.parametrize(
    ("address", "forwarded", "client"),
    [
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("unix:", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("-", "198.51.100.7", "198.51.100.7"),
        ("unix:", "-", ""),
        ("::1", "-", "::1"),
    ],
)
def test_client(address: str, forwarded: str, client: str) -> None:
    """The client is who connected; behind a socket it is the address that the nearest proxy vouches for."""
    attempt = only(line(remote_addr=address, http_x_forwarded_for=forwarded))

    assert attempt.client == client


@pytest.mark.parametrize(
    ("spelled", "at"),
    [
        ("1796000000.250", BASE + 0.25),
        (1796000000.25, BASE + 0.25),
        (1796000000250, BASE + 0.25),
        ("1796000000250", BASE + 0.25),
        ("2026-11-30T00:53:20+00:00", BASE),
        ("2026-11-30T06:23:20+05:30", BASE),
        ("2026-11-30T00:53:20.250Z", BASE + 0.25),
        ("30/Nov/2026:00:53:20 +0000", BASE),
        ("2026-11-30T00:53:20", BASE),
    ],
)
def test_times(spelled: object, at: float) -> None:
    """The same moment in every spelling, on the first line of a shape and on later ones."""
    assert [one.ended for one in attempts(line(["msec"], time=spelled) * 2)] == [pytest.approx(at, abs=1e-6)] * 2


def test_zone_of_times_without_one() -> None:
    """A time that names no zone has the zone of the log."""
    assert only(line(["msec"], time="2026-11-30T01:53:20"), LogRules(zone="Europe/Berlin")).ended == BASE


def test_other_time_where_the_first_is_none() -> None:
    """Where the best known time can't be read, another one of the line serves."""
    assert only(line(msec="-", time="2026-11-30T00:53:20Z")).ended == BASE


def test_no_time() -> None:
    """A line without a time is skipped in history; live, the time of arrival is used and said."""
    assert dict(read(line(["msec"]))[1].skipped) == {"no_time": 1}
    assert dict(read(line(msec="yesterday"), now=BASE)[1].skipped) == {"no_time": 1}
    (event,), tally = read(line(["msec"]), now=BASE)
    assert event.ended == BASE
    assert list(tally.hints) == ["arrival_time"]


@pytest.mark.parametrize("name", ["odd\\name", 'odd"name', "odd\nname", "\u00e9", "x" * 10_000])
def test_odd_names(name: str) -> None:
    """Whatever else a format calls its keys, its lines are read."""
    assert len(attempts(line(**{name: "1"}) * 3)) == 3
