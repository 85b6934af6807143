"""Findings as functions of facts, where a real proxy can't easily be brought to show them."""

from __future__ import annotations

from typing import Any

import pytest

from tailhealth.config import Config, parse
from tailhealth.core.engine import Engine
from tailhealth.core.view import PoolView, view
from tailhealth.proxies.base import Entry, Load, LogOutput, Place
from tailhealth.proxies.nginx_main import Main
from tailhealth.service.checks.every import findings, notes
from tailhealth.service.checks.facts import Facts, LogFacts, NginxFacts, ProxyFacts, Stranger
from tailhealth.service.checks.finding import Finding
from tailhealth.service.pools import grouped, plain_naming
from tailhealth.service.standing import survey

A, B = "10.0.0.1:80", "10.0.0.2:80"


def proxy(*entries: Entry, **fields: Any) -> ProxyFacts:
    """A proxy with one place."""
    place_fields = {key: fields.pop(key) for key in ("problem", "marks", "removes") if key in fields}
    listed = entries or (Entry(A, {"dial": A}), Entry(B, {"dial": B}))
    place = Place("p", listed, "v", handler_id="chat", **place_fields)
    standings = survey([place], (), lambda _: False).standings
    return ProxyFacts(standings=standings, groups=grouped(standings, plain_naming), load=Load({}, ""), **fields)


def facts(one: ProxyFacts | None = None, *logs: LogFacts, config: str = "", **fields: Any) -> Facts:
    """Facts with nothing else to find."""
    read = parse(config.encode()) if config else Config()
    shown = view(Engine(read.settings()), 0.0)
    return Facts(read, one or proxy(), logs, fields.pop("view", shown), **fields)


def codes(one: Facts) -> list[str]:
    """The codes of all findings."""
    return [each.code for each in findings(one)]


def test_nothing_to_find() -> None:
    """A plain proxy and a plain log have no finding; what was found is told."""
    well = facts(None, LogFacts("/a.log", lines=10, records=10))

    assert codes(well) == []
    assert [one.code for one in notes(well)] == ["pool", "log"]


def test_a_list_with_one_address_twice() -> None:
    """The log does not tell the two apart."""
    entries = (Entry("a:80", {}, names=(A,)), Entry("b:80", {}, names=(A,)))

    assert codes(facts(proxy(*entries))) == ["ambiguous_address"]


def test_the_mark_of_another() -> None:
    """A mark that is not ours is told with what to do about it."""
    (one,) = findings(facts(proxy(marks=("tailhealth-other-1",))))

    assert (one.code, one.about) == ("place_unmanaged", "chat")
    assert "stop the other one" in one.text


@pytest.mark.parametrize(("own", "expected"), [((True, True), ["no_mark"]), ((True, False), [])])
def test_room_for_a_mark(own: tuple[bool, bool], expected: list[str]) -> None:
    """One upstream without an id of its own is enough."""
    entries = tuple(Entry(address, {"dial": address}, own_id=mine) for address, mine in zip((A, B), own, strict=True))

    assert codes(facts(proxy(*entries))) == expected
    assert codes(facts(proxy(*entries, removes=False))) == []


@pytest.mark.parametrize(("skipped", "lines", "found"), [(20, 400, True), (19, 19, False), (20, 401, False)])
def test_unreadable_lines(skipped: int, lines: int, found: bool) -> None:
    """From 20 lines and a twentieth of all on, they are worth a word."""
    assert codes(facts(None, LogFacts("/a.log", lines=lines, skipped=skipped))) == (["unreadable_lines"] if found else [])


def test_a_log_that_is_thinned_is_told_once() -> None:
    """Where the lines and the proxy's configuration say the same, the configuration's sentence is shown."""
    log = LogFacts("/a.log", hints={"sampling": "looks thinned", "retries": "some"})
    found = findings(facts(proxy(outputs=(LogOutput("x", "/a.log", sampled=True),)), log))

    assert [one.code for one in found] == ["sampling", "retries"]
    assert "looks" not in found[0].text


