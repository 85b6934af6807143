"""`check` on a real Caddy: silent on a right setup, and each planted fault is found."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.real.caddy import reverse_proxy, until
from tests.real.checking import CaddySetup, as_nobody, ask, caddy_setup, check
from tests.real.servers import free_port

pytestmark = pytest.mark.real


def found(plant: Callable[[CaddySetup], object], count: int = 24) -> dict[str, dict[str, Any]]:
    """Plant a fault, let requests pass, and return the findings by code; each says what to do."""
    with caddy_setup() as setup:
        plant(setup)
        setup.serve(count)
        code, findings, _ = setup.check()
    assert code == (1 if findings else 0)
    return findings


def test_silent_on_a_right_setup() -> None:
    """The recommended Caddyfile has no finding; pools, logs and the light active check are told."""
    with caddy_setup() as setup:
        setup.serve()
        before = setup.proxy.raw_config()
        code, findings, said = setup.check()

        assert (code, findings, said["v"]) == (0, {}, 1)
        assert {one["code"] for one in said["notes"]} == {"pool", "log", "active_check"}
        assert len(said["pools"][0]["upstreams"]) == 4
        assert setup.proxy.raw_config() == before
        assert not (setup.folder / "state").exists()
        assert all(one.path == "/api/version" or one.path.startswith("/r/") for node in setup.nodes for one in node.seen)


def test_a_log_that_is_not_there() -> None:
    """The file is missing: Caddy writes elsewhere."""
    with caddy_setup() as setup:
        setup.serve()
        setup.log = setup.folder / "other.log"
        _, findings, _ = setup.check()

    assert list(findings) == ["log_missing"]


def test_a_log_that_only_caddy_may_read() -> None:
    """Caddy's default mode is 0600; the remedy names `mode`."""
    with caddy_setup() as setup:
        del setup.traffic["writer"]["mode"]
        setup.serve()
        assert setup.log.stat().st_mode & 0o777 == 0o600
        path = setup.config()
        path.chmod(0o644)
        assert check(path)[1] == {}
        with as_nobody() as other:
            if not other:
                setup.log.chmod(0)
            _, findings, _ = check(path)

    assert list(findings) == ["log_unreadable"]
    assert "mode 0640" in findings["log_unreadable"]["remedy"]


def _only_access(setup: CaddySetup, **values: str | None) -> None:
    """Without round-trip lines, the appended fields are all that tells."""
    setup.traffic.update(level="INFO", include=["http.log.access"])
    for key, value in values.items():
        setup.append(key, value)


def _twice(setup: CaddySetup) -> None:
    setup.site.insert(0, {"handler": "log_append", "key": "status", "value": "x"})


def _errors(setup: CaddySetup) -> None:
    setup.traffic["level"] = "ERROR"
    for node in setup.nodes:
        node.status = 500


def _durations(setup: CaddySetup) -> None:
    """Whole milliseconds, which could as well be nanoseconds."""
    _only_access(setup, upstream_latency_ms=None)
    setup.traffic["encoder"] = {"format": "json", "duration_format": "ms"}


LINES: list[tuple[str, Callable[[CaddySetup], object], set[str]]] = [
    ("no upstream", lambda setup: _only_access(setup, upstream=None), {"no_upstream_field"}),
    ("no header time", lambda setup: _only_access(setup, upstream_latency_ms=None), {"no_header_time"}),
    ("placeholder", lambda setup: _only_access(setup, upstream="x{rp.upstream.hostport}"), {"literal_placeholder"}),
    ("host alone", lambda setup: _only_access(setup, upstream="{http.reverse_proxy.upstream.host}"), {"host_without_port"}),
    ("own key", _twice, {"duplicate_keys"}),
    ("sampling", lambda setup: setup.traffic.update(sampling={"first": 50, "thereafter": 100}), {"sampling"}),
    ("level", _errors, {"level_filter"}),
    ("unit", _durations, {"unit_assumed"}),
]


