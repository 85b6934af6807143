"""Which changes of tailhealth's own configuration can be taken over while it runs (DESIGN section 8, SIGHUP)."""

from __future__ import annotations

from collections.abc import Iterator

from tailhealth.config import STDIN, Config, ConfigError, Proxy

_IN_PLACE = frozenset({"poll", "drift_poll", "coalesce", "min_apply_interval", "note"})
"""Keys of `[proxy]` that only say when; all others are about the way to the proxy, which is not changed under way."""


def check_runnable(config: Config) -> None:
    """See that there is something to follow.

    Raises:
        ConfigError: No log is named.
    """
    if not config.log:
        raise ConfigError([f"{config.source}: log: no log is named: add [[log]] with the path of the proxy's access log"])


def check_reloadable(old: Config, new: Config) -> None:
    """See that a running controller can take a configuration over.

    Raises:
        ConfigError: It can't; all reasons, one line each.
    """
    check_runnable(new)
    problems = [f"{new.source}: {key}: can't change while it runs: restart tailhealth" for key in _fixed(old, new)]
    if problems:
        raise ConfigError(problems)


def _fixed(old: Config, new: Config) -> Iterator[str]:
    for name in Proxy.__struct_fields__:
        if name not in _IN_PLACE and getattr(old.proxy, name) != getattr(new.proxy, name):
            yield f"proxy.{name}"
    if old.state_dir() != new.state_dir():
        yield "state.dir"
    if old.listen.http != new.listen.http:
        yield "listen.http"
    if old.notify != new.notify:
        yield "notify"
    if (STDIN in {log.path for log in old.log}) != (STDIN in {log.path for log in new.log}):
        yield 'log: path = "-"'
