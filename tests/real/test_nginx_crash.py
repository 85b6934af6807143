"""The nginx adapter that dies: at every step of a change, with what it leaves behind, and with another one beside it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from tailhealth.proxies.base import Retryable, Unloadable
from tailhealth.proxies.nginx import Nginx as Adapter
from tailhealth.proxies.nginx_files import File, held
from tests.proxies.contract import standing
from tests.real.apply_nginx import FIXED, HTTP, TWO, Owned, out, owned, place

pytestmark = pytest.mark.real


def test_no_new_workers_in_time(tmp_path: Path) -> None:
    """A reload command that does nothing is not believed; the change is brought to an end by the next that works."""
    with owned(tmp_path, FIXED) as proxy:
        lazy = Adapter(msgspec.structs.replace(proxy.setup(0.5), reload=("true",)))
        with pytest.raises(Retryable, match=r"no new workers of nginx came within 0\.5 s"):
            out(lazy, TWO)
        assert proxy.left_over() == [".chat.conf.tailhealth-before"]
        assert standing(place(proxy.adapter()))[TWO] == "out"
        assert proxy.left_over() == []
        out(proxy.adapter())
        assert proxy.file.read_bytes() == FIXED


KILLED = """
import os, signal, sys
from pathlib import Path
import msgspec
from tailhealth.proxies.nginx import Nginx
from tailhealth.proxies.nginx_reload import Setup
from tests.real.apply_nginx import out

setup = msgspec.json.decode(sys.argv[1], type=Setup)
wanted, fatal = sys.argv[2].split(), int(sys.argv[3])
adapter = Nginx(setup, lambda block, address: "killed")
steps = 0

def count(event, arguments):
    global steps
    flags = arguments[2] if event == "open" and arguments[0] != os.devnull else 0
    writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
    if writes or event in {"os.rename", "os.remove", "subprocess.Popen"}:
        steps += 1
        if steps == fatal:
            os.kill(os.getpid(), signal.SIGKILL)

adapter.read()
sys.addaudithook(count)
out(adapter, *wanted)
"""
"""A child process that is killed at the beginning of its n-th step that others can see."""


def killed(proxy: Owned, wanted: Sequence[str], step: int) -> bool:
    """Apply in a child that dies at a step; tell whether it did."""
    setup = msgspec.json.encode(proxy.setup()).decode()
    command = [sys.executable, "-c", KILLED, setup, " ".join(wanted), str(step)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], stderr=subprocess.PIPE, timeout=60, check=False)
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr.decode()
    return done.returncode != 0


@pytest.mark.timeout(300)  # some thirty processes, each with its reloads
@pytest.mark.parametrize("back", [False, True], ids=["eject", "readmit"])
def test_death_at_every_step_of_an_apply(tmp_path: Path, back: bool) -> None:
    """The file is the old or the new one, complete, with owner and mode; nginx takes it; a restore brings the original."""
    with owned(tmp_path, FIXED) as proxy:
        proxy.file.chmod(0o640)
        out(Adapter(proxy.setup(), lambda _block, _address: "killed"), TWO)
        ejected = proxy.file.read_bytes()
        out(proxy.adapter())
        step, wanted = 1, () if back else (TWO,)
        while True:
            if back:
                proxy.file.write_bytes(ejected)
            died = killed(proxy, wanted, step)
            assert proxy.file.read_bytes() in {FIXED, ejected}
            assert proxy.file.stat().st_mode & 0o777 == 0o640
            assert subprocess.run(proxy.setup().test, stderr=subprocess.DEVNULL, check=False).returncode == 0
            out(proxy.adapter())
            assert proxy.file.read_bytes() == FIXED
            assert proxy.left_over() == []
            if not died:
                break
            step += 1
        assert step > 8


def test_a_change_that_was_cut_off_while_the_main_configuration_broke(tmp_path: Path) -> None:
    """Neither file is taken: what stands there stays, the reason is told, and mending it ends the change."""
    with owned(tmp_path, FIXED) as proxy:
        lazy = Adapter(msgspec.structs.replace(proxy.setup(0.3), reload=("true",)))
        with pytest.raises(Retryable):
            out(lazy, TWO)
        new = proxy.file.read_bytes()
        proxy.http = HTTP + "no_such_directive on;"
        proxy.write()
        with pytest.raises(Unloadable, match=r"cut off, and .*unknown directive"):
            proxy.adapter().read()
        assert proxy.file.read_bytes() == new
        proxy.http = HTTP
        proxy.write()
        assert standing(place(proxy.adapter()))[TWO] == "out"
        assert proxy.left_over() == []


def test_a_change_that_was_cut_off_and_then_edited(tmp_path: Path) -> None:
    """The operator's file stands, and the copy of before is dropped."""
    with owned(tmp_path, FIXED) as proxy:
        (tmp_path / ".chat.conf.tailhealth-before").write_bytes(FIXED)
        edited = FIXED + b"server 127.0.0.1:4;\n"
        proxy.file.write_bytes(edited)
        assert len(place(proxy.adapter()).entries) == 4
        assert proxy.file.read_bytes() == edited
        assert proxy.left_over() == []


def test_two_at_a_time(tmp_path: Path) -> None:
    """While one tailhealth changes the file, another reads it as it is and changes nothing."""
    with owned(tmp_path, FIXED) as proxy:
        adapter = proxy.adapter()
        with held([File.at(str(proxy.file))]) as alone:
            assert alone
            (tmp_path / ".chat.conf.tailhealth-before").write_bytes(FIXED)
            assert standing(place(adapter))[TWO] is None
            with pytest.raises(Retryable, match="another tailhealth"):
                out(adapter, TWO)
            assert proxy.left_over() == [".chat.conf.tailhealth-before"]
        assert standing(place(adapter))[TWO] is None
        assert proxy.left_over() == []
