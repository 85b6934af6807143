"""The include file on the disk: owner, mode, links, and the copy that tells of a change that was cut off."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tailhealth.proxies.base import Fatal, Retryable
from tailhealth.proxies.nginx_files import File


def names(folder: Path) -> list[str]:
    """Name what a folder holds."""
    return sorted(one.name for one in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_owner_and_mode_stay(tmp_path: Path, mode: int) -> None:
    """The new file may be read and written by whom the old one was, and so may the copy."""
    path = tmp_path / "chat.conf"
    path.write_bytes(b"old")
    if os.geteuid() == 0:
        os.chown(path, 1234, 4321)
    path.chmod(mode)
    before = path.stat()
    file = File.at(str(path))
    file.keep(b"old")
    file.replace(b"new")
    for one in (path, file.before):
        now = one.stat()
        assert (stat.S_IMODE(now.st_mode), now.st_uid, now.st_gid) == (mode, before.st_uid, before.st_gid)
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != before.st_ino


def test_attributes_stay(tmp_path: Path) -> None:
    """What is attached to the old file, such as a label, is attached to the new one."""
    path = tmp_path / "chat.conf"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.label", b"x")
    except OSError:
        pytest.skip("this file system has no attributes")
    File.at(str(path)).replace(b"new")
    assert os.getxattr(path, "user.label") == b"x"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What is replaced is the file that it leads to, in its own folder."""
    (tmp_path / "real").mkdir()
    path, link = tmp_path / "real" / "chat.conf", tmp_path / "chat.conf"
    path.write_bytes(b"old")
    link.symlink_to(path)
    File.at(str(link)).replace(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


def test_the_copy_and_the_way_back(tmp_path: Path) -> None:
    """A copy is found until it is dropped or has become the file again; nothing else is left."""
    path = tmp_path / "chat.conf"
    path.write_bytes(b"old")
    file = File.at(str(path))
    assert file.interrupted() is None
    file.keep(b"old")
    file.replace(b"new")
    assert (file.interrupted(), file.read()) == (b"old", b"new")
    file.go_back()
    assert (file.interrupted(), file.read()) == (None, b"old")
    file.keep(b"old")
    file.done()
    assert (file.interrupted(), names(tmp_path)) == (None, ["chat.conf"])


def test_names_that_nginx_does_not_include(tmp_path: Path) -> None:
    """Includes of nginx, such as `include *`, pass over names that begin with a dot, and `*.conf` over these ends."""
    file = File.at(str(tmp_path / "chat.conf"))
    assert file.before.name.startswith(".")
    assert not file.before.name.endswith(".conf")


def test_what_is_left_of_a_killed_write_is_overwritten_and_cleared(tmp_path: Path) -> None:
    """A half-written file, or a link that someone planted there, is never followed."""
    path, victim = tmp_path / "chat.conf", tmp_path / "victim"
    path.write_bytes(b"old")
    victim.write_bytes(b"victim")
    (tmp_path / ".chat.conf.tailhealth-new").symlink_to(victim)
    file = File.at(str(path))
    file.replace(b"new")
    (tmp_path / ".chat.conf.tailhealth-new").write_bytes(b"half")
    file.done()
    assert names(tmp_path) == ["chat.conf", "victim"]
    assert (path.read_bytes(), victim.read_bytes()) == (b"new", b"victim")


def test_errors_name_the_file(tmp_path: Path) -> None:
    """A file that is not there may come; a folder that is gone will not."""
    file = File.at(str(tmp_path / "gone" / "chat.conf"))
    with pytest.raises(Retryable, match=r"gone/chat\.conf: No such file"):
        file.read()
    for change in (file.go_back, file.done, lambda: file.replace(b"x"), lambda: file.keep(b"x")):
        with pytest.raises(Fatal, match=r"gone/.*: No such file"):
            change()
