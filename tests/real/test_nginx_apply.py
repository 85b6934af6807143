"""The nginx adapter on a real nginx: traffic, reloads, broken configurations, and wrong setups."""

from __future__ import annotations

import os
import socket
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from tailhealth.proxies.base import Conflict, Refused, Retryable, Unloadable
from tailhealth.proxies.nginx import Nginx as Adapter
from tests.proxies.contract import standing
from tests.real.apply_nginx import FIXED, HTTP, TWO, Owned, ask, out, owned, place, served, servers
from tests.real.caddy import until
from tests.real.servers import DEADLINE, Behaviour, upstreams

pytestmark = pytest.mark.real


def hanging(proxy: Owned, answers: list[int], count: int) -> list[threading.Thread]:
    """Begin requests that do not end by themselves."""
    threads = [threading.Thread(target=lambda: answers.append(ask(proxy, "/long"))) for _ in range(count)]
    for one in threads:
        one.start()
    return threads


def test_a_wedged_node_leaves_and_comes_back(tmp_path: Path) -> None:
    """Ejected, it gets nothing new and finishes what it has; readmitted, it gets one at a time; the file ends as it was."""
    with (
        upstreams(4) as nodes,
        owned(tmp_path, servers([one.address for one in nodes]).replace(b";", b" max_conns=9;")) as proxy,
    ):
        original, adapter = proxy.file.read_bytes(), proxy.adapter()
        answers: list[int] = []
        sick = nodes[1]
        sick.behaviour = Behaviour.HANG
        clients = hanging(proxy, answers, 4)
        sick.wait(lambda one: one.in_flight == 1)
        until(lambda: len(answers) == 3, "the answers of the others")
        assert out(adapter, sick.address).endswith("reloaded")
        assert adapter.leaving() == 1
        assert served(nodes, proxy)[1] == 0
        sick.behaviour = Behaviour.ANSWER
        for one in clients:
            one.join(DEADLINE)
        assert answers == [200] * 4
        until(lambda: adapter.leaving() == 0, "the old worker's end")
        sick.behaviour = Behaviour.HANG
        out(adapter, limits={sick.address: 1})
        assert standing(place(adapter))[sick.address] == 1
        clients = hanging(proxy, answers, 4)
        sick.wait(lambda one: one.in_flight == 1)
        until(lambda: len(answers) == 7, "the answers of the others")
        before = len(sick.seen)
        assert sum(served([nodes[0], nodes[2], nodes[3]], proxy).values()) == 12
        assert (len(sick.seen), sick.in_flight) == (before, 1)
        sick.behaviour = Behaviour.ANSWER
        for one in clients:
            one.join(DEADLINE)
        out(adapter)
        assert set(served(nodes, proxy)) == {0, 1, 2, 3}
        assert min(served(nodes, proxy).values()) > 0
        assert proxy.file.read_bytes() == original
        assert proxy.left_over() == []


def test_twenty_ejections_leave_no_more_old_workers_than_requests(tmp_path: Path) -> None:
    """An old worker lives as long as its requests: one held request, one old worker, however many reloads follow (case 113)."""
    with upstreams(3) as nodes, owned(tmp_path, servers([one.address for one in nodes])) as proxy:
        adapter = proxy.adapter()
        answers: list[int] = []
        nodes[0].behaviour = Behaviour.HANG
        clients = hanging(proxy, answers, 3)
        nodes[0].wait(lambda one: one.in_flight == 1)
        for index in range(20):
            said = out(adapter, nodes[1 + index % 2].address)
            assert index == 0 or said.endswith("reloaded, 1 old workers of earlier reloads still finish requests")
            until(lambda: adapter.leaving() == 1, "the end of all old workers but that with the request")
        nodes[0].behaviour = Behaviour.ANSWER
        for one in clients:
            one.join(DEADLINE)
        until(lambda: adapter.leaving() == 0, "the old worker's end")
        assert answers == [200] * 3


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("upstream other { server app3.invalid; }", r'\[emerg\] host not found in upstream "app3\.invalid"'),
        ("upstream other { server 127.0.0.1:1", r"\[emerg\] "),
        ("no_such_directive on;", r'\[emerg\] unknown directive "no_such_directive"'),
    ],
)
def test_a_broken_main_configuration_changes_nothing(tmp_path: Path, broken: str, said: str) -> None:
    """Before and after an ejection: the file that nginx works with stays, the reason is nginx's, and mending it is enough."""
    with owned(tmp_path, FIXED) as proxy:
        adapter = proxy.adapter()
        for before, after in (((), (TWO,)), ((TWO,), ())):
            out(adapter, *before)
            working = proxy.file.read_bytes()
            proxy.http = HTTP + broken
            proxy.write()
            with pytest.raises(Unloadable, match=said):
                out(adapter, *after)
            assert proxy.file.read_bytes() == working
            proxy.http = HTTP
            proxy.write()
            out(adapter, *after)
            assert standing(place(adapter))[TWO] == ("out" if after else None)
        assert proxy.file.read_bytes() == FIXED
        assert proxy.left_over() == []


def test_what_leads_to_a_block_stays_known(tmp_path: Path) -> None:
    """While the main configuration is broken nginx runs with that of before: so do we, and a mended one counts at once."""
    with owned(tmp_path, FIXED, HTTP.replace("location", "server_name chat.test; location")) as proxy:
        adapter, http = proxy.adapter(), proxy.http
        assert place(adapter).hosts == ("chat.test",)
        proxy.http = http.replace("chat.test", "other.test") + "}"
        proxy.write()
        now = place(adapter)
        assert (now.hosts, now.problem) == (("chat.test",), "")
        proxy.http = http.replace("chat.test", "other.test")
        proxy.write()
        assert place(adapter).hosts == ("other.test",)


