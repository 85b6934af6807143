"""Effective values: defaults that depend on others, routes that inherit, pools that override."""

from __future__ import annotations

import pytest

from tailhealth.config.loading import load, parse
from tailhealth.core.rules import BadRules, PoolRules, Settings, Yardstick


def bad(text: str) -> BadRules:
    """Return the resolved `[bad]` of a file."""
    return parse(text.encode()).settings().default.bad


def test_defaults_are_those_of_the_core() -> None:
    """An empty file and no file give the core's own defaults."""
    assert load(None).settings() == parse(b"").settings() == Settings()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 60.0),
        ("slower_than = 30", 15.0),
        ("slower_than = false", None),
        ("slower_than = false\nabandoned_after = 5", 5.0),
        ("abandoned_after = false", None),
        ("abandoned_after = 0", 0.0),
    ],
)
def test_abandoned_after(text: str, expected: float | None) -> None:
    """Half of `slower_than` unless set, off if that is off; an explicit zero is itself."""
    assert bad(f"[bad]\n{text}").default.abandoned_after == expected


@pytest.mark.parametrize(
    ("top", "route", "expected"),
    [
        ("", "slower_than = 10", 5.0),
        ("", "slower_than = false", None),
        ("", "refused = false", 60.0),
        ("abandoned_after = 7", "slower_than = 10", 7.0),
        ("abandoned_after = false", "slower_than = 10", None),
        ("abandoned_after = 7", "abandoned_after = 0", 0.0),
        ("slower_than = false", "slower_than = 10", 5.0),
    ],
)
def test_abandoned_after_of_a_route(top: str, route: str, expected: float | None) -> None:
    """A route inherits an explicit value, else takes half of its own effective `slower_than`."""
    found = bad(f'[bad]\n{top}\n[[bad.route]]\npath = "/a"\n{route}')
    assert found.yardstick("GET", "h", "/a").abandoned_after == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 120.0),
        ("[bad]\nslower_than = 30", 30.0),
        ("[bad]\nslower_than = false", None),
        ("[bad]\nslower_than = false\nstalled_after = 9", 9.0),
        ("[bad]\nstalled_after = false", None),
        ('[[bad.route]]\npath = "/a"\nslower_than = 300', 300.0),
        ('[[bad.route]]\npath = "/a"\nslower_than = 3', 120.0),
        ('[[bad.route]]\npath = "/a"\nslower_than = false', None),
        ('[[bad.route]]\npath = "/a"\nignore = true', None),
        ('[bad]\nstalled_after = 9\n[[bad.route]]\npath = "/a"\nignore = true', 9.0),
    ],
)
def test_stalled_after(text: str, expected: float | None) -> None:
    """The greatest effective `slower_than` of the pool's routes, off if one is off or a route is ignored."""
    assert bad(text).stalled_after == expected


def test_route_inherits_the_rest() -> None:
    """A route has its own keys and those of `[bad]` for the rest; the first that matches judges."""
    found = bad(
        """
        [bad]
        status = ["502"]
        busy = false
        total_slower_than = "5m"
        [[bad.route]]
        path = "/api/*"
        method = ["post"]
        host = "*.Example.com"
        slower_than = "1s"
        truncated = false
        uploads = true
        [[bad.route]]
        path = "/api/*"
        ignore = true
        """
    )
    none = frozenset[int]()
    top = Yardstick(status=frozenset({502}), busy=none, busy_with_retry_after=none, total_slower_than=300.0)
    assert found.default == top
    expected = Yardstick(
        status=frozenset({502}),
        busy=none,
        busy_with_retry_after=none,
        total_slower_than=300.0,
        slower_than=1.0,
        abandoned_after=0.5,
        truncated=False,
        uploads=True,
    )
    assert found.yardstick("POST", "a.example.com", "/api/x") == expected
    assert found.yardstick("GET", "a.example.com", "/api/x").ignore
    assert found.yardstick("GET", "a.example.com", "/other") == top


@pytest.mark.parametrize("value", ["false", "[]"])
def test_statuses_off(value: str) -> None:
    """`false` and an empty list turn a rule off."""
    found = bad(f"[bad]\nstatus = {value}\nbusy = {value}").default
    assert found.status == found.busy == found.busy_with_retry_after == frozenset()


