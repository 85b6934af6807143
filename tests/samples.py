"""Makes the logs under `samples/` from the figures of the incidents, and their decisions with the real command.

Run it as `python -m tests.samples --write` after a change that is meant to change decisions, and read the difference.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import click
from click.testing import CliRunner

ROOT = Path(__file__).resolve().parents[1]
if not __package__:
    # Started by its path: what it imports is found all the same.
    sys.path.insert(0, str(ROOT))

from tailhealth.cli.replay import command as replay  # noqa: E402 - the path comes first
from tests.sample_logs import Dice, Request, write_journal, write_log  # noqa: E402 - the path comes first

SAMPLES = ROOT / "samples"
NINE = 1_796_029_200.0
"""2026-11-30T09:00:00Z: all samples begin then."""
MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Made:
    """What a generator made."""

    requests: list[Request]
    upstreams: tuple[str, ...]
    end: float
    polled: bool = True
    """There is a journal with the requests in flight too."""


# A. One of four machines wedges


MACHINES = tuple(f"10.0.7.{number}:11434" for number in (11, 12, 13, 14))
WEDGED = MACHINES[2]
WEDGES, RESTARTS, LOADED = NINE + 10 * MINUTE, NINE + 25 * MINUTE, NINE + 25 * MINUTE + 30.0
GIVES_UP = 150.0


def wedged_node() -> Made:
    """Four machines classify documents in 10-60 s; from 09:10 on one answers nobody, until it is restarted at 09:25."""
    dice = Dice("wedged node")
    requests: list[Request] = []
    warm: set[str] = set()
    now, end = NINE, NINE + 35 * MINUTE
    for number in count():
        now += dice.gap(0.3)
        if now > end:
            return Made(requests, MACHINES, end)
        upstream = MACHINES[number % len(MACHINES)]
        takes = dice.lognormal(25.0, 0.45, 10.0, 60.0)
        if upstream not in warm:
            takes = 31.8 + dice.between(0.0, 2.0)
            warm.add(upstream)
        ended, status = now + takes, 200
        if upstream == WEDGED and now < LOADED and ended > WEDGES:
            ended, status = _hang(now)
        requests.append(_classify(dice, now, ended, upstream, status))
    raise AssertionError


def _hang(now: float) -> tuple[float, int]:
    """Tell how a request ends at the wedged machine: its client gives up, the restart cuts it, or nobody listens."""
    if now >= RESTARTS:
        return now + 0.000_5, 502
    return (now + GIVES_UP, 499) if now + GIVES_UP <= RESTARTS else (RESTARTS, 502)


def _classify(dice: Dice, started: float, ended: float, upstream: str, status: int) -> Request:
    return Request(
        started,
        ended,
        upstream,
        status,
        answered=status == 200,
        client=f"192.0.2.{int(dice.between(21, 29))}",
        port=dice.port(),
        path="/api/chat",
        host="models.example.com",
        sent=int(dice.between(2_000, 9_000)),
        size=int(dice.between(280, 330)),
    )


# B. One busy server, restarted by its watchdog


ONE_SERVER = "10.0.8.2:8000"
SLOTS = 12
KILLED, LISTENS = NINE + 30 * MINUTE, NINE + 30 * MINUTE + 90.0


def busy_server() -> Made:
    """A batch job keeps all 12 slots busy; a watchdog's requests queue behind it and time out, and so it kills the server."""
    dice = Dice("busy server")
    end = NINE + 60 * MINUTE
    requests = [one for worker in range(SLOTS) for one in _worker(dice, worker, ONE_SERVER, end, KILLED)]
    for number in range(1, 12):
        asks = NINE + 5 * MINUTE * number + 0.25
        refused = KILLED <= asks < LISTENS
        requests.append(
            Request(
                asks,
                asks + (0.000_6 if refused else 45.0),
                ONE_SERVER,
                502 if refused else 499,
                answered=False,
                client="192.0.2.9",
                port=dice.port(),
                path="/v1/chat/completions",
                host="llm.example.com",
                agent="watchdog/1.0",
                sent=96,
            )
        )
    return Made(requests, (ONE_SERVER,), end)


def _worker(dice: Dice, worker: int, upstream: str, end: float, killed: float) -> Iterator[Request]:
    """One slot of a batch job: the next request follows the last answer; a refused one is tried again after 8-12 s."""
    now = NINE + dice.between(0.0, 20.0)
    while now < end:
        ended, status = now + dice.lognormal(84.0, 0.3, 60.0, 118.0), 200
        if killed <= now < killed + 90.0:
            ended, status = now + dice.between(0.000_3, 0.000_9), 502
        elif now < killed <= ended:
            ended, status = killed + dice.between(0.0, 0.4), 500
        yield Request(
            now,
            ended,
            upstream,
            status,
            answered=status != 502,
            client="192.0.2.40",
            port=dice.port(),
            path="/v1/chat/completions",
            host="llm.example.com",
            agent=f"batch/3 worker/{worker}",
            sent=int(dice.between(3_000, 20_000)),
            size=int(dice.between(1_800, 4_200)) if status == 200 else 21,
        )
        now = ended + (dice.between(8.0, 12.0) if status == 502 else dice.between(0.02, 0.3))


# B2. Two busy servers


TWO_SERVERS = ("10.0.8.2:8000", "10.0.8.3:8000")


