"""Changes of Caddy's configuration as pure edits of its JSON: upstreams, weights and mark together, in one request."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tailhealth.proxies.base import Change, Conflict
from tailhealth.proxies.caddy_config import digest, policies, steps

if TYPE_CHECKING:
    from collections.abc import Sequence

UNADDRESSABLE = frozenset({"", ".", "..", "..."})
"""Keys that can't be a step of a path in Caddy's admin interface, as those with a slash can't."""


def ancestor(changes: Sequence[Change]) -> tuple[str, ...]:
    """Find the nearest part of the configuration that holds all handlers to change and that a path can name."""
    reachable = []
    for change in changes:
        path = steps(change.place.key)
        end = next((index for index, step in enumerate(path) if "/" in step or step in UNADDRESSABLE), len(path))
        reachable.append(path[:end])
    shared = takewhile(lambda group: len(set(group)) == 1, zip(*reachable, strict=False))
    return tuple(group[0] for group in shared)


def url(path: Sequence[str]) -> str:
    """Write a path in the configuration as the admin interface wants it."""
    return "/config/" + "/".join(quote(step, safe="") for step in path)


def edited(part: Any, base: tuple[str, ...], changes: Sequence[Change]) -> Any:
    """Make the changes in a part of the configuration that was just read at `base`, and return it.

    Raises:
        Conflict: A handler is gone, or is not what its change was planned on.
    """
    found = []
    for change in changes:
        handler = _reach(part, steps(change.place.key)[len(base) :])
        if handler is None or digest(handler) != change.place.version:
            raise Conflict(f"{change.place.key} is not what it was when the change was planned")
        found.append(handler)
    for change, handler in zip(changes, found, strict=True):
        rewrite(handler, change)
    return part


def _reach(part: Any, path: tuple[str, ...]) -> dict[str, Any] | None:
    for step in path:
        try:
            part = part[int(step)] if isinstance(part, list) else part[step]
        except (LookupError, TypeError, ValueError):
            return None
    return part if isinstance(part, dict) else None


def rewrite(handler: dict[str, Any], change: Change) -> None:
    """Give a handler the upstreams of a change. Weights go by position, so they move with their upstreams."""
    mark = change.mark
    upstreams = []
    for entry in change.wanted:
        raw = dict(entry.raw)
        if entry.limit is not None:
            raw["max_requests"] = entry.limit
        if mark is not None and not entry.own_id:
            raw["@id"], mark = mark, None
        upstreams.append(raw)
    handler["upstreams"] = upstreams
    slots = [policy for policy in policies(handler) if policy.get("weights")]
    for index, policy in enumerate(slots):
        policy["weights"] = [entry.weights[index] for entry in change.wanted]
