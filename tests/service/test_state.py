"""The state file survives crashes, is private, and is never believed when it is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from tailhealth.core.model import Carried, Ejection, Paused, Reason, Source
from tailhealth.proxies.base import Entry, UpstreamState
from tailhealth.service.state import FILE, Contents, Kept, State, StateError, Wish, Wished

if TYPE_CHECKING:
    from pathlib import Path

KEPT = Kept(
    "k", "tailhealth-x-1", "p", (Entry("a:1", {"dial": "a:1"}, weights=(3,)), Entry("b:1", {"dial": "b:1"})), ((1, None),)
)
CARRIED = Carried("p", "a:1", Ejection(1.0, 31.0, 0, Source.POLICY, Reason.RATIO))


def test_contents_come_back(tmp_path: Path) -> None:
    """All that is written is read again, by the same controller."""
    wished = Wished("p", "a:1", Wish(UpstreamState.OUT, until=31.0, why="6 of 8 bad"))
    with State.open(tmp_path / "deep" / "er") as state:
        token = state.contents.token
        state.update(kept=(KEPT,), wished=(wished,), carried=(CARRIED,), paused=(Paused(None, None),), positions={"l": [1, 2]})
    with State.open(tmp_path / "deep" / "er") as state:
        assert state.contents.token == token
        assert state.contents.kept == (KEPT,)
        assert state.contents.wished == (wished,)
        assert state.contents.carried == (CARRIED,)
        assert state.contents.paused == (Paused(None, None),)
        assert state.contents.positions == {"l": [1, 2]}


def test_the_file_is_private(tmp_path: Path) -> None:
    """Nobody but the user may read the state; the directory is made for the user alone."""
    with State.open(tmp_path / "s") as state:
        state.update(serial=1)
    assert (tmp_path / "s" / FILE).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "s" / "lock").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700


def test_one_controller_per_directory(tmp_path: Path) -> None:
    """A second controller is turned away with the process that holds the directory; later it may have it."""
    with State.open(tmp_path), pytest.raises(StateError, match=r"process \d+ runs on this state directory"):
        State.open(tmp_path)
    State.open(tmp_path).close()


@pytest.mark.parametrize("text", [b"", b"{", b'{"v":1,"token":"x","kept":[{}]}', b"\xff\xfe", b'{"v":1}', b"[]"])
def test_a_broken_file_is_set_aside(tmp_path: Path, text: bytes) -> None:
    """A torn or corrupt file is moved away untouched, and the new controller owns no mark of the old one."""
    (tmp_path / FILE).write_bytes(text)
    (tmp_path / f"{FILE}.broken-1").write_bytes(b"an earlier one")
    with State.open(tmp_path) as state:
        assert state.set_aside == tmp_path / f"{FILE}.broken-2"
        assert state.set_aside.read_bytes() == text
        assert state.contents.kept == ()
        assert not state.contents.owns("tailhealth-x-1")


def test_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    """The file of a newer tailhealth is no broken file."""
    (tmp_path / FILE).write_bytes(b'{"v":2,"token":"x"}')
    with pytest.raises(StateError, match="version 2 is of a newer tailhealth"):
        State.open(tmp_path)
    assert (tmp_path / FILE).read_bytes() == b'{"v":2,"token":"x"}'
    (tmp_path / FILE).unlink()
    State.open(tmp_path).close()


def test_a_half_written_file_beside_is_no_matter(tmp_path: Path) -> None:
    """A crash while the new file was written leaves the old one in force."""
    with State.open(tmp_path) as state:
        state.update(kept=(KEPT,))
    (tmp_path / f"{FILE}.new").write_bytes(b'{"v":1,"tok')
    with State.open(tmp_path) as state:
        assert state.contents.kept == (KEPT,)


def test_what_can_not_be_written_is_not_believed(tmp_path: Path) -> None:
    """When writing fails the contents stay those of the file, and the error names the file."""
    with State.open(tmp_path) as state:
        state.update(serial=1)
        (tmp_path / f"{FILE}.new").mkdir()
        with pytest.raises(StateError, match=r"state\.json: Is a directory: nothing is changed in the proxy"):
            state.update(kept=(KEPT,))
        assert not state.contents.kept
        (tmp_path / f"{FILE}.new").rmdir()
        state.update(kept=(KEPT,))
        assert state.contents.kept == (KEPT,)


def written(folder: Path) -> Contents:
    """Return what a start would find now."""
    return msgspec.json.decode((folder / FILE).read_bytes(), type=Contents)


def test_what_is_noted_goes_with_the_next_change(tmp_path: Path) -> None:
    """It is written no later than what follows from it, and not by an update that changes nothing."""
    with State.open(tmp_path) as state:
        state.update(serial=1)
        state.note(carried=(CARRIED,))
        state.update(serial=1)
        assert state.contents.carried == (CARRIED,)
        assert written(tmp_path).carried == ()
        state.update(kept=(KEPT,))
        assert (written(tmp_path).carried, written(tmp_path).kept) == ((CARRIED,), (KEPT,))


def test_what_is_noted_can_be_written_by_itself(tmp_path: Path) -> None:
    """Where nothing follows from it; what can't be written stays noted, and what is written already is not written again."""
    with State.open(tmp_path) as state:
        state.note(carried=(CARRIED,))
        (tmp_path / f"{FILE}.new").mkdir()
        with pytest.raises(StateError):
            state.sync()
        assert state.contents.carried == (CARRIED,)
        (tmp_path / f"{FILE}.new").rmdir()
        state.sync()
        assert written(tmp_path) == state.contents
        before = (tmp_path / FILE).stat().st_ino
        state.sync()
        assert (tmp_path / FILE).stat().st_ino == before


def test_marks_are_recognised_as_ours(tmp_path: Path) -> None:
    """Marks tell controllers apart, also after a restart."""
    with State.open(tmp_path) as state:
        mark = state.contents.mark(7)
        state.update(serial=7)
    with State.open(tmp_path) as state:
        assert state.contents.owns(mark)
        assert not state.contents.owns("tailhealth-other-7")


def test_a_directory_that_is_none_is_an_error(tmp_path: Path) -> None:
    """A state directory that can't be made is named with the remedy."""
    (tmp_path / "f").write_text("")
    with pytest.raises(StateError, match=r"set \[state\] dir"):
        State.open(tmp_path / "f")


OUT = Wish(UpstreamState.OUT, 1.0, 31.0, "ratio")
LIMITED = Wish(UpstreamState.LIMITED, 40.0)


@pytest.mark.parametrize(
    ("wish", "carried", "remembered"),
    [
        (OUT, None, OUT),
        (OUT, Carried("p", "a:1", CARRIED.ejection), OUT),
        (OUT, Carried("p", "a:1", probation_since=31.0, acted_at=31.0), None),
        (OUT, Carried("p", "a:1", acted_at=31.0), None),
        (LIMITED, Carried("p", "a:1", probation_since=31.0), LIMITED),
        (LIMITED, Carried("p", "a:1", acted_at=31.0), None),
        (LIMITED, Carried("p", "a:1", CARRIED.ejection), OUT),
        (OUT, Carried("p", "b:1", acted_at=31.0), OUT),
    ],
)
def test_the_engines_memory_is_newer_than_a_wish(wish: Wish, carried: Carried | None, remembered: Wish | None) -> None:
    """A crash between the decision to readmit and the change must not leave an upstream out for ever."""
    contents = Contents("x", wished=(Wished("p", "a:1", wish),), carried=() if carried is None else (carried,))
    assert contents.remembered() == ({} if remembered is None else {("p", "a:1"): remembered})
