"""What the journal tells of one upstream, pool by pool: decisions, changes in the proxy, and the operator's hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec

from tailhealth.core.heirs import heirs
from tailhealth.core.model import Decision, Pools

KEPT = 200
"""So many of the latest decisions and events of a pool are kept."""


class Change(msgspec.Struct, frozen=True):
    """A change in the proxy that left the upstream out, limited, or like the others."""

    at: float
    state: str
    """`out`, `limited` or `in`."""
    answer: str
    """The proxy's own; it says so when none came."""
    seconds: float | None
    limit: int | None = None


class Drift(msgspec.Struct, frozen=True):
    """Somebody else changed the proxy's configuration."""

    at: float
    what: str
    """See `service.drift.What`."""
    concerns: bool
    """It ended the ejection or the limit of this upstream."""


class Account(msgspec.Struct, frozen=True):
    """All that is told of an upstream in one pool, the oldest first."""

    pool: str
    decisions: tuple[Decision, ...]
    changes: tuple[Change, ...]
    drifts: tuple[Drift, ...]


class Telling(msgspec.Struct, frozen=True):
    """What a journal tells of one upstream."""

    accounts: tuple[Account, ...]
    """One per pool that had it, by the pool's latest name."""
    upstreams: tuple[str, ...]
    """All upstreams of all pools, as they were last named."""
    began: float | None
    """Time of the first record; None: the journal is empty."""
    stopped: float | None
    """When the last run stopped in order; None: it still runs, or it was killed."""
    restored: float | None
    """When the operator's list was put back after the last change; None: it was not."""
    unreadable: int = 0
    """Records that are not what they should be."""


class _Book:
    """Collects what concerns an upstream in one pool."""

    def __init__(self) -> None:
        self.decisions: deque[Decision] = deque(maxlen=KEPT)
        self.changes: deque[Change] = deque(maxlen=KEPT)
        self.drifts: deque[Drift] = deque(maxlen=KEPT)

    def account(self, pool: str) -> Account:
        return Account(pool, tuple(self.decisions), tuple(self.changes), tuple(self.drifts))


class _Reader:
    """Goes through records and keeps what concerns one upstream."""

    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.books: dict[str, _Book] = {}
        self.pools: dict[str, list[str]] = {}
        self.began: float | None = None
        self.stopped: float | None = None
        self.restored: float | None = None

    def read(self, record: dict[str, Any]) -> None:
        at = record["at"]
        self.began = at if self.began is None else self.began
        match record["type"]:
            case "started":
                self.stopped = None
            case "stopped":
                self.stopped = at
            case "pools":
                self._rename(msgspec.convert(record, Pools))
            case "decision" if record["upstream"] == self.upstream:
                self._book(record["pool"]).decisions.append(msgspec.convert(record, Decision))
            case "apply":
                self._apply(record)
            case "restored" if record["done"]:
                self.restored = at
            case "drift":
                concerns = self.upstream in record["upstreams"]
                if concerns or self.upstream in self.pools.get(record["pool"], ()):
                    self._book(record["pool"]).drifts.append(Drift(at, record["what"], concerns))

    def _book(self, pool: str) -> _Book:
        return self.books.setdefault(pool, _Book())

    def _rename(self, pools: Pools) -> None:
        """Pools go on under other names, and so do their books."""
        now = {pool.name: [member.address for member in pool.members] for pool in pools.pools}
        for new, old in heirs(self.pools, now).items():
            if old in self.books:
                self.books.setdefault(new, self.books.pop(old))
        self.pools = now

    def _apply(self, record: dict[str, Any]) -> None:
        self.restored = None
        seconds = record.get("seconds")
        for change in record["changes"]:
            limit = change["limited"].get(self.upstream)
            state = "out" if self.upstream in change["out"] else "in" if limit is None else "limited"
            told = Change(record["at"], state, record["answer"], seconds, limit)
            before = self.books[change["pool"]].changes if change["pool"] in self.books else ()
            # A pool may stand in several places, and a change may be about others of it.
            if (before and (before[-1].state, before[-1].limit) != (state, limit)) or (not before and state != "in"):
                self._book(change["pool"]).changes.append(told)


def telling(records: Iterable[dict[str, Any]], upstream: str) -> Telling:
    """Read a journal for what it tells of one upstream.

    Args:
        records: Of `Reading.records`.
        upstream: Canonical address.
    """
    reader = _Reader(upstream)
    unreadable = 0
    for record in records:
        try:
            reader.read(record)
        except (LookupError, TypeError, ValueError):
            unreadable += 1  # changed by hand, or cut short by a full disk
    here = [name for name, members in reader.pools.items() if upstream in members]
    names = [*here, *(name for name in reader.books if name not in here)]
    return Telling(
        accounts=tuple(reader.books.get(name, _Book()).account(name) for name in names),
        upstreams=tuple(dict.fromkeys(one for members in reader.pools.values() for one in members)),
        began=reader.began,
        stopped=reader.stopped,
        restored=reader.restored,
        unreadable=unreadable,
    )
