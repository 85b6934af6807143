"""Reads the tails of the logs: the newest lines of each, with the readers that a running controller uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tailhealth.config import STDIN, Config
from tailhealth.core.model import Attempt
from tailhealth.logs.detect import open_reader
from tailhealth.logs.reading import Event, Tally
from tailhealth.logs.rolled import live_paths
from tailhealth.logs.rules import LogRules
from tailhealth.service.checks.facts import LogFacts
from tailhealth.service.inputs import log_rules

TAIL = 32 << 20
"""Bytes of each log that are read: some 30,000 requests."""
BLOCK = 1 << 20
_PATTERN = re.compile(r"[*?\[]")


def tails(config: Config, size: int = TAIL) -> tuple[tuple[LogFacts, ...], list[Event]]:
    """Read the last `size` bytes of each log. Standard input is left alone: it belongs to `run`."""
    facts: list[LogFacts] = []
    events: list[Event] = []
    for log in config.log:
        for path in _paths(log.path):
            found, read = _tail(path, log_rules(log), len(facts), size)
            facts.append(found)
            events += read
    return tuple(facts), events


def _paths(path: str) -> list[str]:
    if path == STDIN:
        return []
    if _PATTERN.search(path) and not Path(path).exists():
        return live_paths(path) or [path]
    return [path]


def _tail(path: str, rules: LogRules, index: int, size: int) -> tuple[LogFacts, list[Event]]:
    tally = Tally()
    reader = open_reader(rules, index, path, tally)
    events: list[Event] = []
    try:
        with Path(path).open("rb") as file:
            for offset, block in _blocks(file, size):
                events += reader.feed(block, offset)
    except FileNotFoundError:
        return LogFacts(path, missing=True), []
    except OSError as error:
        return LogFacts(path, unreadable=error.strerror or str(error), mode=_mode(path)), []
    events += reader.finish()
    attempts = [one for one in events if isinstance(one, Attempt)]
    facts = LogFacts(
        path,
        mode=_mode(path),
        lines=tally.lines,
        records=tally.records,
        attempts=len(attempts),
        skipped=tally.skipped.total(),
        newest=max((one.ended for one in attempts), default=None),
        hints={code: text.removeprefix(f"{path}: ") for code, text in tally.hints.items()},
    )
    return facts, events


def _blocks(file: BinaryIO, size: int, most: int = BLOCK) -> Iterator[tuple[int, bytes]]:
    """Read whole lines, with the offset of each block; a line that is not ended yet is left."""
    start = max(0, file.seek(0, 2) - size)
    file.seek(start)
    if start:
        cut = len(file.readline())
        start, size = start + cut, size - cut
    rest = b""
    while size > 0 and (data := file.read(min(most, size))):
        size -= len(data)
        data = rest + data
        end = data.rfind(b"\n") + 1
        if end:
            yield start, data[:end]
        start, rest = start + end, data[end:]


def _mode(path: str) -> int | None:
    try:
        return Path(path).stat().st_mode & 0o777
    except OSError:
        return None
