"""Which changes of the configuration can be taken over while it runs."""

from __future__ import annotations

import pytest

from tailhealth.config import ConfigError, parse
from tailhealth.service.reloading import check_reloadable, check_runnable

BASE = '[[log]]\npath = "/var/log/a.log"\n[state]\ndir = "/var/lib/tailhealth"\n'


@pytest.mark.parametrize(
    "text",
    [
        BASE,
        'mode = "observe"\non_stop = "leave"\nlateness = "5s"\n' + BASE,
        BASE + '[window]\nratio = 0.9\n[guard]\nprotected = ["a:1"]\n[pool.x]\nupstreams = ["a:1", "b:1"]\n',
        BASE + '[proxy]\npoll = "1s"\ndrift_poll = "1m"\ncoalesce = 0\nmin_apply_interval = "9s"\nnote = "x"\n',
        BASE + '[[log]]\npath = "/var/log/b.log"\n[journal]\nkeep = 9\n',
        BASE.replace("a.log", "b.log"),
    ],
)
def test_what_can_change(text: str) -> None:
    """Rules, names, logs, times, and what happens at the end."""
    check_reloadable(parse(BASE.encode()), parse(text.encode()))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (BASE + '[proxy]\nadmin = "http://127.0.0.1:1"\n', ["proxy.admin"]),
        (BASE + '[proxy]\nheaders = {X-Key = "env:KEY"}\ntimeout = "1s"\n', ["proxy.headers", "proxy.timeout"]),
        (BASE + '[proxy]\nkind = "nginx"\ninclude = {chat = "/etc/nginx/chat.conf"}\n', ["proxy.kind", "proxy.include"]),
        (BASE.replace("/var/lib", "/srv"), ["state.dir"]),
        (BASE + '[listen]\nhttp = "127.0.0.1:9311"\n', ["listen.http"]),
        (BASE + '[[log]]\npath = "-"\n', ['log: path = "-"']),
    ],
)
def test_what_needs_a_restart(text: str, keys: list[str]) -> None:
    """The way to the proxy, and what was opened at the start; each is named with the remedy."""
    with pytest.raises(ConfigError) as caught:
        check_reloadable(parse(BASE.encode()), parse(text.encode()))
    assert caught.value.problems == [f"tailhealth.toml: {key}: can't change while it runs: restart tailhealth" for key in keys]


def test_nothing_to_follow() -> None:
    """Without a log there is no run, at the start or later."""
    with pytest.raises(ConfigError, match="no log is named"):
        check_runnable(parse(b""))
    with pytest.raises(ConfigError, match="no log is named"):
        check_reloadable(parse(BASE.encode()), parse(b""))
