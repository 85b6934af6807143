"""The notes of the configuration file that concern a pool: why a value is what it is, in the operator's words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tailhealth.config.errors import dotted
from tailhealth.config.loading import Config
from tailhealth.config.merge import SECTIONS


class Note(NamedTuple):
    """A note and the table that it stands at; empty: the top of the file."""

    table: str
    text: str


def notes_for(config: Config, pool: str) -> tuple[Note, ...]:
    """Return the notes of all tables that concern a pool, those of the whole file first."""
    return tuple(one for one in _notes(config, pool) if one.text)


def _notes(config: Config, pool: str) -> Iterator[Note]:
    yield Note("", config.note)
    yield Note("proxy", config.proxy.note)
    for number, log in enumerate(config.log):
        yield Note(dotted(("log", number)), log.note)
    own = config.pool.get(pool)
    if own is not None:
        yield Note(dotted(("pool", pool)), own.note)
    for name in SECTIONS:
        above = getattr(config, name)
        table = above if own is None else getattr(own, name)
        if table is None:
            continue
        # A table of a pool inherits what it does not say, its note too.
        inherited = own is None or (above is not None and table.note == above.note)
        yield Note(name if inherited else dotted(("pool", pool, name)), table.note)
    routes = config.bad.route if own is None else own.bad.route
    path = ("bad",) if routes == config.bad.route else ("pool", pool, "bad")
    for number, route in enumerate(routes):
        yield Note(dotted((*path, "route", number)), route.note)
