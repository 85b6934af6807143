"""When the engine's memory is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailhealth.core.engine import Engine
from tailhealth.core.model import Command, Pool, PoolMember, Pools, Verb
from tailhealth.core.rules import Settings
from tailhealth.service.journal import Journal, Reading
from tailhealth.service.keeping import LONGEST, Keeper
from tailhealth.service.state import FILE, State

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Desk:
    """A keeper with its parts, and an engine with an ejection."""

    def __init__(self, folder: Path) -> None:
        self.now = 1000.0
        self.file = folder / FILE
        self.state = State.open(folder)
        self.journal = Journal(folder / "journal.jsonl")
        self.keeper = Keeper(self.state, self.journal, lambda: self.now)
        self.engine = Engine(Settings(lateness=0.0))
        self.engine.feed([Pools(900.0, (Pool("p", (PoolMember("a:1"), PoolMember("b:1"))),))])
        self.engine.feed([Command(950.0, Verb.EJECT, "a:1", "p")])


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """One with an empty state directory."""
    desk = Desk(tmp_path)
    yield desk
    desk.state.close()
    desk.journal.close()


@pytest.mark.parametrize(("after", "is_there"), [(0.99 * LONGEST, False), (LONGEST, True), (-3600.0, True)])
def test_it_waits_for_a_change_only_so_long(desk: Desk, after: float, is_there: bool) -> None:
    """A change that follows is written with it; where none comes, or the clock was set back, it is written by itself."""
    desk.keeper.note(desk.engine)
    desk.now += after
    desk.keeper.turn()

    assert desk.file.exists() is is_there
    assert [one.upstream for one in desk.state.contents.carried] == ["a:1"]


def test_a_second_note_does_not_put_it_off(desk: Desk) -> None:
    """However often something is decided, it is written in time."""
    desk.keeper.note(desk.engine)
    desk.now += 0.6 * LONGEST
    desk.keeper.note(desk.engine)
    desk.now += 0.6 * LONGEST
    desk.keeper.turn()

    assert desk.file.exists()


def test_it_can_be_asked_for_at_once(desk: Desk) -> None:
    """And then nothing is left to do."""
    desk.keeper.note(desk.engine)
    desk.keeper.keep()
    assert desk.file.exists()
    before = desk.file.stat().st_ino
    desk.now += 10 * LONGEST
    desk.keeper.turn()

    assert desk.file.stat().st_ino == before


def test_a_disk_that_fails_is_told(desk: Desk) -> None:
    """In the journal, with the file; it goes on."""
    desk.file.with_name(f"{FILE}.new").mkdir()
    desk.keeper.note(desk.engine)
    desk.keeper.keep()

    (trouble,) = [one for one in Reading(desk.journal.path).records() if one["type"] == "trouble"]
    assert trouble["kind"] == "state_unwritable"
    assert str(desk.file) in trouble["why"]
