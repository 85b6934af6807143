"""The one way in which the proxy is changed, and the way back: intent first, then the change (DESIGN section 8)."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec

from tailhealth.proxies.base import Applied, Conflict, Proxy, ProxyError, Retryable
from tailhealth.service.drift import records
from tailhealth.service.plan import Edit, plan
from tailhealth.service.pools import Group, grouped, plain_naming
from tailhealth.service.standing import survey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailhealth.service.journal import Journal
    from tailhealth.service.state import State

ATTEMPTS = 5
"""How often `restore` reads and changes: a reload may cut an answer off, another writer may come between."""


def make(proxy: Proxy, state: State, edits: Sequence[Edit], **also: Any) -> Applied:
    """Write down what is meant to be done, then do it.

    Args:
        proxy: The proxy.
        state: Holds the records of what is out already.
        edits: What is to be done; at least one.
        also: Further fields of the state to write in the same step.

    Raises:
        StateError: The intent could not be written: nothing was done.
        ProxyError: What the proxy said.
    """
    contents = state.contents
    serials = count(contents.serial + 1)
    marks = [edit.mark(lambda: contents.mark(next(serials))) for edit in edits]
    keys = {edit.standing.place.key for edit in edits}
    intents = [edit.record(_old_mark(edit) if edit.whole else mark) for edit, mark in zip(edits, marks, strict=True)]
    untouched = [one for one in contents.kept if one.key not in keys]
    state.update(kept=(*untouched, *intents), serial=next(serials) - 1, **also)
    return proxy.apply([edit.change(mark) for edit, mark in zip(edits, marks, strict=True)])


def _old_mark(edit: Edit) -> str | None:
    """Until the way back is done, the record answers to the mark that still stands."""
    return None if edit.standing.kept is None else edit.standing.kept.mark


def missed(edits: Sequence[Edit], groups: Sequence[Group]) -> list[str]:
    """Name the places that, read back, do not list what they were given."""
    now = {one.place.key: one.listing for group in groups for one in group.standings}
    return [edit.standing.place.key for edit in edits if now.get(edit.standing.place.key) != edit.aim]


def told(edits: Sequence[Edit]) -> list[dict[str, Any]]:
    """Tell what changes, for the journal."""
    return [
        {
            "pool": edit.pool,
            "place": edit.standing.place.key,
            "out": sorted(entry.address for index, entry in enumerate(edit.standing.original) if index not in dict(edit.aim)),
            "limited": {
                edit.standing.original[index].address: limit
                for index, limit in edit.aim
                if limit != edit.standing.original[index].limit
            },
        }
        for edit in edits
    ]


class Restored(msgspec.Struct, frozen=True):
    """What `restore` did."""

    done: bool
    """The proxy has the operator's list everywhere."""
    upstreams: tuple[str, ...]
    """Addresses that were put back, or whose limit was lifted."""
    why: str = ""
    """Why it is not done, in the proxy's words."""


def restore(proxy: Proxy, state: State, journal: Journal, now: float, *, forget: bool = False) -> Restored:
    """Put the operator's list back everywhere, from the state file alone.

    Args:
        proxy: The proxy.
        state: Its records say what is out; with them gone there is nothing to put back.
        journal: Where it is written down.
        now: Epoch seconds.
        forget: Drop the running ejections too; else a later start applies them again.

    Raises:
        StateError: The state file can't be written.
    """
    if forget:
        carried = (msgspec.structs.replace(one, ejection=None, probation_since=None) for one in state.contents.carried)
        state.update(wished=(), carried=tuple(carried))
    back: dict[str, None] = {}
    why = ""
    for _ in range(ATTEMPTS):
        try:
            groups, why = _read(proxy, state)
            edits = plan(groups, {}).edits
            if not edits:
                break
            for edit in edits:
                back |= dict.fromkeys(_concerned(edit))
            applied = make(proxy, state, edits)
            journal.note("apply", now, answer=applied.answer, seconds=applied.seconds, changes=told(edits))
            why = "the list was given back, and is not there when read back"
        except (Conflict, Retryable) as error:
            why = str(error)
        except ProxyError as error:
            why = str(error)
            break
    journal.note("restored", now, done=not why, upstreams=list(back), why=why, forget=forget)
    return Restored(not why, tuple(back), why)


def _read(proxy: Proxy, state: State) -> tuple[tuple[Group, ...], str]:
    """Read the proxy and confirm what is done; tell also what can't be put back, and why."""
    contents = state.contents
    found = survey(proxy.read().places, contents.kept, contents.owns, contents.retired)
    state.update(**records(found, contents))
    stuck = next((f"{one.place.key}: {one.problem}" for one in found.standings if one.kept is not None and one.problem), "")
    return grouped(found.standings, plain_naming), stuck


def _concerned(edit: Edit) -> list[str]:
    now = dict(edit.standing.listing)
    return [edit.standing.original[index].address for index, limit in edit.aim if index not in now or now[index] != limit]
