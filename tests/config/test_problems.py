"""Errors: all at once, each one line with its key and the remedy."""

from __future__ import annotations

import pytest

from tailhealth.config.errors import ConfigError
from tailhealth.config.loading import parse


def problems(text: str) -> list[str]:
    """Read a wrong configuration."""
    with pytest.raises(ConfigError) as caught:
        parse(text.encode())
    assert str(caught.value) == "\n".join(caught.value.problems)
    return [one.removeprefix("tailhealth.toml: ") for one in caught.value.problems]


def test_all_at_once() -> None:
    """Unknown keys, wrong types, wrong ranges and contradictions are told in one go, at every depth."""
    text = """
        mode = "enforcing"
        [bad]
        slower_than = "2 minutes"
        [[bad.route]]
        path = "/api/*"
        slwer_than = 3
        [guard]
        max_ejcted = 0.3
        [window]
        last = 0
        span = "20m"
        [pool.chat]
        upstreams = ["a:1", "{b}:2"]
        [pool.chat.eject]
        four = 3
    """
    assert problems(text) == [
        'mode: expected "enforce" or "observe", got "enforcing"; did you mean "enforce"?',
        'bad.slower_than: expected a duration such as "30s", "1m30s" or "250ms", or a number of seconds, got "2 minutes"',
        "bad.route[0].slwer_than: unknown key; did you mean slower_than?",
        "guard.max_ejcted: unknown key; did you mean max_ejected?",
        "window.last: must be at least 1 and at most 64, got 0",
        'pool.chat.upstreams: "{b}:2" is no upstream: it holds a placeholder or a character that no address has',
        "pool.chat.eject.four: unknown key; did you mean for?",
        'window.span: is "20m" and must not be longer than within, which is "10m"',
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[gard]\nsettle = 3", "gard: unknown key; did you mean guard?"),
        ("[guard]\nMAX_EJECTED = 1", "guard.MAX_EJECTED: unknown key"),
        ("[guard]\nmax-ejected = 1", "guard.max-ejected: unknown key; did you mean max_ejected?"),
        (
            "[guard]\nlateness = 1",
            "guard.lateness: unknown key; lateness belongs at the top of the file, before the first table",
        ),
        (
            '[[bad.route]]\npath = "/a"\nstalled_after = 1',
            "bad.route[0].stalled_after: unknown key; did you mean abandoned_after?; stalled_after belongs in [bad]",
        ),
        ("upstreams = []", "upstreams: unknown key; upstreams belongs in [pool.NAME]"),
        ('[[log]]\npath = "a"\nheader_time = "b"', "log[0].header_time: unknown key; header_time belongs in [log.fields]"),
        ('[[log]]\npath = "a"\nfields = { upstrem = "b" }', "log[0].fields.upstrem: unknown key; did you mean upstream?"),
        ('[[log]]\npath = "a"\nfields = { time = { unit = "s" } }', "log[0].fields.time.key: is needed"),
        ('[[log]]\nformat = "caddy"', "log[0].path: is needed"),
        ("zzz = 1", "zzz: unknown key"),
        ('"a b\\u001b" = 1', '"a b\\u001b": unknown key'),
    ],
)
def test_unknown_key(text: str, problem: str) -> None:
    """An unknown key is named with the nearest one, or with the table that has it."""
    assert problems(text) == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("window.within = 29", 'window.span: is "30s" and must not be longer than within, which is "29s"'),
        ("eject.max = 29", 'eject.max: is "29s" and must not be shorter than for, which is "30s"'),
        ("guard = { common_cause = false, chance = 0.1 }", "guard.chance: has no meaning while common_cause is false"),
        (
            "[[bad.route]]\nslower_than = 3",
            "bad.route[0]: needs path, method or host; what holds for every request stands in [bad]",
        ),
        (
            '[[bad.route]]\npath = "/a"\nignore = true\nslower_than = 3',
            "bad.route[0].ignore: nothing is judged on this route, so slower_than must not stand there",
        ),
        ("[pool.a]\nwindow.last = 3", "pool.a: needs upstreams, host, path or id, to say which pool it means"),
        ('pool.a.id = "x"\npool.b.id = "x"', "pool.b: matches the same pool as pool.a"),
        (
            'pool.a.upstreams = ["a:1", "b:1"]\npool.b.upstreams = ["B:1", "tcp/a:1"]',
            "pool.b: matches the same pool as pool.a",
        ),
        ("[pool]\nid = 3", "pool.id: expected a table with a name of its own, [pool.NAME], got 3"),
        ('[[log]]\npath = "a"\n[[log]]\npath = "a"', "log[1].path: is the path of another [[log]] too"),
        ("[[notify]]", "notify[0]: needs url or command, and not both; write one [[notify]] for each"),
        (
            '[[notify]]\nurl = "https://a"\ncommand = ["b"]',
            "notify[0]: needs url or command, and not both; write one [[notify]] for each",
        ),
        ('proxy.pid = "/a"', 'proxy.pid: has no meaning for kind "caddy"'),
        ("proxy.drain = true", 'proxy.drain: has no meaning for kind "caddy"'),
        ('proxy = { kind = "nginx", drain = true }', 'proxy.drain: has no meaning for kind "nginx"'),
        ('proxy = { kind = "nginx", admin = "http://a" }', 'proxy.admin: has no meaning for kind "nginx"'),
        (
            'proxy.kind = "nginx-plus"',
            'proxy.admin: is needed for kind "nginx-plus": the address of its API, such as "http://127.0.0.1:8080"',
        ),
        ('proxy.ca = "a"', "proxy.ca: needs an admin address that begins with https://"),
        ('proxy = { admin = "https://a", key = "k" }', "proxy.key: needs proxy.cert, the certificate that it belongs to"),
        ('proxy.headers.Origin = "a"', "proxy.headers.Origin: must not be sent: it switches the proxy's origin checks on"),
        ('proxy.headers."a b" = "c"', 'proxy.headers."a b": is no name of a header'),
    ],
)
def test_contradiction(text: str, problem: str) -> None:
    """Settings that are right alone and wrong together are told at the key to change."""
    assert problems(text) == [problem]


