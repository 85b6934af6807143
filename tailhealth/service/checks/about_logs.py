"""Findings about the logs: can they be read, and do they hold what judging needs?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from tailhealth.service.checks.facts import Facts, LogFacts
from tailhealth.service.checks.finding import Finding
from tailhealth.service.thinning import thinned

_OTHERS = 0o077
_MANY = 0.05
"""From this share of unreadable lines on, they are worth a word."""
_SOME = 20


def unreadable(facts: Facts) -> Iterator[Finding]:
    """Find logs that are not there, or not for us to read."""
    for log in facts.logs:
        if log.missing:
            text = "there is no such file"
            yield Finding("log_missing", log.path, text, "let the proxy write its access log there, or correct `[[log]] path`")
        elif log.unreadable:
            yield Finding("log_unreadable", log.path, f"it can't be read: {log.unreadable}", _permission(facts, log))


def _permission(facts: Facts, log: LogFacts) -> str:
    group = "put the user that runs tailhealth into the group of the file"
    if facts.config.proxy.kind == "caddy" and (log.mode is None or not log.mode & _OTHERS):
        return f"Caddy creates its logs with mode 0600: write `mode 0640` into the block of `output file`, and {group}"
    return f"let it and its folder be readable: {group}"


def in_lines(facts: Facts) -> Iterator[Finding]:
    """Hand on what the readers found in the lines, unless the proxy's configuration says it better."""
    for log in facts.logs:
        known = thinned(log.path, facts.proxy.outputs)
        for code, text in (log.hints | known).items():
            yield Finding(code, log.path, text)
        if log.skipped >= _SOME and log.skipped >= _MANY * log.lines:
            text = f"{log.skipped} of its last {log.lines} lines can't be read"
            yield Finding("unreadable_lines", log.path, text, "`tailhealth parse` shows why, with an example of each kind")


def unlogged(facts: Facts) -> Iterator[Finding]:
    """Find pools whose requests are in no log."""
    for group in facts.proxy.groups:
        if not all(one.place.logged for one in group.standings):
            text = "requests to it pass through a server without an access log: they are not judged"
            yield Finding("unlogged", group.name, text, "switch the access log on for every site that leads to it")


def by_nginx(facts: Facts) -> Iterator[Finding]:
    """Find what nginx's `access_log` directives hold back or leave out."""
    names = {PurePath(log.path).name: log.path for log in facts.logs}
    for log in facts.proxy.nginx.main.logs if facts.proxy.nginx is not None else ():
        path = names.get(PurePath(log.path).name)
        if path is not None and log.buffered:
            text = "its `access_log` is buffered: late lines are late judgement"
            yield Finding("buffered_log", path, text, "take `buffer`, `flush` and `gzip` off the directive")
        if path is not None and log.condition:
            text = (
                f"its `access_log` has `if={log.condition}`: what that leaves out is not judged, and a ratio without it may lie"
            )
            yield Finding("conditional_log", path, text, "write every request of the pools into this log")
