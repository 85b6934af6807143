"""Lines that other processes read ahead tell what they tell in one process (DESIGN section 10)."""

from __future__ import annotations

import multiprocessing
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tailhealth.core.order import Event, one_by_one
from tailhealth.logs.ahead import Ahead
from tailhealth.logs.detect import open_reader
from tailhealth.logs.helpers import Task, outlined
from tailhealth.logs.history import Block, open_history
from tailhealth.logs.reading import LineReader, Tally
from tailhealth.logs.rules import LogRules
from tailhealth.logs.stream import BLOCK
from tailhealth.logs.times import line_time
from tailhealth.service.pipeline import batches
from tests.bench.lines import caddy_lines, nginx_lines, roundtrip_lines

pytestmark = pytest.mark.outside

RULES = LogRules()
TIME = re.compile(r'"ts":([0-9.]+)')


class Reading:
    """Reads files once.

    Args:
        paths: The files.
        processes: How many others help.
        max_line: Longest line in bytes.
    """

    def __init__(self, paths: list[str], processes: int, max_line: int = 1 << 20) -> None:
        self.ahead = Ahead(processes, BLOCK) if processes else None
        self.tally = Tally()
        self.outlined = 0
        """Blocks that others outlined."""
        self.blocks = 0
        self._history = open_history(paths, time_of=line_time(RULES), ahead=self.ahead, max_line=max_line)

    def batches(self) -> Iterator[list[Event]]:
        """Hand on what the lines tell."""
        try:
            yield from map(one_by_one, batches(self._counted(), self._open, self.ahead))
        finally:
            self._history.close()

    def _open(self, file: int, path: str) -> LineReader:
        return open_reader(RULES, file, path, self.tally)

    def _counted(self) -> Iterator[Block]:
        for block in self._history:
            self.blocks += 1
            self.outlined += block.outlined is not None
            yield block


def both(paths: list[str], **more: int) -> float:
    """Read files in one process and in several; return the share of blocks that other processes outlined."""
    alone, helped = Reading(paths, 0, **more), Reading(paths, 2, **more)

    assert list(helped.batches()) == list(alone.batches())
    assert helped.tally == alone.tally
    assert (alone.outlined, helped.blocks) == (0, alone.blocks)
    return helped.outlined / helped.blocks


def written(path: Path, lines: list[str]) -> str:
    """Write lines to a file."""
    path.write_text("".join(lines))
    return str(path)


@pytest.mark.parametrize("failing", [0.0, 0.1, 1.0])
def test_a_plain_log_is_outlined(tmp_path: Path, failing: float) -> None:
    """Nearly all blocks of a log of access lines are read by other processes, whatever share of them failed."""
    path = written(tmp_path / "access.log", list(caddy_lines(4000, failing=failing)))

    assert both([path]) > 0.75


def another_key(lines: list[str]) -> None:
    """The upstream stands under another key."""
    lines[2000:] = [line.replace('"upstream":', '"upstream_hostport":') for line in lines[2000:]]


def another_logger(lines: list[str]) -> None:
    """A second logger writes each request too."""
    lines[2000:] = [line + line.replace("log0", "log1") for line in lines[2000:]]


def key_twice(lines: list[str]) -> None:
    """A field with the name of one of Caddy's own is appended."""
    lines[2000:] = [line.replace('"retries":0', '"retries":0,"status":500') for line in lines[2000:]]


def another_upstream(lines: list[str]) -> None:
    """An upstream is new."""
    lines[1500::7] = [line.replace("10.0.0.1:", "10.0.0.9:") for line in lines[1500::7]]


def into_the_future(lines: list[str]) -> None:
    """One stamp leaps by years, and later the log goes on after months."""
    lines[1800] = lines[1800].replace('"ts":1796', '"ts":1896')
    lines[2900:] = [line.replace('"ts":1796', '"ts":1797') for line in lines[2900:]]


def out_of_order(lines: list[str]) -> None:
    """Lines stand up to a second too late."""
    dice = random.Random(5)
    lines[1000:] = sorted(lines[1000:], key=lambda line: float(TIME.findall(line)[0]) + dice.random())


def no_upstream(lines: list[str]) -> None:
    """Every fifth line names no upstream."""
    lines[1200::5] = [line.partition(',"upstream"')[0] + "}\n" for line in lines[1200::5]]


