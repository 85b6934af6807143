"""Logs that are followed, while the configuration changes which, and how each is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tailhealth.config import Config, parse
from tailhealth.core.model import Attempt, Blind
from tailhealth.service.inputs import LiveLogs
from tests.logs.caddy_lines import BASE, line

NOW = BASE + 1000.0


def config(folder: Path, *names: str, more: str = "") -> Config:
    """Follow these logs; `more` stands in the table of the last one."""
    return parse("".join(f'[[log]]\npath = "{folder}/{name}"\n' for name in names).encode() + more.encode())


def write(path: Path, *numbers: int, **fields: Any) -> None:
    """Append lines."""
    with path.open("ab") as file:
        file.write(b"".join(line(number, **fields) for number in numbers))


def read(logs: LiveLogs, now: float = NOW) -> list[tuple[str, int]]:
    """Read on; return (upstream, second) of the attempts."""
    events = logs.poll(lambda: now)
    return [(one.upstream, round(one.ended - BASE - 0.25)) for one in events if isinstance(one, Attempt)]


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[LiveLogs]:
    """`a.log` with one line, read."""
    write(tmp_path / "a.log", 1)
    with closing(LiveLogs(config(tmp_path, "a.log"), BASE)) as one:
        assert read(one) == [("10.9.0.1:8080", 1)]
        yield one


def test_a_log_that_stays_is_read_on(tmp_path: Path, logs: LiveLogs) -> None:
    """What came before the change and was not read yet is read after it, once; what was read is not read again."""
    write(tmp_path / "a.log", 2)
    assert logs.turn_to(config(tmp_path, "a.log", "b.log"), NOW) == []
    assert read(logs) == [("10.9.0.1:8080", 2)]
    assert read(logs) == []
    assert [view.lines for view in logs.views()] == [2, 0]


def test_a_new_log_is_read_from_now_on(tmp_path: Path, logs: LiveLogs) -> None:
    """Its past was not seen when it was the present."""
    write(tmp_path / "b.log", 999, 1001, upstream="10.9.0.2:8080")
    logs.turn_to(config(tmp_path, "a.log", "b.log"), NOW)
    assert read(logs, NOW + 2) == [("10.9.0.2:8080", 1001)]


def test_a_log_that_is_read_in_another_way(tmp_path: Path, logs: LiveLogs) -> None:
    """Lines from the change on are read as the new table says."""
    write(tmp_path / "a.log", 2, node="10.9.0.9:1")
    logs.turn_to(config(tmp_path, "a.log", more='fields = {upstream = "node"}\n'), NOW)
    assert read(logs) == [("10.9.0.9:1", 2)]


def test_order_and_keys(tmp_path: Path, logs: LiveLogs) -> None:
    """A log keeps its key in the order of lines, and a new one gets one that nobody had."""
    logs.turn_to(config(tmp_path, "b.log", "a.log"), NOW)
    keys = {log.path: log.index for log in logs.logs}
    assert keys[f"{tmp_path}/a.log"] == 0
    logs.turn_to(config(tmp_path, "c.log", "b.log", "a.log"), NOW)
    assert len({log.index for log in logs.logs}) == 3


def test_a_log_that_is_given_up(tmp_path: Path, logs: LiveLogs) -> None:
    """It blinds nobody any more, and its file is closed."""
    write(tmp_path / "a.log", *range(2, 60), upstream="")
    with (tmp_path / "a.log").open("ab") as file:
        file.write(b"{broken\n" * 100)
    read(logs)
    (blind,) = logs.blindness(NOW)
    assert blind.source == f"{tmp_path}/a.log"
    assert logs.turn_to(config(tmp_path, "b.log"), NOW + 1) == [Blind(NOW + 1, f"{tmp_path}/a.log", None)]
    write(tmp_path / "a.log", 61)
    assert read(logs) == []
    assert [view.path for view in logs.views()] == [f"{tmp_path}/b.log"]


def test_catching_up_is_no_delay(tmp_path: Path) -> None:
    """Old lines that are read at the start, in however many lots, do not mean that the log is written late."""
    (tmp_path / "a.log").write_bytes(b"".join(line(number, filler="x" * 900) for number in range(600)) * 15)
    with closing(LiveLogs(config(tmp_path, "a.log"), BASE)) as logs:
        looks = 0
        while not looks or logs.more:
            read(logs)
            looks += 1
            assert logs.blindness(NOW) == []
        assert looks >= 3


def test_another_logs_lines_are_lines(tmp_path: Path) -> None:
    """Requests end, one log tells of them and the other is silent: neither is blind."""
    with closing(LiveLogs(config(tmp_path, "a.log", "b.log"), BASE)) as logs:
        for minute in range(12):
            now = NOW + minute * 60
            logs.note_in_flight(now, {"10.9.0.1:8080": 12 - minute})
            write(tmp_path / "a.log", minute, ts=now)
            read(logs, now)
            assert logs.blindness(now) == []
        for minute in range(8):
            logs.note_in_flight(NOW + 720 + minute * 60, {"10.9.0.1:8080": 100 - minute})
        assert [change.source for change in logs.blindness(NOW + 1200)] == [f"{tmp_path}/a.log", f"{tmp_path}/b.log"]