@pytest.mark.parametrize(("plant", "codes"), [pytest.param(*one[1:], id=one[0]) for one in LINES])
def test_what_the_log_lacks(plant: Callable[[CaddySetup], object], codes: set[str]) -> None:
    """Whatever keeps lines from telling the truth is found, in them or in Caddy's configuration."""
    findings = found(plant)

    assert codes <= set(findings)
    assert all(one["about"].endswith("traffic.log") for code, one in findings.items() if code in codes)


def test_a_log_that_is_filtered_and_empty() -> None:
    """A level filter is told from Caddy's configuration before a single line has come."""
    with caddy_setup() as setup:
        setup.traffic["level"] = "ERROR"
        setup.proxy.start()
        setup.log.touch()
        _, findings, _ = setup.check()

    assert list(findings) == ["level_filter"]


def _dynamic(setup: CaddySetup) -> None:
    del setup.handler["upstreams"]
    setup.handler["dynamic_upstreams"] = {"source": "a", "name": "localhost", "port": str(setup.nodes[0].port)}


def _dial(setup: CaddySetup, dial: str) -> None:
    setup.handler["upstreams"].append({"dial": dial})


def _own_ids(setup: CaddySetup) -> None:
    for number, one in enumerate(setup.handler["upstreams"]):
        one["@id"] = f"node-{number}"


def _second_server(setup: CaddySetup) -> None:
    address = setup.nodes[0].address
    setup.proxy.config["apps"]["http"]["servers"]["quiet"] = {
        "listen": [f"127.0.0.1:{free_port()}"],
        "automatic_https": {"disable": True},
        "routes": [{"handle": [reverse_proxy(address)]}],
    }


def _passive(setup: CaddySetup) -> None:
    setup.handler["health_checks"]["passive"] = {"fail_duration": "30s", "max_fails": 2, "unhealthy_latency": "1us"}


POOLS: list[tuple[str, Callable[[CaddySetup], object], str]] = [
    ("dynamic", _dynamic, "place_unmanaged"),
    ("placeholder in dial", lambda setup: _dial(setup, "{http.request.header.X-Node}:80"), "upstream_unmanaged"),
    ("no port", lambda setup: _dial(setup, "127.0.0.1"), "dial_without_port"),
    ("own ids", _own_ids, "no_mark"),
    ("no access log", _second_server, "unlogged"),
    ("passive", _passive, "other_judge"),
]


@pytest.mark.parametrize(("plant", "code"), [pytest.param(*one[1:], id=one[0]) for one in POOLS])
def test_what_the_proxy_has(plant: Callable[[CaddySetup], object], code: str) -> None:
    """What can't be acted on, and who else judges, is found in Caddy's configuration."""
    findings = found(plant)

    assert code in findings
    if code == "other_judge":
        assert re.search(r"; ([0-9]+) of \1 healthy answers", findings[code]["text"])


def test_an_active_check_that_healthy_nodes_would_fail() -> None:
    """The check asks for what clients ask for, and has less time than a healthy answer takes (incident A)."""
    with caddy_setup() as setup:
        setup.handler["health_checks"]["active"].update(uri="/r/1?probe", interval="1h", timeout="500ms")
        setup.proxy.start()
        for node in setup.nodes:
            node.wait(lambda one: any(seen.path == "/r/1?probe" for seen in one.seen), "Caddy's first check")
            node.delay = 0.51
        assert b"200 OK" in ask(setup.port, "/r/1")
        until(lambda: b"handled request" in setup.log.read_bytes(), "the line")
        _, findings, _ = setup.check()

    assert list(findings) == ["active_check_strict"]
    assert "1 of 1 healthy answers on /r/1" in findings["active_check_strict"]["text"]


def _config(text: str) -> Callable[[CaddySetup], object]:
    def plant(setup: CaddySetup) -> None:
        setup.options = text.format(*(node.address for node in setup.nodes))

    return plant


