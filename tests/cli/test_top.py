"""`tailhealth top` on a pseudo-terminal: sizes, keys, colours, signals, and logs that attack the terminal."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.cli.minute import NODES, line
from tests.cli.pseudo import SEQUENCE, Pseudo

CASES = Path(__file__).parent.parent / "cases"
SAMPLE = Path(__file__).parent.parent.parent / "samples" / "a-wedged-node"
SIZES = [(80, 24), (200, 50)]

pytestmark = pytest.mark.outside


@pytest.mark.parametrize("size", SIZES)
def test_it_shows_the_log_and_quits(log: Path, size: tuple[int, int]) -> None:
    """Every upstream has its row, the stuck one would be out, each line fits, and q leaves the terminal as it was."""
    with Pseudo(["top", str(log)], size) as top:
        lines = top.until_line("would be out")
        assert all(any(row.startswith(node) for row in lines) for node in NODES)
        assert max(map(cell_len, lines)) <= size[0]
        assert any("ejected for 3" in row for row in lines)
        top.press("q")
        assert top.ended() == 0
        assert top.output.rstrip("\x1b[?25h").rfind("\x1b[?1049l") > top.output.rfind("\x1b[?1049h")
        assert top.output.rfind("\x1b[?25h") > top.output.rfind("\x1b[?25l")
        assert top.modes_now() == top.modes


def test_what_is_written_is_shown(log: Path) -> None:
    """A line that is written while it looks appears, without a key being pressed."""
    with Pseudo(["top", str(log)]) as top:
        top.until_line("110 lines")
        with log.open("ab") as file:
            file.write(line(0, "10.0.0.9:11434"))
        top.until_line("10.0.0.9:11434")


def test_keys(log: Path) -> None:
    """Sorting, filtering, help and pause answer at once."""
    with Pseudo(["top", str(log)]) as top:
        top.until_line("q quit")
        top.press("s")
        lines = top.until_line("s sort: urgency")
        assert next(row for row in lines if row.startswith("10.")).startswith(NODES[1])
        top.press("f0.3:")
        top.until_line("filter: 0.3:_")
        top.press("\r")
        lines = top.until_line("f filter: 0.3:")
        assert [row.split()[0] for row in lines if row.startswith("10.")] == [NODES[2]]
        top.press("\x1b")
        top.until(lambda lines: sum(row.startswith("10.") for row in lines) >= 4, "all upstreams")
        top.press("\x1b[A?")
        top.press("?")
        top.until_line("probation 1/3")
        top.press("?")
        top.press("p")
        top.until_line("PAUSED")


def test_a_pause_keeps_the_picture_and_reads_on(log: Path) -> None:
    """What is written during a pause appears after it."""
    with Pseudo(["top", str(log)]) as top:
        top.until_line("110 lines")
        top.press("p")
        top.until_line("PAUSED")
        with log.open("ab") as file:
            file.write(line(0, NODES[0]))
        for _ in range(3):
            assert any("110 lines" in row for row in top.until_line("PAUSED"))
        top.press("p")
        top.until_line("111 lines")


def test_resizing(log: Path) -> None:
    """The picture takes the new size at once, larger and smaller."""
    with Pseudo(["top", str(log)]) as top:
        top.until_line("q quit")
        for size in ((200, 50), (60, 12), (80, 24)):
            top.resize(*size)
            lines = top.until(lambda lines, size=size: cell_len(lines[-1]) == size[0], f"a picture of {size}")  # type: ignore[misc] # the default binds the loop's value
            assert len(lines) == size[1]


@pytest.mark.parametrize(("environment", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_can_be_switched_off(log: Path, environment: dict[str, str], colored: bool) -> None:
    """With NO_COLOR there is no colour in any picture, and the words say the same."""
    with Pseudo(["top", str(log)], environment=environment) as top:
        top.until_line("would be out")

    codes = {code for found in re.findall(r"\x1b\[([0-9;]*)m", top.output) for code in found.split(";")}
    assert bool(codes & {str(number) for number in [*range(30, 50), *range(90, 108)]}) is colored


def test_hostile_lines_do_not_reach_the_terminal(log: Path) -> None:
    """Of case 123 and worse nothing gets through: all sequences are the view's own."""
    evil = "10.0.0.6:1\x1b[2J\x1b]0;own\x07\x9b31m\u202e\r\n[bold]"
    with log.open("ab") as file:
        file.write((CASES / "123-terminal-escape-in-fields.jsonl").read_bytes())
        file.write(line(0, evil) + line(0, "10.0.0.7:1\x1b[5m") + b"\x1b]52;c;ZWNobyBoaQ==\x07\n" + line(0, "10.0.0.8:1"))
    with Pseudo(["top", str(log)], (200, 50)) as top:
        lines = top.until_line("10.0.0.8:1")
        top.press("q")
        assert top.ended() == 0

    assert all(row.isprintable() for row in lines)
    assert not re.search("[\x07\x9b\u202e]", top.output)
    own = {"[H", "[?1049h", "[?1049l", "[?25h", "[?25l"}
    assert {found for found in SEQUENCE.findall(top.output) if not found.endswith("m")} <= own
    assert not any(
        "5" in found[1:-1].split(";")
        for found in SEQUENCE.findall(top.output)
        if re.fullmatch(r"\[[0-9;]*m", found) and "38" not in found and "48" not in found
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)])
def test_signals_leave_the_terminal_as_it_was(log: Path, number: signal.Signals, code: int) -> None:
    """Whoever ends it gets the terminal back."""
    with Pseudo(["top", str(log)]) as top:
        top.until_line("q quit")
        os.kill(top.pid, number)
        assert top.ended() == code
        assert "\x1b[?1049l" in top.output
        assert top.modes_now() == top.modes


def test_ctrl_c_quits(log: Path) -> None:
    """The key works like q."""
    with Pseudo(["top", str(log)]) as top:
        top.until_line("q quit")
        top.press("\x03")
        assert top.ended() == 0


def test_history_is_played() -> None:
    """With --speed the log's own time runs, faster; a pause stops it, and the end is told."""
    with Pseudo(["top", "--speed", "20000", str(SAMPLE / "access.jsonl")]) as top:
        top.until_line("history x20000")
        lines = top.until_line("history x20000, ended")
        assert any("recovered" in row for row in lines)

    with Pseudo(["top", "--speed", "1", str(SAMPLE / "access.jsonl")]) as top:
        top.until_line("history x1")
        top.press("p")
        first = top.until_line("PAUSED")
        top.press("ssss")
        again = top.until_line("s sort: bad")
        assert first[0].split()[1] == again[0].split()[1]


def test_standard_input_is_a_log_and_keys_still_work(log: Path) -> None:
    """`top -` reads a pipe, and the keys come from the terminal."""
    piped = f"cat {shlex.quote(str(log))} | {shlex.quote(sys.executable)} -m tailhealth top -"
    with Pseudo(command=["-c", "import os, sys; os.execvp('sh', ['sh', '-c', sys.argv[1]])", piped]) as top:
        top.until_line("would be out")
        top.press("q")
        assert top.ended() == 0


def test_a_missing_log_is_waited_for(tmp_path: Path) -> None:
    """A log that does not exist yet is a state that heals."""
    path = tmp_path / "later.log"
    with Pseudo(["top", str(path)]) as top:
        top.until_line("there is no such file")
        path.write_bytes(line(0, NODES[0]))
        top.until_line(NODES[0])