@pytest.mark.parametrize(
    "text",
    [
        "window.within = 30",
        "eject.max = 30",
        "guard.common_cause = false",
        'proxy = { kind = "nginx", timeout = 3, include = { chat = "/a" }, pid = "/a", test = ["a"], reload = ["b"] }',
        'proxy = { admin = "https://a", ca = "a", cert = "b", key = "c", headers = { Authorization = "env:A" } }',
        'proxy = { kind = "nginx-plus", admin = "http://a:8080", drain = true }',
        'pool.a = { upstreams = ["a:1"], host = "x" }\npool.b = { upstreams = ["a:1"], host = "y" }',
        "probation = false",
    ],
)
def test_no_contradiction(text: str) -> None:
    """The other side of each boundary is taken."""
    parse(text.encode())


def test_contradiction_with_the_top() -> None:
    """A pool's key can contradict one that it inherits; what it only inherits is reported once."""
    text = 'window.span = "5m"\npool.a = { id = "x", window.within = "4m" }\npool.b = { id = "y", window.last = 3 }'
    assert problems(text) == ['pool.a.window.span: is "5m" and must not be longer than within, which is "4m"']
    assert problems('window.span = "20m"\npool.b.id = "y"') == [
        'window.span: is "20m" and must not be longer than within, which is "10m"'
    ]


def test_faulty_key_contradicts_nothing() -> None:
    """A key that could not be read is reported for that alone, not for what its default would contradict."""
    assert len(problems('window.span = "20m"\nwindow.within = "30min"')) == 1
    assert len(problems('window.within = "30min"\npool.a = { id = "x", window.span = "20m" }')) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = 1\n\n= 3", "tailhealth.toml:3: Invalid statement (column 1)"),
        ("a = [1,", "tailhealth.toml:1: Invalid value"),
    ],
)
def test_syntax(text: str, problem: str) -> None:
    """Bad TOML is reported with its file and line."""
    assert problems(text) == [problem]


def test_unquoted_duration() -> None:
    """The commonest slip gets its remedy."""
    assert problems("[bad]\nslower_than = 30s")[0].endswith('; a duration needs quotes, as in "30s"')
    assert "quotes" not in problems("[bad]\nslower_than = thirty")[0]


def test_not_utf8() -> None:
    """Bytes that are no UTF-8 are reported with their line, a byte order mark is none of them."""
    with pytest.raises(ConfigError, match=r"^tailhealth\.toml:2: is no UTF-8 text$"):
        parse(b"lateness = 3\nnote = '\xff'")
    assert parse(b"\xef\xbb\xbflateness = 3").lateness == 3
