"""Named states: what keeps the reconciler from doing all that is desired, since when, and in whose words."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tailhealth.proxies.base import Conflict, Forbidden, ProxyError, Retryable, Unloadable


class Kind(StrEnum):
    """What is the matter. All of them end by themselves when the cause goes away, `STOPPED` when the operator acts."""

    ADMIN_UNREACHABLE = "admin_unreachable"
    FORBIDDEN = "forbidden"
    """The admin interface turns us away."""
    NO_PROXY = "no_proxy"
    """What answers there is not the proxy's admin interface, or our own access to it is misconfigured."""
    UNLOADABLE = "unloadable"
    """The proxy does not take its own configuration as it stands, and could not take any change of it."""
    REFUSED = "refused"
    """The proxy would not take a change."""
    CONFLICT = "conflict"
    """Others change the configuration at the same time."""
    GENERATOR = "generator"
    """Others rewrite the list again and again: the pool is not acted on."""
    STOPPED = "stopped_acting"
    """A change broke the proxy and was taken back: the pool is not acted on."""
    UNACTIONABLE = "unactionable"
    """The configuration does not allow to act on it."""
    LAST_UPSTREAM = "last_upstream"
    """A removal would have left nothing that can serve, and was not made."""
    STATE_UNWRITABLE = "state_unwritable"
    MISFIT = "misfit"
    """Something in tailhealth's own configuration means nothing in the proxy."""


ABOUT_THE_PROXY = frozenset(
    {Kind.ADMIN_UNREACHABLE, Kind.FORBIDDEN, Kind.NO_PROXY, Kind.UNLOADABLE, Kind.CONFLICT, Kind.STATE_UNWRITABLE}
)
"""Kinds that end when the proxy was read, changed and read back without trouble."""


_OF_ERRORS: dict[type[ProxyError], Kind] = {
    Conflict: Kind.CONFLICT,
    Unloadable: Kind.UNLOADABLE,
    Retryable: Kind.ADMIN_UNREACHABLE,
    Forbidden: Kind.FORBIDDEN,
    ProxyError: Kind.NO_PROXY,
}


def kind_of(error: Exception) -> Kind:
    """Name the condition that an error of a proxy leads to, or of writing the state file."""
    return next((kind for one, kind in _OF_ERRORS.items() if isinstance(error, one)), Kind.STATE_UNWRITABLE)


class Condition(msgspec.Struct, frozen=True):
    """One of them."""

    kind: Kind
    why: str
    """In the proxy's own words where it has some, with the remedy."""
    since: float
    pool: str | None = None


class Conditions:
    """All that hold now."""

    def __init__(self) -> None:
        self._held: dict[tuple[Kind, str | None], Condition] = {}

    def set(self, kind: Kind, why: str, at: float, pool: str | None = None) -> bool:
        """Let a condition hold; tell whether that is news: it did not hold, or for another reason."""
        before = self._held.get((kind, pool))
        since = at if before is None else before.since
        self._held[kind, pool] = Condition(kind, why, since, pool)
        return before is None or before.why != why

    def only(self, kind: Kind, whys: dict[str, str], at: float) -> list[Condition]:
        """Let a kind hold for exactly these pools; return what is new."""
        for held, pool in list(self._held):
            if held is kind and pool not in whys:
                del self._held[held, pool]
        return [self._held[kind, pool] for pool, why in whys.items() if self.set(kind, why, at, pool)]

    def all_well(self) -> list[Condition]:
        """The proxy was read and changed without trouble; return what ends by that."""
        return [self._held.pop(key) for key in list(self._held) if key[0] in ABOUT_THE_PROXY]

    def clear(self, kind: Kind, pool: str | None = None) -> None:
        """End a condition, if it holds."""
        self._held.pop((kind, pool), None)

    def all(self) -> tuple[Condition, ...]:
        """Return all that hold, those of the whole proxy first, then by pool."""
        return tuple(sorted(self._held.values(), key=lambda one: (one.pool or "", one.kind)))