def test_window_and_the_rest() -> None:
    """Every other key reaches the core under its name there; `false` is None."""
    text = """
        lateness = 0
        mode = "observe"
        [window]
        last = 3
        span = 1
        within = 2
        min_requests = 5
        ratio = false
        consecutive_refused = false
        consecutive_unanswered = false
        unanswered_after = 0
        clients = 2
        [eject]
        for = 3
        backoff = 1
        max = 4
        jitter = 0
        [probation]
        requests = 2
        bad = 4
        max_in_flight = false
        [guard]
        protected = ["TCP/A:1", "unix:/run/*.sock", "10.*"]
        max_ejected = false
        min_serving = 2
        common_cause = false
        settle = 0
    """
    found = parse(text.encode()).settings()
    rules = found.default
    assert (found.lateness, rules.enforce) == (0.0, False)
    window = rules.window
    assert (window.last, window.span, window.within, window.min_requests, window.unanswered_after) == (3, 1.0, 2.0, 5, 0.0)
    assert (window.ratio, window.consecutive_refused, window.consecutive_unanswered, window.clients) == (None, None, None, 2)
    assert (rules.eject.base, rules.eject.backoff, rules.eject.cap, rules.eject.jitter) == (3.0, 1.0, 4.0, 0.0)
    assert rules.probation is not None
    assert (rules.probation.requests, rules.probation.bad, rules.probation.max_in_flight) == (2, 4, None)
    guard = rules.guard
    assert guard.protected == ("a:1", "unix//run/*.sock", "10.*")
    assert (guard.max_ejected, guard.min_serving, guard.common_cause, guard.settle) == (None, 2, False, 0.0)


def test_pool_overrides_key_by_key() -> None:
    """A pool's table replaces single keys, its route list replaces the whole list, and all else is that of the top."""
    text = """
        mode = "observe"
        [bad]
        slower_than = 60
        [[bad.route]]
        path = "/a"
        slower_than = 10
        [guard]
        note = "why"
        settle = 3
        [pool.one]
        upstreams = ["A:1", "b:1"]
        mode = "enforce"
        bad.slower_than = 20
        guard.min_serving = 2
        [pool.two]
        id = "two"
        probation = false
        [[pool.two.bad.route]]
        path = "/b"
        ignore = true
    """
    config = parse(text.encode())
    settings = config.settings()
    one, two = settings.rules("one"), settings.rules("two")
    assert (settings.default.enforce, one.enforce, two.enforce) == (False, True, False)
    assert (one.guard.settle, one.guard.min_serving, settings.default.guard.min_serving) == (3.0, 2, 1)
    assert config.pool["one"].guard.note == "why"
    assert one.backups == {"a:1", "b:1"}
    assert two.backups == frozenset()
    assert (one.bad.default.slower_than, one.bad.default.abandoned_after, one.bad.stalled_after) == (20.0, 10.0, 20.0)
    assert one.bad.yardstick("GET", "", "/a").slower_than == 10.0
    assert (two.bad.default.slower_than, two.bad.stalled_after, len(two.bad.routes)) == (60.0, None, 1)
    assert two.bad.yardstick("GET", "", "/b").ignore
    assert two.probation is None
    assert one.probation == PoolRules().probation


def test_pool_turns_probation_on_again() -> None:
    """What is off at the top can be on for one pool."""
    settings = parse(b'probation = false\npool.a = { id = "a", probation = { requests = 5 } }').settings()
    assert settings.default.probation is None
    probation = settings.rules("a").probation
    assert probation is not None
    assert probation.requests == 5
    assert settings.rules("unknown") == settings.default


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 2.0),
        ('kind = "nginx"', 10.0),
        ('kind = "nginx-plus"\nadmin = "http://a"', 2.0),
        ('kind = "nginx"\nmin_apply_interval = 0', 0.0),
        ('min_apply_interval = "30s"', 30.0),
    ],
)
def test_apply_interval(text: str, expected: float) -> None:
    """The pause between two applies depends on the proxy unless it is set."""
    assert parse(f"[proxy]\n{text}".encode()).proxy.apply_interval == expected
