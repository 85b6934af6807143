"""What proxies say of their logs and of their own health checks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.proxies import caddy_checks, nginx_checks
from tailhealth.proxies.base import Entry, LogOutput, Place
from tailhealth.proxies.caddy_config import snapshot
from tailhealth.proxies.caddy_logs import outputs
from tailhealth.proxies.nginx_logs import AccessLog, access_logs
from tailhealth.proxies.own_checks import OwnCheck


def logging(**logs: Any) -> dict[str, Any]:
    """A configuration with these logs."""
    return {"logging": {"logs": logs}}


def test_nothing_is_loaded() -> None:
    """A Caddy without a configuration writes its default log to the console."""
    assert outputs(None) == (LogOutput("default", ""),)
    assert caddy_checks.own_checks(None) == ()
    assert caddy_checks.stream_delays(None) == {}
    assert snapshot(None).outputs == outputs(None)


@pytest.mark.parametrize(
    ("log", "has"),
    [
        ({}, True),
        ({"include": ["http.log.access"]}, True),
        ({"include": ["http.log.access.log0"]}, True),
        ({"include": ["http"]}, True),
        ({"include": ["http.handlers.reverse_proxy"]}, False),
        ({"include": ["http.log.accessory"]}, False),
        ({"exclude": ["http.log.access"]}, False),
        ({"exclude": ["http"]}, False),
        ({"exclude": ["http.log.access.log0"]}, True),
        ({"exclude": ["admin"]}, True),
    ],
)
def test_which_logs_get_access_lines(log: dict[str, Any], has: bool) -> None:
    """A log gets what it includes, or everything, without what it excludes; names go by their parts."""
    assert [one.name for one in outputs(logging(default=log))] == (["default"] if has else [])


@pytest.mark.parametrize("level", ["WARN", "warn", "Error", "panic", "FATAL"])
def test_levels_that_leave_out_what_went_well(level: str) -> None:
    """Requests that went well have level INFO."""
    assert outputs(logging(default={"level": level}))[0].level == level


@pytest.mark.parametrize("level", ["INFO", "debug", "", None])
def test_levels_that_leave_nothing_out(level: str | None) -> None:
    """INFO and DEBUG, and none at all, keep every access line."""
    assert outputs(logging(default={"level": level}))[0].level == ""


@pytest.mark.parametrize(("sampling", "sampled"), [({}, True), ({"first": 1}, True), (None, False)])
def test_sampling(sampling: dict[str, int] | None, sampled: bool) -> None:
    """An empty table samples by Caddy's defaults; null does not."""
    assert outputs(logging(default={"sampling": sampling}))[0].sampled is sampled


def test_where_a_log_goes() -> None:
    """Only a file has a path."""
    file = {"writer": {"output": "file", "filename": "/a.log"}}
    found = outputs(logging(one=file, two={"writer": {"output": "net", "address": "x"}}))

    assert [(one.name, one.path) for one in found] == [("default", ""), ("one", "/a.log"), ("two", "")]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(30_000_000_000, 30.0), ("30s", 30.0), ("1m30s", 90.0), ("1.5h", 5400.0), ("2d", 172_800.0), ("10ms", 0.01), (0, 0.0)],
)
def test_durations(value: object, seconds: float) -> None:
    """Numbers are nanoseconds; strings are Go's, with days."""
    assert caddy_checks.seconds(value) == pytest.approx(seconds)


@pytest.mark.parametrize("value", [None, "", "soon", "1 s", "10", True, [], "-1s"])
def test_no_durations(value: object) -> None:
    """What is none is not guessed."""
    assert caddy_checks.seconds(value) is None


def handler(**fields: Any) -> dict[str, Any]:
    """A configuration with one `reverse_proxy`."""
    upstreams = fields.pop("upstreams", [{"dial": "a:1"}])
    handle = [{"handler": "reverse_proxy", "upstreams": upstreams, **fields}]
    return {"apps": {"http": {"servers": {"s": {"routes": [{"handle": handle}]}}}}}


KEY = "apps/http/servers/s/routes/0/handle/0"


def test_an_active_check() -> None:
    """Its path is without the query, and absent times are Caddy's own."""
    (one,) = caddy_checks.own_checks(handler(health_checks={"active": {"uri": "/x?secret", "timeout": "2s"}}))

    assert (one.place, one.active, one.path, one.limit) == (KEY, True, "/x", 2.0)
    assert "secret" not in one.words
    assert "health_interval 30s" in one.words
    assert caddy_checks.own_checks(handler(health_checks={"active": {"path": "/y"}}))[0].limit == 5.0


