"""The peers of `replay`: how each is made to read a log, and how it is seen that it did."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from tailhealth.logs.helpers import cores
from tests.bench.peers_logs import FAILED, Counts, Log
from tests.bench.replay_speed import bare, replay

PATIENCE = 300.0
"""Seconds that a command may take."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What a peer needs and may not find: a command, or a module of Python."""

    name: str
    install: str
    is_module: bool = False

    def is_there(self) -> bool:
        """Tell whether it is installed."""
        return bool(importlib.util.find_spec(self.name) if self.is_module else shutil.which(self.name))

    def version(self) -> str:
        """Return its version; empty if it does not say."""
        if self.is_module:
            return importlib.metadata.version(self.name)
        told = subprocess.run([self.name, "--version"], capture_output=True, check=False, text=True, timeout=PATIENCE)
        found = re.search(r"\d+(?:\.\d+)+(?:~\w+)?", told.stdout + told.stderr)
        return found.group() if found else ""


@dataclass(frozen=True, slots=True)
class Peer:
    """Something that reads the same log as `replay`."""

    name: str
    run: Callable[[Log], Any]
    """Reads the log. This is what is timed."""
    found: Callable[[Any], object]
    """Tells what it found in the log, from what `run` returned."""
    right: Callable[[Log], object]
    """Tells what it must find."""
    bound: float | None = None
    """Times of this peer's time that `replay` may take at most."""
    tool: Tool | None = None
    is_command: bool = False
    """`run` starts a command: what it takes on one line is not counted."""
    is_loop: bool = False
    """A loop in this process: `replay` on one core is compared with it."""
    most_lines: int | None = None
    """It is slow, and gets no more lines than these."""


def _same(value: object) -> object:
    return value


def _number(log: Log) -> int:
    return log.lines


def _counts(log: Log) -> Counts:
    return log.counts


def _replay(log: Log, processes: int) -> int:
    return replay(log.path, processes)


def _attempts(log: Log) -> int:
    return log.lines // log.kind.per_attempt


def _bare(log: Log) -> int:
    with log.path.open("rb") as file:
        decoder = log.kind.decoder(file.readline())
    return bare(log.path, decoder)


def _loads(log: Log) -> int:
    loads, count = orjson.loads, 0
    with log.path.open("rb") as file:
        for line in file:
            loads(line)
            count += 1
    return count


def _duckdb(log: Log, threads: int) -> list[tuple[Any, ...]]:
    duckdb = importlib.import_module("duckdb")
    keys = log.kind.keys
    query = f"""
        SELECT {keys.upstream}, count(*), count(*) FILTER ({keys.status} >= {FAILED}),
            quantile_cont({keys.latency}, [0.5, 0.95, 0.99]), max({keys.duration}), max({keys.time})
        FROM read_json(?, format = 'newline_delimited', columns = {{
            {keys.time}: 'DOUBLE', {keys.status}: 'INTEGER', {keys.duration}: 'DOUBLE',
            {keys.upstream}: 'VARCHAR', {keys.latency}: 'DOUBLE'}})
        GROUP BY {keys.upstream}
        """  # noqa: S608 - the names of fields are literals of the bench
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {threads}")
        connection.execute("SET enable_progress_bar = false")
        try:
            return list(connection.execute(query, [str(log.path)]).fetchall())
        except duckdb.Error as error:
            raise ValueError(str(error)) from error


def _of_duckdb(rows: Sequence[tuple[Any, ...]]) -> Counts:
    return {upstream: (lines, bad) for upstream, lines, bad, *_ in rows}


def _command(log: Log, arguments: Callable[[Log], list[str]]) -> Path:
    """Run a command on the log; return the file with what it wrote."""
    command = arguments(log)
    path = log.path.with_suffix(f".{command[0]}.out")
    with path.open("wb") as out:
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, check=True, timeout=PATIENCE)
    return path


def _jq(log: Log) -> list[str]:
    return ["jq", "-r", f"[{', '.join(f'.{key}' for key in log.kind.keys)}] | @tsv", str(log.path)]


