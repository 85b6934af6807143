"""`tests/bench/peers.py` with few lines: each peer that is installed reads the log, and none gets away with a wrong result."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from tests.bench.lines import UPSTREAMS
from tests.bench.peers import FAILED, TOO_SHORT, WRONG, main, measured
from tests.bench.peers_logs import KINDS, Log
from tests.bench.peers_table import HEAD, Row, Section, drawn, limit, remarks, times
from tests.bench.peers_tools import PEERS, Peer, Tool, _command

pytestmark = pytest.mark.outside

LINES = 2000


@pytest.fixture(params=list(KINDS))
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Log:
    """Write a log of each kind."""
    return Log.written(tmp_path, request.param, LINES, failing=0.1)


def test_what_stands_in_a_log_is_known(log: Log) -> None:
    """Every upstream has its share of the lines and of the bad ones, and a part of the log counts only its own."""
    assert {upstream: lines for upstream, (lines, _) in log.counts.items()} == dict.fromkeys(UPSTREAMS, LINES // 4)
    assert all(0 < bad < LINES // 4 for _, bad in log.counts.values())
    part = log.first(100)
    assert part.lines == sum(lines for lines, _ in part.counts.values()) == 100
    assert log.path.read_bytes().startswith(part.path.read_bytes())
    assert log.first(LINES) is log


def test_the_bare_loop_reads_what_replay_reads(log: Log) -> None:
    """A decoder that looks for other fields would be no yardstick."""
    lines = log.path.read_bytes().splitlines()
    row = log.kind.decoder(lines[0]).decode(lines[1])

    assert row.upstream in UPSTREAMS
    assert float(row.request_time if log.kind.per_attempt == 1 else row.header_time) > 0


def test_every_peer_finds_what_stands_in_the_log(log: Log) -> None:
    """The table has a row for each: with figures, or with the reason why there are none."""
    section = measured(log, 1)

    assert [row.name for row in section.rows[:2]] == ["replay", "replay, 1 core"]
    assert section.rows[0].rate > 0
    for peer, row in zip(PEERS, section.rows[2:], strict=True):
        assert row.name.startswith(peer.name.partition(",")[0])
        if peer.tool is not None and not peer.tool.is_there():
            assert row.problem == f"not installed: {peer.tool.install}"
        else:
            assert row.problem in ("", TOO_SHORT), row.detail
            assert row.problem or (row.lines == LINES and row.ratio)


def test_a_wrong_result_has_no_figures(tmp_path: Path) -> None:
    """Whatever the peer: its row says so, and below the table stands what it found."""
    log = Log.written(tmp_path, "caddy", LINES, failing=0.1)
    here = [peer for peer in PEERS if peer.tool is None or peer.tool.is_there()]

    section = measured(log, 1, [replace(peer, right=lambda _: "something else") for peer in here])

    for row in section.rows[2:]:
        assert (row.problem, row.rate, row.ratio, row.is_met) == (WRONG, 0, None, None)
        assert row.detail.endswith(" instead of something else")
    assert len(list(remarks([section]))) == len(here)


@pytest.mark.parametrize("written", ["no json", '{"lines": []}', "a\tb"])
def test_an_output_that_can_not_be_read_is_a_wrong_result(tmp_path: Path, written: str) -> None:
    """Each reader of outputs gets what it can't understand."""
    log = Log.written(tmp_path, "caddy", 10, failing=0)
    out = tmp_path / "out"
    out.write_text(written)
    peers = [replace(peer, run=lambda _: out, tool=None) for peer in PEERS if peer.is_command]

    assert [row.problem for row in measured(log, 1, peers).rows[2:]] == [WRONG] * len(peers)