def test_a_reload_that_nginx_only_pretends(tmp_path: Path) -> None:
    """The signal succeeds, the master keeps its old configuration: seen in its log, and the old file is back (case 112)."""
    with owned(tmp_path, FIXED) as proxy, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        proxy.http = HTTP + f"\nserver {{ listen 127.0.0.1:{taken.getsockname()[1]}; }}"
        proxy.write()
        with pytest.raises(Unloadable, match=r"keeps its old configuration: \[emerg\] .*(bind|still)"):
            out(proxy.adapter(), TWO)
        assert proxy.file.read_bytes() == FIXED
        assert proxy.left_over() == []
        taken.close()
        out(proxy.adapter(), TWO)
        assert standing(place(proxy.adapter()))[TWO] == "out"


def test_a_change_that_nginx_refuses_is_taken_back(tmp_path: Path) -> None:
    """The test passes before and fails after: the file is the old one, and nothing was loaded."""
    with owned(tmp_path, FIXED) as proxy:
        picky = (
            f"import subprocess, sys; text = open({str(proxy.file)!r}).read()\n"
            "if ' down;' in text: sys.exit('nginx: [emerg] no down here in chat.conf:3')\n"
            f"sys.exit(subprocess.run({proxy.command('-t')!r}).returncode)"
        )
        setup = msgspec.structs.replace(proxy.setup(), test=(sys.executable, "-c", picky))
        with pytest.raises(Refused, match=r"the old file is back: \[emerg\] no down here"):
            out(Adapter(setup), TWO)
        assert proxy.file.read_bytes() == FIXED
        assert proxy.left_over() == []


def test_an_operator_who_writes_while_nginx_tests_is_not_overwritten(tmp_path: Path) -> None:
    """The file is looked at again in the last moment."""
    with owned(tmp_path, FIXED) as proxy:
        edited = FIXED + b"# by hand\n"
        flag = tmp_path / "edited"
        writing = (
            f"import pathlib, subprocess, sys; flag = pathlib.Path({str(flag)!r})\n"
            f"if flag.exists(): pathlib.Path({str(proxy.file)!r}).write_bytes({edited!r})\n"
            f"sys.exit(subprocess.run({proxy.command('-t')!r}).returncode)"
        )
        adapter = Adapter(msgspec.structs.replace(proxy.setup(), test=(sys.executable, "-c", writing)))
        place(adapter)
        flag.touch()
        with pytest.raises(Conflict, match="changed by someone else just now"):
            out(adapter, TWO)
        assert proxy.file.read_bytes() == edited
        assert proxy.left_over() == []


def test_the_operators_hand_in_the_file(tmp_path: Path) -> None:
    """Who takes our `down` away while a server is out has it back; what he writes beside stays."""
    with owned(tmp_path, FIXED) as proxy:
        adapter = proxy.adapter()
        out(adapter, TWO)
        by_hand = proxy.file.read_bytes().replace(b" down;", b" weight=2;")
        proxy.file.write_bytes(by_hand)
        now = place(adapter)
        assert standing(now)[TWO] is None
        assert [one.weight for one in now.entries] == [1, 2, 1]
        out(adapter, "127.0.0.1:1")
        out(adapter)
        assert proxy.file.read_bytes() == FIXED.replace(b"2 max_fails=0;", b"2 max_fails=0 weight=2;")


def test_nginx_that_does_not_run(tmp_path: Path) -> None:
    """Its file can be given back meanwhile: it is read at the next start."""
    with owned(tmp_path, FIXED) as proxy:
        adapter = proxy.adapter()
        out(adapter, TWO)
        process = adapter.load().process
        proxy.stop()
        assert adapter.load().process == ""
        assert "when it starts" in out(adapter)
        assert proxy.file.read_bytes() == FIXED
        proxy.start()
        assert adapter.load().process not in {"", process}


@pytest.mark.parametrize(
    ("http", "problem"),
    [
        (HTTP.replace("include chat.conf;", "server 127.0.0.1:9;"), "does not include its file: put `include "),
        (HTTP.replace("upstream chat", "upstream other").replace("//chat", "//other"), "no upstream block 'chat'"),
    ],
)
def test_a_file_that_nginx_does_not_read(tmp_path: Path, http: str, problem: str) -> None:
    """Nothing can be done through it, and the remedy is named."""
    with owned(tmp_path, FIXED, http) as proxy:
        assert problem in place(proxy.adapter()).problem


def test_the_file_on_its_way(tmp_path: Path) -> None:
    """Missing, empty or half-written, it may be well a moment later."""
    with owned(tmp_path, FIXED) as proxy:
        adapter = proxy.adapter()
        for text, said in ((b"# soon\n", "holds no `server` line"), (b"server 127.0.0.1:1", "a `;` is missing")):
            proxy.file.write_bytes(text)
            with pytest.raises(Retryable, match=said):
                adapter.read()
        proxy.file.unlink()
        with pytest.raises(Retryable, match="No such file"):
            adapter.read()
        proxy.file.write_bytes(FIXED)
        assert place(adapter).entries


def test_owner_and_mode_are_kept(tmp_path: Path) -> None:
    """The file belongs to whom it belonged."""
    with owned(tmp_path, FIXED) as proxy:
        proxy.file.chmod(0o604)
        if os.geteuid() == 0:
            os.chown(proxy.file, 1234, 4321)
        before = proxy.file.stat()
        out(proxy.adapter(), TWO)
        after = proxy.file.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
