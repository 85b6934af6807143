"""Nothing that stands in a log may raise, hang, or fill the memory.

    python -m tests.bench.fuzz [--minutes 10] [--seed N]

Makes one hostile log after the other and lets everything that reads logs read it: the readers in blocks of any size, live and
in history; `parse` over files, archives and folders; the follower while the log is written, rotated, truncated and overwritten.
Each round has a seed of its own, which is printed if it fails: `--seed N --rounds 1` repeats it.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import gzip
import math
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import zstandard

from tailhealth.config import Config
from tailhealth.core.model import Attempt
from tailhealth.logs.detect import open_reader
from tailhealth.logs.reading import Event, Tally
from tailhealth.logs.rules import LogRules
from tailhealth.logs.stream import LogError
from tailhealth.service.follow_parsing import FollowParsing
from tailhealth.service.parsing import Parsing
from tests.bench.fuzz_input import corpus, hostile

NOW = 1_796_000_100.0
PATIENCE = 20
"""Seconds that one round may take."""
SAMPLED = 50
"""Memory is looked at after so many rounds."""
GROWTH = 5.0
"""MB by which its floor may rise: it shrinks and grows with the logs."""


class HangError(Exception):
    """A round took too long."""


def _hangs(number: int, frame: object) -> None:
    del number, frame
    raise HangError(f"no end after {PATIENCE} s")


def check(events: list[Event], tally: Tally) -> None:
    """Hold what was read to what is promised of it."""
    for event in events:
        assert math.isfinite(event.ended)
        if isinstance(event, Attempt):
            assert event.upstream
            assert all(value is None or 0.0 <= value < math.inf for value in (event.header, event.duration, event.own_duration))
            assert event.started <= event.ended
    assert all(count >= 0 for count in (tally.lines, tally.records, tally.attempts, tally.other, tally.unattributed))
    assert len(tally.hints) < 50
    assert len(tally.examples) < 20


def read(dice: random.Random, data: bytes) -> None:
    """Read a log in blocks of whole lines, live or in history; other blocks must make no difference."""
    rules = LogRules(format=dice.choice(["auto", "auto", "caddy", "nginx"]))
    now = dice.choice([None, NOW])
    one, first = _in_blocks(data, rules, now, lambda: dice.choice([0, 1, 500, 100_000]))
    check(one, first)
    if dice.random() < 0.3:
        other, second = _in_blocks(data, rules, now, lambda: len(data))
        assert one == other
        assert (first.lines, first.records, first.skipped) == (second.lines, second.records, second.skipped)


def _in_blocks(data: bytes, rules: LogRules, now: float | None, size: Callable[[], int]) -> tuple[list[Event], Tally]:
    reader = open_reader(rules, 0, "fuzz.log", tally := Tally(), NOW)
    events: list[Event] = []
    offset = 0
    while offset < len(data):
        end = data.find(b"\n", min(len(data), offset + size())) + 1 or len(data)
        events += reader.feed(data[offset:end], offset, now)
        offset = end
        assert reader.held is None or 0 <= reader.held < len(data)
    return events + reader.finish(), tally


def parse(dice: random.Random, data: bytes, folder: Path) -> None:
    """Read files, archives whole and broken, and a folder of them, as history."""
    packed = dice.choice([("log", data), ("log.gz", gzip.compress(data, 1)), ("log.zst", zstandard.compress(data, 1))])
    bytes_ = packed[1] if dice.random() < 0.7 else packed[1][: dice.randrange(len(packed[1]) + 1)]
    path = folder / f"access.{packed[0]}"
    path.write_bytes(bytes_)
    (folder / "access.log.1").write_bytes(data[: len(data) // 2])
    parsing = None
    with suppress(LogError):
        parsing = Parsing(Config(), [str(folder if dice.random() < 0.5 else path)])
        check([one.attempt for one in parsing.attempts()], parsing.tally)


def follow(dice: random.Random, data: bytes, folder: Path) -> None:
    """Follow a log that is written in pieces, rotated and destroyed, by one process after the other."""
    log = folder / "live.log"
    state = folder / "state"
    parsing = FollowParsing(Config(), [str(log)], state, clock=lambda: NOW)
    at = 0
    while at < len(data):
        size = dice.choice([1, 100, 10_000, 300_000])
        with log.open("ab") as file:
            file.write(data[at : at + size])
        at += max(size, len(data) // 40)
        match dice.randrange(8):
            case 0:
                log.rename(folder / f"live.log.{at}")
            case 1:
                log.write_bytes(b"")
            case 2:
                log.write_bytes(data[:at])
            case 3:
                log.unlink()
            case 4:
                parsing.finish()
                parsing.save(at_once=True)
                parsing.__exit__()
                parsing = FollowParsing(Config(), [str(log)], state, clock=lambda: NOW)
            case _:
                pass
        check([one.attempt for one in parsing.poll()], parsing.tally)
        parsing.news()
        parsing.save(at_once=dice.random() < 0.2)
    check([one.attempt for one in parsing.finish()], parsing.tally)
    parsing.__exit__()


def one_round(seed: int, logs: list[bytes]) -> int:
    """Make a log and let everything read it; return its size."""
    dice = random.Random(seed)
    data = hostile(dice, logs)
    read(dice, data)
    what = dice.random()
    if what < 0.5:
        with TemporaryDirectory() as name:
            (parse if what < 0.3 else follow)(dice, data, Path(name))
    return len(data)


def memory() -> float:
    """Return the memory that this process needs now, in MB: what is garbage or free goes back to the system first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def grown(samples: list[float]) -> float:
    """Return by how many MB the floor of the memory rose from the second third to the last."""
    third = len(samples) // 3
    return min(samples[2 * third :]) - min(samples[third : 2 * third]) if third else 0.0


def main() -> None:
    """Fuzz until the time is over."""
    parser = argparse.ArgumentParser(description="hostile logs through everything that reads logs")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9), help="of the first round")
    parser.add_argument("--rounds", type=int, default=10**9)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    signal.signal(signal.SIGALRM, _hangs)
    logs = corpus()
    ends = time.monotonic() + 60 * options.minutes
    done = size = 0
    samples: list[float] = []
    while done < options.rounds and time.monotonic() < ends:
        signal.alarm(PATIENCE)
        try:
            size += one_round(options.seed + done, logs)
        except BaseException:
            print(f"round {done} failed: repeat it with --seed {options.seed + done} --rounds 1", file=sys.stderr)
            raise
        signal.alarm(0)
        done += 1
        if not done % SAMPLED:
            samples.append(memory())
    print(f"{done} logs, {size / 1e6:.0f} MB: no exception, no hang")
    print(f"memory: {max(samples, default=memory()):.0f} MB at most; its floor rose by {grown(samples):.1f} MB")
    sys.exit(1 if grown(samples) > GROWTH else 0)


if __name__ == "__main__":
    main()
