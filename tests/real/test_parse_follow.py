"""`parse --follow --state` from outside: every line once, through rotations, stops and kills (DESIGN section 9)."""

from __future__ import annotations

import http.client
import random
import stat
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.bench.rotation_writer import NAME, Kind, Writer
from tests.logs.caddy_lines import line
from tests.real.caddy import caddy, logged, reverse_proxy, until
from tests.real.follow_parse import FollowParse
from tests.real.servers import DEADLINE, Upstream

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

RATE = 1000
"""Lines per second."""


class AccessWriter(Writer):
    """Writes access lines."""

    def line(self, number: int, pad: bytes) -> bytes:
        """Return an access line whose path tells its number."""
        request = {"client_ip": "192.0.2.1", "method": "GET", "host": "x", "uri": f"/r/{number}?pad={pad.decode()}"}
        return line(ts=time.time(), request=request)


@pytest.fixture(name="folder")
def logs_in(tmp_path: Path) -> Path:
    """A folder for logs."""
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def test_every_line_once(tmp_path: Path, folder: Path) -> None:
    """Through rotations of mixed kinds, stops and kills at random moments, each line is printed once, or again by a kill."""
    dice = random.Random(3)
    writer = AccessWriter(folder, random.Random(4))
    parse = FollowParse(tmp_path, folder / NAME)
    writer.write(1)
    pause = threading.Event()
    with ExitStack() as stack:
        stack.callback(parse.close)
        parse.start()
        for life in range(6):
            ends = time.monotonic() + dice.uniform(0.5, 2.0)
            turn = time.monotonic() + dice.expovariate(4.0)
            while time.monotonic() < ends:
                writer.write(RATE // 100)
                if time.monotonic() >= turn:
                    writer.rotate(dice.choice([kind for kind in Kind if kind is not Kind.DELETE]))
                    turn = time.monotonic() + dice.expovariate(4.0)
                pause.wait(0.01)
            if life % 2:
                parse.kill()
            else:
                parse.stop()
            writer.write(RATE // 10)
            if life % 3 == 0:
                writer.rotate(Kind.RENAME)
            parse.start()
        writer.write(1)
        writer.close()
        parse.wait_for(f"/r/{writer.written - 1}")
        parse.stop()

    assert sorted(parse.printed()) == sorted(f"/r/{number}" for number in range(writer.written))
    assert {stat.S_IMODE(path.stat().st_mode) for path in parse.state.iterdir()} == {0o600}
    assert sum(writer.rotations.values()) >= 10


def test_several_logs(tmp_path: Path, folder: Path) -> None:
    """Several logs are followed at once, those that appear later too; the summary comes when it is told to stop."""
    first, second = folder / "one.log", folder / "two.log"
    parse = FollowParse(tmp_path, first, second)
    with ExitStack() as stack:
        stack.callback(parse.close)
        first.write_bytes(line(1, ts=time.time()))
        parse.start()
        second.write_bytes(line(2, ts=time.time()))
        parse.wait_for("/r/2")
        parse.stop()

    assert {one["path"]: one["file"] for one in parse.outputs[0].records()} == {"/r/1": str(first), "/r/2": str(second)}
    assert b'{"v":1,"summary":{"lines":2,"records":2,"attempts":2' in parse.outputs[0].path.read_bytes()


def test_a_real_caddy_rolls_and_compresses(tmp_path: Path, folder: Path) -> None:
    """Caddy rolls its log by size and compresses what it rolled while we are stopped and killed: each request once."""
    upstream = Upstream()
    with ExitStack() as stack:
        stack.callback(upstream.stop)
        proxy = stack.enter_context(caddy(tmp_path, logged(reverse_proxy(upstream.address)), debug=False))
        log = folder / "access.log"
        writer = {"output": "file", "filename": str(log), "roll_size_mb": 1, "roll_keep": 100}
        proxy.config["logging"]["logs"]["access"]["writer"] = writer
        proxy.load()
        parse = FollowParse(tmp_path, log)
        stack.callback(parse.close)
        parse.start()
        number, rolled, rolls = 0, 0, 3
        client = stack.enter_context(closing_client(proxy.port))
        while rolled < rolls:
            client.request("GET", f"/r/{number}", headers={"X-Pad": "x" * 12_000})
            client.getresponse().read()
            number += 1
            count = len({path.name.partition(".log")[0] for path in folder.glob("access-*")})
            if count > rolled:
                rolled = count
                if rolled % 2:
                    parse.kill()
                else:
                    parse.stop()
                if rolled == rolls:
                    until(lambda: len(list(folder.glob("access-*.log.*"))) >= rolls, "Caddy's compression")
                parse.start()
        parse.wait_for(f"/r/{number - 1}")
        parse.stop()

    assert sorted(parse.printed()) == sorted(f"/r/{one}" for one in range(number))


class closing_client(http.client.HTTPConnection):  # noqa: N801 - reads as what it does in a `with` statement
    """A connection to a local port that closes itself."""

    def __init__(self, port: int) -> None:
        super().__init__("127.0.0.1", port, timeout=DEADLINE)

    def __enter__(self) -> closing_client:  # noqa: PYI034 - not meant to be derived from
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
