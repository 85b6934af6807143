"""nginx's own judgement of its servers: `max_fails` and `fail_timeout`, which are on unless a `server` line says otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from tailhealth.proxies.base import Entry, Place
from tailhealth.proxies.own_checks import OwnCheck

_MAX_FAILS, _FAIL_TIMEOUT = "1", "10s"
"""nginx's defaults."""


def own_checks(places: Iterable[Place]) -> tuple[OwnCheck, ...]:
    """Find the blocks in which nginx takes servers out by itself. A block with one server never does."""
    found = []
    for place in places:
        judged: dict[str, list[str]] = {}
        for entry in place.entries if len(place.entries) > 1 else ():
            fails, timeout = _settings(entry)
            if fails != "0":
                judged.setdefault(f"max_fails={fails} fail_timeout={timeout}", []).append(entry.address)
        found += [
            OwnCheck(place.key, active=False, words=words, upstreams=tuple(addresses)) for words, addresses in judged.items()
        ]
    return tuple(found)


def _settings(entry: Entry) -> tuple[str, str]:
    """Read `max_fails` and `fail_timeout`, from a line of the file (its last counts) or from the API of NGINX Plus."""
    given = dict(word.partition("=")[::2] for word in str(entry.raw.get("server", "")).split())
    given |= {key: str(value) for key, value in entry.raw.items() if key != "server"}
    return given.get("max_fails", _MAX_FAILS), given.get("fail_timeout", _FAIL_TIMEOUT)
