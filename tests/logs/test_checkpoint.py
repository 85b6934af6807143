"""The file that keeps checkpoints, whole and broken."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailhealth.logs.checkpoint import Checkpoint, CheckpointFile, Loaded
from tailhealth.logs.follow import Follower
from tailhealth.logs.generation import Position
from tests.logs.timed import line

POSITION = Position(1, 2, "aa", "bb", 1204, 1796000000.25, "/var/log/caddy/access.log")
SAVED = {"a.log": Checkpoint((POSITION,), (POSITION,), ("aa", "cc")), "b.log": Checkpoint(begun=False)}
CASE_98 = Path(__file__).parents[1] / "cases" / "98-checkpoint-corrupt.state.bin"


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    """Several logs share one file, with what the writer keeps along with them; nobody else may read it."""
    file = CheckpointFile(tmp_path / "follow.json")
    file.save({})
    file.save(SAVED, b'{"more":1}')

    assert file.load() == Loaded(SAVED, None, b'{"more":1}')
    assert [path.name for path in tmp_path.iterdir()] == ["follow.json"]
    assert (tmp_path / "follow.json").stat().st_mode & 0o777 == 0o600


def test_no_file_is_no_checkpoint_and_no_warning(tmp_path: Path) -> None:
    """The very first start has nothing to go on from."""
    assert CheckpointFile(tmp_path / "follow.json").load() == Loaded({}, None)


@pytest.mark.parametrize(
    "content",
    [
        CASE_98.read_bytes(),
        b"",
        b'{"v":1,"logs":{"a.log":',
        b'{"v":2,"logs":{}}',
        b"[]",
        b"\xff\xfe",
        b'{"v":1,"logs":{"a":{"x":1}}}',
    ],
)
def test_case_98_a_broken_file_is_put_aside_with_a_warning(tmp_path: Path, content: bytes) -> None:
    """Zeroed, cut off, of another version (case 98): kept beside for a look, and one line says what follows."""
    path = tmp_path / "follow.json"
    path.write_bytes(content)
    (tmp_path / "follow.json.broken-1").write_bytes(b"an older one")
    logs, warning, _ = CheckpointFile(path).load()

    assert logs == {}
    assert warning is not None
    assert "put aside as follow.json.broken-2" in warning
    assert (tmp_path / "follow.json.broken-2").read_bytes() == content
    assert not path.exists()


def test_case_98_after_a_broken_file_the_log_is_followed_from_its_end(tmp_path: Path) -> None:
    """What was counted before is not counted twice (case 98)."""
    state, log = tmp_path / "follow.json", tmp_path / "access.log"
    state.write_bytes(CASE_98.read_bytes())
    log.write_bytes(line(1.0, 1))
    follower = Follower(str(log), checkpoint=CheckpointFile(state).load().logs.get(str(log)))

    assert follower.poll() == []
    with log.open("ab") as file:
        file.write(line(2.0, 2))
    assert [chunk.data for chunk in follower.poll()] == [line(2.0, 2)]
    follower.close()


def test_a_save_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    """The old file stays whole, and nothing half-written stays beside it."""
    folder = tmp_path / "state"
    folder.mkdir()
    path = folder / "follow.json"
    file = CheckpointFile(path)
    file.save(SAVED)
    # A folder where the temporary file should be makes opening it fail, even for root.
    (folder / f".follow.json.{os.getpid()}").mkdir()

    with pytest.raises(OSError, match="Is a directory"):
        file.save({})
    assert file.load().logs == SAVED


def test_nothing_of_a_line_is_saved(tmp_path: Path) -> None:
    """Positions and hashes only: query strings and addresses of clients stay in the log."""
    log = tmp_path / "access.log"
    log.write_bytes(b'{"uri":"/r?token=secret","client":"192.0.2.77"}\n')
    follower = Follower(str(log))
    follower.poll()
    file = CheckpointFile(tmp_path / "follow.json")
    file.save({str(log): follower.checkpoint()})
    follower.close()
    saved = (tmp_path / "follow.json").read_bytes()

    assert b"secret" not in saved
    assert b"192.0.2.77" not in saved