def test_a_command_that_fails_has_no_figures(tmp_path: Path) -> None:
    """Its exit status and its last words stand below the table."""
    run = partial(_command, arguments=lambda _: ["sh", "-c", "echo one >&2; echo two >&2; exit 3"])
    peer = Peer("shell", run, lambda path: path, lambda log: log, is_command=True)

    row = measured(Log.written(tmp_path, "caddy", 10, failing=0), 1, [peer]).rows[2]

    assert (row.problem, row.detail) == (FAILED, "exit status 3: two")


def test_what_is_not_installed_says_how_to_get_it(tmp_path: Path) -> None:
    """A command and a module; neither is run."""
    tools = [Tool("no-such-command", "apt install it"), Tool("no_such_module", "pip install it", is_module=True)]
    peers = [replace(PEERS[0], tool=tool) for tool in tools]

    rows = measured(Log.written(tmp_path, "caddy", 10, failing=0), 1, peers).rows[2:]

    assert [row.problem for row in rows] == ["not installed: apt install it", "not installed: pip install it"]


@pytest.mark.parametrize(("is_command", "runs"), [(True, [1, 30, 1, 30, 1]), (False, [30, 30, 30])])
def test_the_start_of_a_command_does_not_count(tmp_path: Path, is_command: bool, runs: list[int]) -> None:
    """It runs on one line too in each round, to be subtracted; a slow peer gets no more lines than it can take."""
    seen: list[int] = []
    peer = Peer("counting", lambda log: seen.append(log.lines), lambda _: 0, lambda _: 0, is_command=is_command, most_lines=30)

    measured(Log.written(tmp_path, "caddy", 40, failing=0), 2, [peer])

    assert seen == runs


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(1.954, "1.95 x faster"), (21.04, "21.0 x faster"), (0.125, "8.00 x slower"), (1 / 60.26, "60.3 x slower")],
)
def test_a_ratio_in_words(ratio: float, said: str) -> None:
    """The peer is the faster one if `replay` takes longer."""
    assert times(ratio) == said


@pytest.mark.parametrize(
    ("bound", "ratio", "met"),
    [(2.0, 2.0, True), (2.0, 2.01, False), (1 / 8, 1 / 8, True), (1 / 8, 1 / 7.9, False), (None, 9.0, None), (2.0, None, None)],
)
def test_a_bound_is_met_or_not(bound: float | None, ratio: float | None, met: bool | None) -> None:
    """On the bound it is met; what has no bound, or was not measured, is neither."""
    assert Row("tool", bound=bound, ratio=ratio).is_met is met


def test_the_table_in_plain_text() -> None:
    """A row for each peer under the title of its log, and below it what is not met."""
    rows = (
        Row("replay", 300_000, 320_000.4),
        Row("bare", 300_000, 672_000, 2.1, 2.0),
        Row("jq 1.6", 100_000, 32_000, 0.1, 1 / 8),
        Row("mtail", bound=1 / 8, problem="not installed: apt install mtail"),
    )
    sections = [Section("Caddy lines", rows)]
    console = Console(file=io.StringIO(), width=120)
    console.print(drawn(sections))
    lines = [" ".join(line.split()) for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]  # StringIO

    assert lines == [
        " ".join(HEAD),
        "",
        "Caddy lines",
        "replay 300,000 320,000",
        "bare 300,000 672,000 2.10 x faster <= 2 x faster no",
        "jq 1.6 100,000 32,000 10.0 x slower >= 8 x slower yes",
        "mtail >= 8 x slower not installed: apt install mtail",
    ]
    assert list(remarks(sections)) == ["Not met: Caddy lines, bare: 2.10 x faster, required <= 2 x faster"]
    assert limit(None) == ""


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """It prints one table with a part for each kind that is asked for, and nothing that only a terminal understands."""
    main(["--lines", "200", "--rounds", "1", "--kinds", "caddy", "nginx"])
    out = capsys.readouterr().out

    assert [title in out for title in ("Caddy lines", "nginx lines", "Round-trip lines")] == [True, True, False]
    assert all(out.count(f"\n{peer.name.partition(',')[0]}") >= 2 for peer in PEERS)
    assert "\x1b" not in out