def _of_jq(path: Path) -> Counts:
    lines, bad = Counter[str](), Counter[str]()
    with path.open(encoding="utf-8") as file:
        for line in file:
            _, status, _, upstream, _ = line.rstrip("\n").split("\t")
            lines[upstream] += 1
            bad[upstream] += int(status) >= FAILED
    return {upstream: (count, bad[upstream]) for upstream, count in lines.items()}


_MTAIL = r"""counter lines by upstream, status
counter duration by upstream
counter latency by upstream
/"{time}":"?(?P<time>\d+)/ {{
  settime(int($time))
  /"{status}":"?(?P<status>\d+)/ {{
    /"{upstream}":"(?P<upstream>[^"]+)"/ {{
      lines[$upstream][$status]++
      /"{duration}":"?(?P<duration>[0-9.]+)/ {{
        duration[$upstream] += $duration
      }}
      /"{latency}":"?(?P<latency>[0-9.]+)/ {{
        latency[$upstream] += $latency
      }}
    }}
  }}
}}
"""
"""One short pattern per field: one long pattern over them all takes mtail twice as long."""


def _mtail(log: Log) -> list[str]:
    program = log.path.with_suffix(".mtail")
    program.write_text(_MTAIL.format(**log.kind.keys._asdict()), encoding="utf-8")
    # It listens even where it only reads a file once.
    place = ["--address", "127.0.0.1", "--port", "0", "--logtostderr"]
    return ["mtail", "--one_shot", *place, "--progs", str(program), "--logs", str(log.path)]


def _of_mtail(path: Path) -> Counts:
    counts: Counts = {}
    for one in orjson.loads(path.read_bytes())["lines"][0]["LabelValues"]:
        (upstream, status), count = one["Labels"], one["Value"]["Value"]
        lines, bad = counts.get(upstream, (0, 0))
        counts[upstream] = (lines + count, bad + count * (int(status) >= FAILED))
    return counts


def _goaccess(log: Log) -> list[str]:
    return ["goaccess", "--no-global-config", *log.kind.goaccess, "--no-progress", "--output=json", str(log.path)]


def _of_goaccess(path: Path) -> tuple[int, int]:
    report = orjson.loads(path.read_bytes())
    classes = report["status_codes"]["data"]
    return report["general"]["valid_requests"], sum(one["hits"]["count"] for one in classes if one["data"].startswith("5"))


def _totals(log: Log) -> tuple[int, int]:
    return log.lines, sum(bad for _, bad in log.counts.values())


def _program(name: str, arguments: Callable[[Log], list[str]], found: Callable[[Path], object], **more: Any) -> Peer:
    command = name.lower()
    run = partial(_command, arguments=arguments)
    return Peer(name, run, found, tool=Tool(command, f"apt install {command}"), is_command=True, **more)


_DUCKDB = Tool("duckdb", "pip install duckdb", is_module=True)

REPLAY = Peer("replay", partial(_replay, processes=cores()), _same, _attempts)
"""As the command runs: on all cores."""
ALONE = Peer("replay, 1 core", partial(_replay, processes=1), _same, _attempts)
PEERS = (
    Peer("bare decode loop", _bare, _same, _number, bound=2.0, is_loop=True),
    Peer("orjson.loads per line", _loads, _same, _number, is_loop=True),
    _program("jq", _jq, _of_jq, right=_counts, bound=1 / 8, most_lines=100_000),
    _program("mtail", _mtail, _of_mtail, right=_counts, bound=1 / 8, most_lines=100_000),
    _program("GoAccess", _goaccess, _of_goaccess, right=_totals, bound=1 / 60, most_lines=30_000),
    Peer("DuckDB, 1 thread", partial(_duckdb, threads=1), _of_duckdb, _counts, tool=_DUCKDB),
    Peer("DuckDB, 2 threads", partial(_duckdb, threads=2), _of_duckdb, _counts, tool=_DUCKDB),
)
"""In the order of the table, with the bounds of issue 7."""