OURS: list[tuple[str, str, str]] = [
    ("protected", '[guard]\nprotected = ["10.9.9.*"]\n', "protected_unmatched"),
    (
        "two tables",
        '[pool.a]\nupstreams = ["{0}", "{1}", "{2}", "{3}"]\n[pool.b]\nhost = "chat.example.test"\n',
        "pool_tables_clash",
    ),
    ("no pool", '[pool.a]\nupstreams = ["10.9.9.9:1"]\n', "pool_table_unmatched"),
    ("slow", '[bad]\nslower_than = "1ms"\n', "slower_than_low"),
    ("quiet", '[window]\nspan = "1ms"\nwithin = "1ms"\n', "too_little_traffic"),
]


@pytest.mark.parametrize(("text", "code"), [pytest.param(*one[1:], id=one[0]) for one in OURS])
def test_what_our_own_configuration_has(text: str, code: str) -> None:
    """What does not fit the proxy or its traffic is found."""

    def plant(setup: CaddySetup) -> None:
        _config(text)(setup)
        for node in setup.nodes:
            node.delay = 0.01

    findings = found(plant)

    assert list(findings) == [code]


def test_protected_patterns_that_match() -> None:
    """A glob and an address that protect something are no finding."""
    assert found(_config('[guard]\nprotected = ["127.0.0.*", "{0}"]\n')) == {}


def test_websockets_without_a_delay() -> None:
    """Upgraded connections would be closed by each change, unless `stream_close_delay` is set."""
    with caddy_setup() as setup:
        for node in setup.nodes:
            node.status = 101
            node.headers = {"Connection": "Upgrade", "Upgrade": "websocket"}
        del setup.handler["health_checks"]
        setup.proxy.start()
        upgrade = "Connection: Upgrade\r\nUpgrade: websocket"
        assert b"101" in ask(setup.port, "/ws", headers=upgrade)
        until(lambda: b'"status":101' in setup.log.read_bytes(), "the line of the upgrade")
        assert setup.check()[1] == {}

        del setup.handler["stream_close_delay"]
        setup.proxy.load()
        _, findings, _ = setup.check()

    assert list(findings) == ["no_stream_close_delay"]


def test_long_bodies_without_round_trip_lines() -> None:
    """Then a hung request can't be told from a stream; the remedy is the log's level."""

    def plant(setup: CaddySetup) -> None:
        _only_access(setup)
        setup.options = '[bad]\nstalled_after = "1ms"\n'
        for node in setup.nodes:
            node.delay = 0.01

    findings = found(plant)

    assert list(findings) == ["stalled_off"]
    assert "level DEBUG" in findings["stalled_off"]["remedy"]


def test_upstreams_of_another_proxy() -> None:
    """Addresses that no pool has are named."""
    with caddy_setup() as setup:
        setup.serve()
        setup.handler["upstreams"] = setup.handler["upstreams"][:3]
        setup.proxy.load()
        _, findings, _ = setup.check()

        assert list(findings) == ["unmanaged"]
        assert setup.nodes[3].address in findings["unmanaged"]["text"]


def test_an_admin_interface_that_does_not_answer() -> None:
    """Nobody listens there: the logs are looked at all the same."""
    with caddy_setup() as setup:
        setup.serve()
        setup.proxy.stop()
        _, findings, said = setup.check()

    assert list(findings) == ["admin_unreachable"]
    assert [one["code"] for one in said["notes"]] == ["log"]


def test_an_admin_interface_that_turns_us_away() -> None:
    """A 403 is told in Caddy's own words, with the remedy."""
    with caddy_setup() as setup:
        setup.serve()
        path = setup.config()
        path.write_text(path.read_text().replace("[[log]]", 'headers = { Host = "elsewhere.example" }\n[[log]]'))
        _, findings, _ = check(path)

    assert list(findings) == ["forbidden"]
    assert "host not allowed" in findings["forbidden"]["text"]
    assert "origins" in findings["forbidden"]["text"]