def test_an_admin_interface_that_does_not_count() -> None:
    """Hung requests can't be seen then, in the proxy's own words."""
    off = PoolView("chat", enforced=True, paused=False, blind={}, stalled_off="it does not tell", upstreams=())
    base = facts()
    pools = Facts(base.config, base.proxy, (), view=_with(base, off))
    failing = Facts(base.config, _load(base.proxy, Load(None, "", problem="404 of /metrics")), (), view=_with(base, off))

    assert "level DEBUG" in findings(pools)[0].remedy
    assert "404 of /metrics" in findings(failing)[0].text
    assert "/metrics" in findings(failing)[0].remedy


def _with(base: Facts, pool: PoolView) -> Any:
    return type(base.view)(**{name: getattr(base.view, name) for name in base.view.__struct_fields__} | {"pools": (pool,)})


def _load(base: ProxyFacts, load: Load) -> ProxyFacts:
    return ProxyFacts(**{name: getattr(base, name) for name in base.__struct_fields__} | {"load": load})


def test_what_was_switched_off_is_no_finding() -> None:
    """`stalled_after = false` is the operator's choice, and is told as a note."""
    off = PoolView("chat", enforced=True, paused=False, blind={}, stalled_off="stalled_after is off", upstreams=())
    base = facts(config="[bad]\nstalled_after = false\n")
    chosen = Facts(base.config, base.proxy, (), view=_with(base, off))

    assert codes(chosen) == []
    assert "stalled_off" in {one.code for one in notes(chosen)}


NGINX = '[proxy]\nkind = "nginx"\ninclude = { chat = "/c.conf" }\n'


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"unwritable": ("/c.conf",)}, "include_unwritable"),
        ({"refused": "[emerg] x"}, "nginx_test"),
        ({"main": Main({}, "", "permission denied")}, "nginx_unread"),
        ({"running": False}, "nginx_not_seen"),
        ({"workers": 2, "leaving": 3}, "old_workers"),
    ],
)
def test_an_nginx(fields: dict[str, Any], code: str) -> None:
    """What keeps an nginx from being changed."""
    nginx = NginxFacts(**{"main": Main({}, ""), **fields})

    assert codes(facts(proxy(nginx=nginx, removes=False), config=NGINX)) == [code]


def test_as_many_old_workers_as_new_ones() -> None:
    """One generation that finishes its requests is what every reload leaves."""
    nginx = NginxFacts(Main({}, ""), workers=2, leaving=2)
    one = facts(proxy(nginx=nginx, removes=False), config=NGINX)

    assert codes(one) == []
    assert "old_workers" in {note.code for note in notes(one)}


def test_without_a_proxy_nothing_is_said_of_its_pools() -> None:
    """What can't be read is not called wrong."""
    trouble = ProxyFacts(trouble=Finding("admin_unreachable", "proxy", "no"))
    config = '[guard]\nprotected = ["10.9.9.9:1"]\n[pool.a]\nhost = "x"\n'

    assert codes(facts(trouble, config=config, strangers=(Stranger(A, 1),))) == ["admin_unreachable"]


def test_strangers_are_named_up_to_a_limit() -> None:
    """The log may hold any number of addresses; those that are listed in the proxy, in whatever pool, are none."""
    strange = tuple(Stranger(f"10.1.0.{number}:1", 1) for number in range(6))
    (one,) = findings(facts(strangers=(*strange, Stranger(A, 9))))

    assert one.text.count("10.1.0.") == 5
    assert "..." in one.text
    assert A not in one.text


def test_patterns_of_a_pool_are_its_own() -> None:
    """What the top protects is asked of all pools, what a pool adds of that pool alone."""
    config = '[guard]\nprotected = ["10.0.0.1:*"]\n[pool.chat]\nid = "chat"\nguard.protected = ["10.0.0.2:80", "10.0.0.3:80"]\n'
    found = findings(facts(config=config))

    # The pool's own list replaces that of the top.
    assert [(one.about, "10.0.0.3:80" in one.text) for one in found] == [("pool.chat.guard.protected", True)]


def test_a_state_file_that_may_not_be_read() -> None:
    """Then our own marks look strange, and the reason is told."""
    assert codes(facts(state_problem="/state.json: Permission denied")) == ["state_unreadable"]