def torn(lines: list[str]) -> None:
    """Some lines are cut off, and the next one stands behind them."""
    lines[1200::50] = [line[: len(line) // 2] for line in lines[1200::50]]


def holes(lines: list[str]) -> None:
    """A truncation left NUL bytes, once more than a block."""
    lines[1700] = "\0" * 200_000 + lines[1700]
    lines[2500] = "\0" * 100 + lines[2500]


def oversized(lines: list[str]) -> None:
    """One line is longer than a line may be, another longer than a block."""
    lines[1700] = lines[1700].replace("chat", "x" * 300_000)
    lines[2600] = lines[2600].replace("chat", "x" * 150_000)


def blank(lines: list[str]) -> None:
    """Empty lines stand between."""
    lines[1500::100] = ["\n\n" + line for line in lines[1500::100]]


def no_newline_at_the_end(lines: list[str]) -> None:
    """The last line is not ended."""
    lines[-1] = lines[-1].rstrip("\n")


ODD = [
    *(another_key, another_logger, key_twice, another_upstream, into_the_future, out_of_order),
    *(no_upstream, torn, holes, oversized, blank, no_newline_at_the_end),
]


@pytest.mark.parametrize("change", ODD, ids=lambda change: change.__name__)
def test_what_is_odd_is_read_as_in_one_process(tmp_path: Path, change: Callable[[list[str]], None]) -> None:
    """Lines that teach how others are to be read, that are not plain, or are broken, tell what they tell without help."""
    lines = list(caddy_lines(4000, failing=0.02))
    change(lines)

    assert both([written(tmp_path / "access.log", lines)], max_line=200_000) > 0.1


def test_round_trip_lines_are_read_in_one_process(tmp_path: Path) -> None:
    """Where round-trip lines come, other processes find nothing to outline, and are not asked."""
    assert both([written(tmp_path / "access.log", list(roundtrip_lines(3000, failing=0.02)))]) == 0.0


def test_round_trip_lines_for_a_while(tmp_path: Path) -> None:
    """DEBUG is switched on and off: before and after it other processes outline, and nothing is told twice or not at all."""
    lines = list(roundtrip_lines(9000, failing=0.02))
    lines = [line for number, line in enumerate(lines) if number % 2 or 3000 <= number < 6000]

    assert 0.1 < both([written(tmp_path / "access.log", lines)]) < 0.9


def test_a_file_is_opened_once_for_its_helpers(tmp_path: Path) -> None:
    """However often DEBUG is switched on and off, no more descriptors are held than for one stretch of plain lines."""
    lines = list(roundtrip_lines(18_000))
    lines = [line for number, line in enumerate(lines) if number % 2 or number // 2000 % 2]
    helped = Reading([written(tmp_path / "access.log", lines)], 2)
    held: list[int] = []
    was_outlined = 0
    for _ in helped.batches():
        if helped.outlined > was_outlined:
            was_outlined = helped.outlined
            held.append(len(list(Path("/dev/fd").iterdir())))

    assert 0.1 < helped.outlined / helped.blocks < 0.9
    assert max(held) == held[0]


def two_tries(lines: list[str]) -> None:
    """Some requests were tried twice."""
    lines[1500::40] = [line.replace(':11434"', ':11434, 10.0.0.3:11434"') for line in lines[1500::40]]


def another_format(lines: list[str]) -> None:
    """The format is another one from some line on, with an upstream more."""
    lines[4000:] = [line.replace('"host"', '"http_host"').replace("10.0.0.1:", "10.0.0.9:") for line in lines[4000:]]


def a_caddy_too(lines: list[str]) -> None:
    """Some lines are a Caddy's."""
    lines[5000:] = [line for pair in zip(lines[5000:], caddy_lines(1000), strict=False) for line in pair]


def text_in_front(lines: list[str]) -> None:
    """Some lines are no JSON."""
    lines[3000::500] = ["starting\n" + line for line in lines[3000::500]]


NGINX = [two_tries, another_format, a_caddy_too, text_in_front, torn, holes, blank, no_newline_at_the_end]


@pytest.mark.parametrize("failing", [0.0, 0.1, 1.0])
def test_a_plain_log_of_nginx_is_outlined(tmp_path: Path, failing: float) -> None:
    """Nearly all blocks of an nginx's log are read by other processes, whatever share of its requests failed."""
    path = written(tmp_path / "access.log", list(nginx_lines(8000, failing=failing)))

    assert both([path]) > 0.75


@pytest.mark.parametrize("change", NGINX, ids=lambda change: change.__name__)
def test_what_is_odd_in_an_nginx_log_is_read_as_in_one_process(tmp_path: Path, change: Callable[[list[str]], None]) -> None:
    """Lines of nginx that are not plain, or are broken, tell what they tell without help."""
    lines = list(nginx_lines(8000, failing=0.02))
    change(lines)

    assert both([written(tmp_path / "access.log", lines)]) > 0.1


def test_files_that_follow_each_other(tmp_path: Path) -> None:
    """Each file of a rolled set is outlined."""
    lines = list(caddy_lines(6000))
    paths = [written(tmp_path / f"access-{number}.log", lines[number * 2000 :][:2000]) for number in range(3)]

    assert both(paths) > 0.6


@pytest.mark.parametrize("change", [None, out_of_order, no_upstream, torn], ids=lambda change: getattr(change, "__name__", ""))
def test_files_of_the_same_time(tmp_path: Path, change: Callable[[list[str]], None] | None) -> None:
    """The lines of two logs come in the order of their times, as in one process."""
    lines = list(caddy_lines(6000, failing=0.02))
    if change is not None:
        change(lines)
    paths = [written(tmp_path / f"access-{number}.log", lines[number::2]) for number in range(2)]

    assert both(paths) > (0.7 if change is None else 0.1)


def test_a_process_that_is_killed_costs_only_time(tmp_path: Path) -> None:
    """When the processes die under way, everything else is read here."""
    path = written(tmp_path / "access.log", list(caddy_lines(6000)))
    alone, helped = Reading([path], 0), Reading([path], 2)
    found: list[list[Event]] = []
    killed = False
    for batch in helped.batches():
        found.append(batch)
        if helped.outlined == 5 and not killed:
            killed = True
            for process in multiprocessing.active_children():
                process.kill()

    assert killed
    assert (found, helped.tally) == (list(alone.batches()), alone.tally)
    assert 5 <= helped.outlined < 20


def test_another_file_under_the_name_is_not_outlined(tmp_path: Path) -> None:
    """A log that was rotated away while it is read is not mistaken for the new one."""
    path = Path(written(tmp_path / "access.log", list(caddy_lines(500))))
    stat = path.stat()
    task = Task(str(path), (stat.st_dev, stat.st_ino), BLOCK, BLOCK, 1 << 20, b"")
    path.rename(tmp_path / "access.log.1")

    assert outlined(task) is None
    written(path, list(caddy_lines(500)))
    assert outlined(task) is None