def test_a_passive_check() -> None:
    """It is on with a `fail_duration` or a limit of requests, else off."""
    (one,) = caddy_checks.own_checks(
        handler(health_checks={"passive": {"fail_duration": "30s", "unhealthy_latency": "2s", "unhealthy_status": [5, 404]}})
    )

    assert (one.place, one.active, one.limit, one.statuses) == (KEY, False, 2.0, (5, 404))
    assert one.words == "fail_duration 30s, max_fails 1, unhealthy_latency 2s, unhealthy_status 5 404"
    assert caddy_checks.own_checks(handler(health_checks={"passive": {"max_fails": 3}})) == ()
    assert len(caddy_checks.own_checks(handler(health_checks={"passive": {"unhealthy_request_count": 3}}))) == 1


@pytest.mark.parametrize(
    ("status", "seconds", "fails"),
    [
        (200, 1.9, False),
        (200, 2.0, True),
        (200, None, False),
        (503, 0.0, True),
        (404, 0.0, True),
        (403, 0.0, False),
        (None, 2.0, True),
    ],
)
def test_what_a_passive_check_counts(status: int | None, seconds: float | None, fails: bool) -> None:
    """A limit is reached at its value; 5 stands for all of 500-599, other numbers for themselves."""
    check = OwnCheck("p", active=False, words="", limit=2.0, statuses=(5, 404))

    assert check.fails(status, seconds) is fails


def test_where_upgraded_connections_get_time() -> None:
    """Absent is none."""
    assert caddy_checks.stream_delays(handler()) == {KEY: 0.0}
    assert caddy_checks.stream_delays(handler(stream_close_delay="5m")) == {KEY: 300.0}


@pytest.mark.parametrize(
    ("dial", "lacks"),
    [("a", True), ("10.0.0.1", True), ("a:80", False), ("unix//run/x", False), ("[::1]:80", False), ("{env.X}", False)],
)
def test_dials_without_a_port(dial: str, lacks: bool) -> None:
    """A placeholder may hold one, and a socket needs none."""
    found = caddy_checks.portless(handler(upstreams=[{"dial": dial}]))

    assert found == (((KEY, dial),) if lacks else ())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=3), x, max_size=4),
        max_leaves=20,
    )
)
def test_strange_parts_of_a_configuration(value: Any) -> None:
    """Modules of others may hold anything below a server."""
    config = {"apps": {"http": {"servers": {"s": {"other": value}}}}}

    assert caddy_checks.own_checks(config) == ()


def place(*lines: str) -> Place:
    """An nginx block with these `server` lines."""
    entries = tuple(Entry(line.split()[0], {"server": line}) for line in lines)
    return Place("chat", entries, "v", removes=False)


def test_nginx_judges_unless_told_not_to() -> None:
    """`max_fails` is 1 by default; those with the same settings are told together; 0 is off."""
    found = nginx_checks.own_checks([place("a:1", "b:1", "c:1 max_fails=0", "d:1 max_fails=3 fail_timeout=1m max_fails=5")])

    assert [(one.words, one.upstreams) for one in found] == [
        ("max_fails=1 fail_timeout=10s", ("a:1", "b:1")),
        ("max_fails=5 fail_timeout=1m", ("d:1",)),
    ]


def test_nginx_never_judges_the_only_server() -> None:
    """A block with one server keeps it whatever happens."""
    assert nginx_checks.own_checks([place("a:1")]) == ()


def test_the_api_of_plus_names_them_too() -> None:
    """There, settings are members of an object."""
    raws = ({"server": "a:1", "max_fails": 2, "fail_timeout": "30s"}, {"server": "b:1", "max_fails": 0})
    entries = tuple(Entry(str(raw["server"]), dict(raw)) for raw in raws)

    assert [one.words for one in nginx_checks.own_checks([Place("chat", entries, "v")])] == ["max_fails=2 fail_timeout=30s"]


def statement(name: str, *args: str, block: list[Any] | None = None) -> dict[str, Any]:
    """One directive, as `crossplane` gives it."""
    return {"directive": name, "args": list(args)} | ({"block": block} if block is not None else {})


def test_access_logs() -> None:
    """Wherever they stand; `off` is none, and what buffers or chooses is told."""
    inner = [
        statement("access_log", "/a.log", "main"),
        statement("access_log", "/b.log", "main", "buffer=32k", "flush=1m"),
        statement("access_log", "/c.log", "main", "gzip"),
        statement("access_log", "/d.log", "main", "if=$loggable"),
        statement("access_log", "off"),
    ]
    files = [{"parsed": [statement("http", block=[statement("server", block=inner)])]}, {"parsed": inner[:1]}]

    assert access_logs(files) == (
        AccessLog("/a.log"),
        AccessLog("/b.log", buffered=True),
        AccessLog("/c.log", buffered=True),
        AccessLog("/d.log", condition="$loggable"),
    )