def two_busy_servers() -> Made:
    """Two servers with 12 requests in flight each, answers of 60-118 s, for an hour: busy and healthy."""
    dice = Dice("two busy servers")
    end = NINE + 60 * MINUTE
    slots = [(worker, upstream) for worker in range(SLOTS) for upstream in TWO_SERVERS]
    return Made([one for worker, upstream in slots for one in _worker(dice, worker, upstream, end, end * 2)], TWO_SERVERS, end)


# C. The reserved region that must stay


RESERVED = "reserved.llm.example:443"
BEST_EFFORT = ("north.llm.example:443", "south.llm.example:443", "east.llm.example:443", "west.llm.example:443")
TROUBLE, QUIET = NINE + 2 * MINUTE, NINE + 6 * MINUTE
CLUMP_EVERY, CLUMP = 20.0, 4.0


def reserved_region() -> Made:
    """Six calls of ten go to the region with reserved capacity; from 09:02 to 09:06 a quarter of its answers is a 504."""
    dice = Dice("reserved region")
    requests: list[Request] = []
    now, end = NINE, NINE + 7 * MINUTE
    while True:
        now += dice.gap(3.0)
        if now > end:
            return Made(requests, (RESERVED, *BEST_EFFORT), end, polled=False)
        region = dice.one_of((RESERVED, *BEST_EFFORT), (6, 1, 1, 1, 1))
        status = _region_status(dice, region, now)
        takes = dice.lognormal(1.6, 0.5, 0.4, 9.0) if status == 200 else dice.between(2.0, 4.0)
        requests.append(
            Request(
                now,
                now + takes,
                region,
                status,
                answered=True,
                client=f"192.0.2.{int(dice.between(60, 75))}",
                port=dice.port(),
                path="/v1/chat/completions",
                host="llm.example.com",
                agent="app/7.2",
                sent=int(dice.between(600, 3_000)),
                size=int(dice.between(500, 1_900)) if status == 200 else 84,
                headers={"Retry-After": ["5"]} if status == 429 else {},
            )
        )


def _region_status(dice: Dice, region: str, now: float) -> int:
    """Throw a region's answer. The reserved one's failures come in clumps: six together, again and again."""
    if region != RESERVED:
        return 429 if dice.happens(0.04) else 504 if dice.happens(0.01) else 200
    if not TROUBLE <= now < QUIET:
        return 504 if dice.happens(0.002) else 200
    return 504 if dice.happens(0.75 if (now - TROUBLE) % CLUMP_EVERY < CLUMP else 0.12) else 200


# All of them


MAKERS: dict[str, Callable[[], Made]] = {
    "a-wedged-node": wedged_node,
    "b-busy-is-not-stuck": busy_server,
    "b2-two-busy-servers": two_busy_servers,
    "c-blocklist-that-emptied-itself": reserved_region,
}
"""Folder under `samples/` and what makes its log. A folder that nobody makes is a recorded log: it is only replayed."""


@dataclass(frozen=True, slots=True)
class Golden:
    """One replay of a sample, and the file with what it prints."""

    folder: Path
    config: str = "tailhealth.toml"
    journal: bool = False

    @property
    def path(self) -> Path:
        """Where its decisions stand: `decisions.jsonl`, `decisions.journal.jsonl`, `decisions.<config>.jsonl`."""
        stem = "" if self.config == "tailhealth.toml" else f".{Path(self.config).stem}"
        return self.folder / f"decisions{'.journal' if self.journal else stem}.jsonl"

    def replay(self) -> str:
        """Return what `tailhealth replay --json` prints."""
        journal = ["--journal", str(self.folder / "journal.jsonl")] if self.journal else []
        log, config = str(self.folder / "access.jsonl"), str(self.folder / self.config)
        result = CliRunner().invoke(replay, ["-c", config, "--json", *journal, log], catch_exceptions=False)
        if result.exit_code != 0:
            raise RuntimeError(f"{self.folder.name}: replay ended with {result.exit_code}: {result.output}")
        return result.stdout


def goldens() -> list[Golden]:
    """Name every replay of every folder under `samples/`: with each configuration in it, and with its journal."""
    folders = sorted(path.parent for path in SAMPLES.glob("*/access.jsonl"))
    found = [Golden(folder, path.name) for folder in folders for path in sorted(folder.glob("*.toml"))]
    return [*found, *(Golden(folder, journal=True) for folder in folders if (folder / "journal.jsonl").exists())]


def make(name: str, folder: Path) -> None:
    """Write a sample's log, and its journal if it has one, into a folder."""
    made = MAKERS[name]()
    write_log(folder / "access.jsonl", made.requests)
    if made.polled:
        write_journal(folder / "journal.jsonl", made.requests, made.upstreams, NINE, made.end)


@click.command()
@click.option("--write", is_flag=True, help="Write the files; without it, only tell what would change.")
def main(*, write: bool) -> None:
    """Make the samples anew."""
    for name in MAKERS if write else ():
        (SAMPLES / name).mkdir(exist_ok=True)
        make(name, SAMPLES / name)
    for golden in goldens():
        text = golden.replay()
        if not golden.path.exists() or golden.path.read_text() != text:
            click.echo(f"{golden.path.relative_to(ROOT)} {'written' if write else 'differs'}")
            if write:
                golden.path.write_text(text)


if __name__ == "__main__":
    main()
