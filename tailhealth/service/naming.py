"""What the configuration calls the pools of the proxy (DESIGN sections 1 and 9)."""

from __future__ import annotations

from collections.abc import Sequence

from tailhealth.config import Config, ConfigError, Handler
from tailhealth.proxies.base import Place
from tailhealth.service.pools import NamedPool, ProxyPool


class ConfiguredNames:
    """Names pools by the `[pool]` tables. Places that two tables claim are left alone, and `clashes` says so."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self.clashes: dict[str, str] = {}
        """What is wrong with the tables, by the upstreams concerned."""

    def __call__(self, pool: ProxyPool) -> Sequence[NamedPool]:
        """Name a pool, or the several pools that tables with `host` or `path` make of it."""
        named: dict[str, list[str]] = {}
        self.clashes.pop("+".join(pool.addresses), None)
        for place in pool.places:
            try:
                named.setdefault(self._config.pool_name(_handler(pool, place)), []).append(place.key)
            except ConfigError as error:
                self.clashes["+".join(pool.addresses)] = str(error)
        tables = self._config.pool
        rest = {name: keys for name, keys in named.items() if name not in tables}
        found = [
            NamedPool(name, frozenset(keys), tables[name].host, tables[name].path)
            for name, keys in named.items()
            if name in tables
        ]
        if rest:
            # Places that no table tells apart are one pool, named after the first that has a name.
            found.append(NamedPool(next(iter(rest)), frozenset(key for keys in rest.values() for key in keys)))
        return found


def _handler(pool: ProxyPool, place: Place) -> Handler:
    return Handler(
        upstreams=pool.addresses,
        hosts=place.hosts,
        paths=place.paths,
        id=place.handler_id,
        backups=tuple(entry.address for entry in place.entries if entry.backup),
    )
