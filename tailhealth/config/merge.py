"""A pool's table overrides the tables of the top key by key (DESIGN section 9)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tailhealth.config.errors import KeyPath
from tailhealth.config.rules import Clash

SECTIONS = ("bad", "window", "eject", "probation", "guard")


def merged(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the file with every pool's table completed from the top, so that each can be read by itself.

    A list such as `bad.route` is one key: a pool's own replaces that of the top.
    """
    tables = raw.get("pool")
    if not isinstance(tables, dict):
        return raw
    return raw | {
        "pool": {name: _completed(table, raw) if isinstance(table, dict) else table for name, table in tables.items()}
    }


def _completed(table: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    inherited = {name: raw[name] for name in ("mode", *SECTIONS) if name in raw}
    for name in SECTIONS:
        above, own = raw.get(name), table.get(name)
        if isinstance(above, dict) and isinstance(own, dict):
            inherited[name] = above | own
            table = {key: one for key, one in table.items() if key != name}
    return inherited | table


def reportable(
    clashes: list[tuple[KeyPath, Clash]], raw: dict[str, Any], faulty: Collection[KeyPath]
) -> list[tuple[KeyPath, str]]:
    """Choose the contradictions to report.

    One that stands in a pool's table only because the table inherits it is reported at the top alone; one that involves a
    faulty key may go away with that fault, and is left for the next time.
    """
    chosen = []
    for path, clash in clashes:
        involved = [(*path, *clash.at), *((*path, key) for key in clash.others)]
        if any(_holds(raw, one) for one in involved) and not any(one in faulty or _above(one) in faulty for one in involved):
            chosen.append(((*path, *clash.at), clash.text))
    return chosen


def _above(path: KeyPath) -> KeyPath:
    """Where a pool's key is inherited from."""
    return path[2:] if path[:1] == ("pool",) else path


def _holds(raw: Any, path: KeyPath) -> bool:
    for part in path:
        inside = part in raw if isinstance(raw, dict) else isinstance(raw, list) and isinstance(part, int) and part < len(raw)
        if not inside:
            return False
        raw = raw[part]
    return True
