"""No case of the field is forgotten: each of `tests/cases` has data that a runner reads, or a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.case_reading import FOLDER, case_number
from tests.test_cases import CASES

TESTS = Path(__file__).parent
NUMBERS = [int(number) for number in re.findall(r"^### (\d+)\. ", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE)]
NAMED = re.compile(r"[Cc]ase (\d+)\b")
DECIDED = {20, 33, 34, 38, 43, 44, 46, 55, 61, 69, 105, 110, 116, 117, 119, 122}
"""Cases whose expected values name a decision."""


def named_in_tests() -> set[int]:
    """Return the cases that tests name."""
    sources = (path.read_text("utf-8") for path in TESTS.rglob("*.py") if path != Path(__file__))
    return {int(number) for source in sources for number in NAMED.findall(source)}


def test_the_list_is_whole() -> None:
    """The list has all cases, each once, and every file of data belongs to one."""
    assert len(NUMBERS) == len(set(NUMBERS)) == 103
    assert {case_number(path) for path in FOLDER.iterdir() if path.name != "README.md"} <= set(NUMBERS)


def test_each_case_is_a_test() -> None:
    """Its data are read by a runner, or a test's name or docstring says which case it is."""
    steps = {case_number(path) for path in FOLDER.glob("*.steps.json")}

    assert set(NUMBERS) - {*CASES, *steps, *named_in_tests()} == set()


def test_decisions_are_decided() -> None:
    """A case that says what must be decided is one of those that go through the engine."""
    saying = {case_number(path) for path in FOLDER.glob("*.expect.json") if '"decision"' in path.read_text("utf-8")}
    deciding = (TESTS / "test_case_decisions.py").read_text("utf-8")

    assert saying == DECIDED
    assert saying <= {int(number) for number in NAMED.findall(deciding)}
