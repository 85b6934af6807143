"""The cases of `tests/cases`: inputs that break naive readers, and how each is rightly read.

In the words of DESIGN: verdict `ok` is a good outcome, `fail` a bad one, `neutral` an ignored one; `bad` counts skipped lines.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailhealth.core.address import canonical
from tailhealth.core.join import Amended, Join
from tailhealth.core.judge import judge
from tailhealth.core.model import Attempt, End, Verdict
from tailhealth.core.rules import BadRules
from tailhealth.logs.detect import open_reader
from tailhealth.logs.reading import Event, Tally
from tailhealth.logs.rules import LogRules

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER = Path(__file__).parent / "cases"
VERDICTS = {Verdict.GOOD: "ok", Verdict.BAD: "fail", Verdict.IGNORED: "neutral"}


@dataclass
class Read:
    """What was read of one input."""

    tally: Tally
    attempts: list[Attempt]
    """In the order in which they are judged."""

    def in_file_order(self) -> list[Attempt]:
        """Return the attempts in the order of their lines, those of one line by time."""
        return sorted(self.attempts, key=lambda attempt: (attempt.offset, attempt.ended))

    def verdicts(self, rules: BadRules) -> dict[str, Counter[str]]:
        """Count verdicts by upstream."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for attempt in self.attempts:
            counts[attempt.upstream][VERDICTS[judge(attempt, rules).verdict]] += 1
        return counts


def expectations() -> list[Path]:
    """All files of expected values, by number."""
    return sorted(FOLDER.glob("*.expect.json"), key=case_number)


def case_number(path: Path) -> int:
    """Return the number of a case by one of its files."""
    return int(path.name.split("-")[0])


@cache
def expected(case: int) -> dict[str, Any]:
    """Return the expected values of a case; nobody changes them."""
    (path,) = FOLDER.glob(f"{case:02d}-*.expect.json")
    values: dict[str, Any] = json.loads(path.read_bytes())
    return values


def case_bytes(case: int, ending: str = ".jsonl") -> bytes:
    """Return the input of a case as it stands on disk.

    Raises:
        LookupError: It has none with this ending.
    """
    for path in FOLDER.glob(f"{case:02d}-*{ending}"):
        if path.name == path.name.split(".")[0] + ending:
            return path.read_bytes()
    raise LookupError(f"case {case} has no input {ending}")


def read(data: bytes, rules: LogRules | None = None, now: float | None = None) -> Read:
    """Read a whole input in one block, and join what tells of one request twice."""
    tally = Tally()
    reader = open_reader(rules or LogRules(), 0, "case.log", tally)
    return joined(reader.feed(data, 0, now) + reader.finish(), tally)


def joined(events: Iterable[Event], tally: Tally) -> Read:
    """Put events in order and join them."""
    join = Join()
    attempts: dict[tuple[int, str, float], Attempt] = {}
    for event in sorted(events, key=lambda one: (one.ended, one.file, one.offset)):
        for handed in join.feed(event):
            if isinstance(handed, Amended):
                del attempts[handed.old.offset, handed.old.upstream, handed.old.ended]
                handed = handed.new  # noqa: PLW2901 - the later word counts
            attempts[handed.offset, handed.upstream, handed.ended] = handed
    return Read(tally, [*attempts.values(), *join.rest()])


def latency(attempt: Attempt) -> float | None:
    """Return what a case calls latency: the header time, else how long the attempt took or waited."""
    if attempt.header is not None:
        return attempt.header
    return attempt.duration if attempt.end is not End.ANSWERED or attempt.header_came is False else attempt.own_duration


def assert_attempt(attempt: Attempt, wanted: dict[str, Any], rules: BadRules) -> None:
    """Compare an attempt with what a case says of it."""
    outcome = judge(attempt, rules)
    assert canonical(wanted["upstream"]) == attempt.upstream
    assert wanted["verdict"] == VERDICTS[outcome.verdict], outcome
    if attempt.status is not None:
        assert wanted["status"] == attempt.status
    else:
        # The client's status is no answer of the upstream: none is recorded where none came.
        assert attempt.end in {End.REFUSED, End.TIMED_OUT, End.ABANDONED} or attempt.header_came is False
    if wanted.get("censored"):
        assert attempt.header is None
    if isinstance(wanted["latency_s"], int | float) and latency(attempt) is not None:
        assert abs(wanted["latency_s"] - (latency(attempt) or 0.0)) < 1e-9
    elif wanted["latency_s"] is None and attempt.status != 101:
        assert attempt.header is None
