"""Rotation torture: does every line arrive once, through rotations of every kind and a follower that is stopped and killed?

Run it as `python -m tests.bench.rotation [--rotations N] [--rate N] [--seed N] [--no-events]`. Lines may be missing only where
no follower could know of them: written to a file that was deleted, and

* the follower says so by a gap of that generation, or
* it never saw the file: created and deleted while none was up, or
* it saw it, but was killed before it could save that it had, and the file was gone when the next one began.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory

import click

if not __package__:
    # Started by its path: what lies beside it is imported by its full name all the same.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.bench.rotation_writer import NAME, Generation, Kind, Writer

FOLLOWER = Path(__file__).with_name("rotation_follower.py")
TICK = 0.005
"""Seconds between two lots of lines."""
UNSAVED = 1.5
"""Seconds after its creation in which a generation may stand in no checkpoint: saved every second, looked at a bit later."""
SURELY_SEEN = 0.5
"""Seconds within which a follower that is up must have looked at a file."""
DRAIN = 60.0
"""Seconds that the last follower may take to read the rest."""


@dataclass(frozen=True)
class Plan:
    """How hard it is."""

    rotations: int = 200
    rate: int = 2000
    """Lines per second."""
    between: float = 0.35
    """Mean seconds between two rotations."""
    life: float = 3.0
    """Mean seconds that a follower lives."""
    down: float = 0.7
    """Mean seconds between two followers."""
    seed: int = 1
    events: bool = True


@dataclass(frozen=True)
class Outcome:
    """What arrived."""

    written: int
    delivered: int
    """Lines printed by all followers, repeated ones too."""
    repeated: int
    """Places, (fingerprint, offset), that came more than once."""
    repeated_after_stop: int
    """...although the follower before was not killed; must be 0."""
    twice: int
    """Line numbers that came at more than one place; must be 0."""
    named: int
    """Missing lines of generations with a named gap."""
    unseen: int
    """Missing lines of deleted generations that no follower ever saw."""
    forgotten: int
    """Missing lines of deleted generations that a follower saw, and was killed before it could save that."""
    lost: int
    """Missing lines without an excuse; must be 0."""
    gaps: Counter[str]
    rotations: dict[Kind, int]
    stopped: int
    killed: int

    @property
    def good(self) -> bool:
        """The promise was kept."""
        return not (self.lost or self.twice or self.repeated_after_stop)


class Followers:
    """One follower after the other, each ended at a moment that the dice choose."""

    def __init__(self, folder: Path, plan: Plan, dice: random.Random) -> None:
        self.outputs: list[tuple[Path, float, bool]] = []
        """What each one printed, when it ended, and whether it was killed."""
        self._folder = folder
        self._plan = plan
        self._dice = dice
        self._process: subprocess.Popen[bytes] | None = None
        self._next = time.monotonic() + plan.life

    def tend(self, now: float) -> None:
        """Start or end a follower if it is time."""
        if now < self._next:
            return
        if self._process is None:
            self._start()
            self._next = now + self._dice.expovariate(1 / self._plan.life)
        else:
            self._end(killed=self._dice.random() < 0.5)
            self._next = now + self._dice.expovariate(1 / self._plan.down)

    def finish(self, last: int) -> None:
        """Let a follower read the rest, up to line number `last`, and stop it."""
        if self._process is None:
            self._start()
        self._wait(lambda: self._arrived(last), "the last line")
        # Late writes to a rolled file may come after it.
        threading.Event().wait(0.5)
        self._end(killed=False)

    def begin(self) -> None:
        """Start the first one, and wait until it has saved a checkpoint: what was rolled away before that is old."""
        self._start()
        self._wait((self._folder / "follow.json").exists, "the first checkpoint")

    def _arrived(self, number: int) -> bool:
        wanted = f" {number}\n"
        return any(path.exists() and wanted in path.read_text() for path, _, _ in self.outputs)

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        pause = threading.Event()
        deadline = time.monotonic() + DRAIN
        while not done():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} did not come within {DRAIN:g} s")
            pause.wait(0.05)

    def _start(self) -> None:
        output = self._folder / f"output-{len(self.outputs):04}"
        events = "events" if self._plan.events else "no-events"
        log, state = self._folder / "logs" / NAME, self._folder / "follow.json"
        self._process = subprocess.Popen([sys.executable, str(FOLLOWER), str(log), str(output), str(state), events])
        self.outputs.append((output, inf, False))

    def _end(self, *, killed: bool) -> None:
        assert self._process is not None
        ended = time.monotonic()
        if killed:
            self._process.kill()
        else:
            self._process.terminate()
        code = self._process.wait(DRAIN)
        if not killed and code != 0 and self.outputs[-1][0].exists():
            raise RuntimeError(f"the follower ended with {code}")
        self.outputs[-1] = self.outputs[-1][0], ended, killed or code != 0
        self._process = None


def torture(plan: Plan) -> Outcome:
    """Write, rotate, stop and kill as planned, then compare what was written with what arrived."""
    dice = random.Random(plan.seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "logs").mkdir()
        writer = Writer(folder / "logs", random.Random(plan.seed + 1))
        followers = Followers(folder, plan, random.Random(plan.seed + 2))
        writer.write(1)
        followers.begin()
        began = time.monotonic()
        turn = began + dice.expovariate(1 / plan.between)
        pause = threading.Event()
        while sum(writer.rotations.values()) < plan.rotations:
            now = time.monotonic()
            due = int((now - began) * plan.rate) - writer.written
            writer.write(max(0, due))
            followers.tend(now)
            if now >= turn:
                writer.rotate(dice.choice(list(Kind)))
                turn = now + dice.expovariate(1 / plan.between)
            pause.wait(TICK)
        writer.write(1)
        writer.close()
        followers.finish(writer.written - 1)
        return _compared(writer, followers)


@dataclass
class Arrived:
    """What the followers printed."""

    places: dict[tuple[str, int], int] = field(default_factory=dict)
    """(fingerprint, offset) to line number."""
    gaps: Counter[str] = field(default_factory=Counter)
    gapped: set[str] = field(default_factory=set)
    delivered: int = 0
    repeated: int = 0
    repeated_after_stop: int = 0
    kills: list[float] = field(default_factory=list)
    lives: list[tuple[float, float]] = field(default_factory=list)
    """From when to when a follower was up."""

    def read(self, text: str, ended: float, *, after_kill: bool) -> None:
        """Take the output of one follower."""
        for line in text.splitlines(keepends=True):
            if not line.endswith("\n"):
                return  # a kill cut the line off: it was not delivered
            words = line.split()
            if words[0] == "up":
                self.lives.append((float(words[1]), ended))
                continue
            if words[0] == "gap":
                self.gaps[words[1]] += 1
                self.gapped.add(words[2])
                continue
            place = words[0], int(words[1])
            self.delivered += 1
            if place in self.places:
                self.repeated += 1
                self.repeated_after_stop += not after_kill
            self.places[place] = int(words[2])


def _compared(writer: Writer, followers: Followers) -> Outcome:
    arrived = Arrived()
    after_kill = False
    for output, ended, killed in followers.outputs:
        arrived.read(output.read_text() if output.exists() else "", ended, after_kill=after_kill)
        arrived.kills += [ended] * killed
        after_kill = killed
    times = Counter(arrived.places.values())
    seen = {fingerprint for fingerprint, _ in arrived.places}
    missing: Counter[str] = Counter()
    for generation in writer.generations:
        count = sum(number not in times for number in generation.numbers)
        missing[_excuse(generation, arrived, seen)] += count
    return Outcome(
        written=writer.written,
        delivered=arrived.delivered,
        repeated=arrived.repeated,
        repeated_after_stop=arrived.repeated_after_stop,
        twice=sum(count > 1 for count in times.values()),
        named=missing["named"],
        unseen=missing["unseen"],
        forgotten=missing["forgotten"],
        lost=missing["lost"],
        gaps=arrived.gaps,
        rotations=writer.rotations,
        stopped=len(followers.outputs) - len(arrived.kills),
        killed=len(arrived.kills),
    )


def _excuse(generation: Generation, arrived: Arrived, seen: set[str]) -> str:
    """Why lines of a generation may be missing."""
    if not generation.deleted:
        return "lost"
    if generation.fingerprint in arrived.gapped:
        return "named"
    if generation.fingerprint not in seen:
        overlaps = [min(generation.ended, down) - max(generation.began, up) for up, down in arrived.lives]
        return "lost" if max(overlaps, default=0.0) > SURELY_SEEN else "unseen"
    unsaved = any(0 <= killed - generation.began <= UNSAVED for killed in arrived.kills)
    return "forgotten" if unsaved else "lost"


@click.command()
@click.option("--rotations", default=Plan.rotations, show_default=True, help="How many rotations.")
@click.option("--rate", default=Plan.rate, show_default=True, help="Lines per second.")
@click.option("--between", default=Plan.between, show_default=True, help="Mean seconds between two rotations.")
@click.option("--seed", default=Plan.seed, show_default=True, help="Another seed is another day.")
@click.option("--no-events", is_flag=True, help="As where no file events can be had.")
def main(rotations: int, rate: int, between: float, seed: int, no_events: bool) -> None:
    """Torture a follower by rotations, and say what arrived."""
    outcome = torture(Plan(rotations=rotations, rate=rate, between=between, seed=seed, events=not no_events))
    for name in Outcome.__dataclass_fields__:
        click.echo(f"{name.replace('_', ' ')}: {getattr(outcome, name)}")
    click.echo("every line once" if outcome.good else "LINES LOST OR REPEATED")
    sys.exit(0 if outcome.good else 1)


if __name__ == "__main__":
    main()
