"""Pools that are not acted on for a while, and changes that are not made again (DESIGN section 8). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from tailhealth.service.plan import Edit, edit_to
from tailhealth.service.unrest import BROKEN, BROKEN_WITHIN, REWRITES, REWRITES_WITHIN, Aftermath, Rewrites

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tailhealth.service.pools import Group
    from tailhealth.service.standing import Standing
    from tailhealth.service.state import Listing

REFUSED_AGAIN = 600.0
"""A refused change is made again when it or the configuration is another one, else after so many seconds: what the proxy
did not like may have been a file beside its configuration."""

Print: TypeAlias = "tuple[tuple[str, str, Listing], ...]"


class Refusal(msgspec.Struct, frozen=True):
    """A change of one pool that the proxy would not take."""

    change: Print
    why: str
    until: float


def print_of(edits: Iterable[Edit]) -> Print:
    """Tell changes apart: the same lists in the same configuration are the same change."""
    return tuple((edit.standing.place.key, edit.standing.place.version, edit.aim) for edit in edits)


def of_pool(edits: Iterable[Edit], pool: str) -> tuple[Edit, ...]:
    """Choose the edits of one pool."""
    return tuple(edit for edit in edits if edit.pool == pool)


class Halts:
    """Remembers rewrites by others, changes that broke the proxy, and changes that it refused."""

    def __init__(self) -> None:
        self.broken: dict[str, str] = {}
        """Pools that a change of ours broke, with the reason."""
        self._rewrites = Rewrites()
        self._aftermath = Aftermath()
        self._last: tuple[Edit, ...] = ()
        self._back: tuple[Edit, ...] = ()
        self._refusals: dict[str, Refusal] = {}
        self._apart = False

    def note_rewrite(self, key: str, pool: str, at: float) -> None:
        """The operator, or a generator of his, rewrote a list: what broke or was refused before may be well now."""
        self._rewrites.note(key, at)
        self.resume(pool)

    def note_failed(self, at: float, count: int) -> None:
        """Requests failed without an upstream."""
        self._aftermath.note(at, count)

    def resume(self, pool: str) -> None:
        """Act on a pool again."""
        self.broken.pop(pool, None)
        self._refusals.pop(pool, None)

    def rename(self, names: Mapping[str, str]) -> None:
        """Pools go on under other names, by old name."""
        self.broken = {names.get(pool, pool): why for pool, why in self.broken.items()}
        self._refusals = {names.get(pool, pool): one for pool, one in self._refusals.items()}
        self._last = tuple(msgspec.structs.replace(edit, pool=names.get(edit.pool, edit.pool)) for edit in self._last)
        self._back = tuple(msgspec.structs.replace(edit, pool=names.get(edit.pool, edit.pool)) for edit in self._back)

    def broke(self) -> bool:
        """Tell whether the latest change broke the proxy."""
        return self._aftermath.broke()

    def applied(self, edits: tuple[Edit, ...], at: float) -> None:
        """A change was read back. That of putting an older list back is not judged."""
        for edit in edits:
            self._refusals.pop(edit.pool, None)
        if any(edit.pool in self.broken for edit in edits):
            self._aftermath.forget()
        else:
            self._last = edits
            self._aftermath.applied(at)

    def judge(self) -> list[str]:
        """Condemn the latest change if it broke the proxy; return the pools that are not acted on from here on."""
        if not self._aftermath.broke():
            return []
        self._aftermath.forget()
        why = (
            f"within {BROKEN_WITHIN:g} s after a change at least {BROKEN} requests failed without an upstream, none before: "
            "the list before that change was put back. Look into the proxy's log, then `tailhealth resume`"
        )
        self.broken |= {edit.pool: why for edit in self._last}
        self._back, self._last = self._last, ()
        return sorted({edit.pool for edit in self._back})

    def back(self, standings: Iterable[Standing]) -> tuple[Edit, ...]:
        """Tell what is to be put back. It ends when it is done, or when the operator changed the list meanwhile."""
        now = {one.place.key: one for one in standings}
        edits = []
        for edit in self._back:
            standing = now.get(edit.standing.place.key)
            if standing is not None and standing.original == edit.standing.original and not standing.problem:
                edits.append(edit_to(edit.pool, standing, edit.standing.listing))
        found = tuple(edit for edit in edits if edit is not None)
        if not found:
            self._back = ()
        return found

    def halted(self, groups: Sequence[Group], now: float) -> dict[str, str]:
        """Name the pools that are not acted on, with the reason."""
        result = {}
        for group in groups:
            ends = [self._rewrites.calm_at(one.place.key, now) for one in group.standings]
            if group.name in self.broken:
                result[group.name] = self.broken[group.name]
            elif any(end is not None for end in ends):
                result[group.name] = (
                    f"others rewrote its list more than {REWRITES} times in {REWRITES_WITHIN / 60:g} minutes: "
                    "let the generator leave the list alone, or leave the pool to it"
                )
        return result

    def permitted(self, edits: tuple[Edit, ...], now: float) -> tuple[Edit, ...]:
        """Leave out what was refused already. After a refusal, pools are changed one by one, to find the one at fault."""
        pools = dict.fromkeys(edit.pool for edit in edits)
        self._refusals = {
            pool: one
            for pool, one in self._refusals.items()
            if now < one.until and one.change == print_of(of_pool(edits, pool))
        }
        left = [pool for pool in pools if pool not in self._refusals]
        self._apart = self._apart and len(left) > 1
        chosen = left[:1] if self._apart else left
        return tuple(edit for edit in edits if edit.pool in chosen)

    def refused(self, edits: tuple[Edit, ...], why: str, now: float) -> None:
        """The proxy would not take a change."""
        pools = {edit.pool for edit in edits}
        if len(pools) > 1:
            self._apart = True
        for pool in pools if len(pools) == 1 else ():
            self._refusals[pool] = Refusal(print_of(edits), why, now + REFUSED_AGAIN)

    def refusals(self) -> dict[str, str]:
        """Name the pools whose change the proxy would not take, with its words."""
        return {pool: one.why for pool, one in self._refusals.items()}
