"""Which pool is which, after the operator's configuration gave pools other names or other upstreams."""

from __future__ import annotations

from collections.abc import Collection, Mapping


def heirs(before: Mapping[str, Collection[str]], after: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Find the pools that go on under another name.

    A pool that no table names is named after its upstreams, so that one more upstream makes another name of it: what is known
    of the others must not be lost by that.

    Args:
        before: Pools by name, each with its upstreams.
        after: The same, as they are now.

    Returns:
        By its new name, the old name of each such pool: of those that are gone, the one with which it shares most upstreams.
    """
    gone = [name for name in before if name not in after]
    pairs = [
        (-len(set(before[old]) & set(members)), at, order, old, new)
        for order, (new, members) in enumerate(after.items())
        if new not in before
        for at, old in enumerate(gone)
    ]
    found: dict[str, str] = {}
    for shared, _, _, old, new in sorted(pairs):
        if shared and new not in found and old not in found.values():
            found[new] = old
    return found
