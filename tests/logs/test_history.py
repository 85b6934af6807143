"""Logs of the past: what is read, and in which order."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tailhealth.logs.history import Block, open_history
from tests.logs.timed import numbers, time_of, uris

CASES = Path(__file__).parents[1] / "cases"


def read(*paths: Path | str, stdin: bytes = b"") -> list[Block]:
    """Read logs of the past to their end."""
    return list(open_history([str(path) for path in paths], time_of=time_of, stdin=io.BytesIO(stdin)))


@pytest.mark.parametrize("folder", ["101-replay-rolled-set.d", "101-replay-rolled-set.d2"])
def test_case_101_a_rolled_set_is_read_in_order_of_its_records(folder: str) -> None:
    """Names sort rolled files wrongly somewhere; record times don't, and a roll that lies there twice counts once."""
    expected = json.loads((CASES / "101-replay-rolled-set.expect.json").read_bytes())["order"]

    assert uris(read(CASES / folder)) == expected


def test_case_101_files_named_one_by_one_are_put_in_order_too() -> None:
    """A shell pattern gives names in text order; what is read is the same as of the folder."""
    files = sorted((CASES / "101-replay-rolled-set.d").iterdir(), reverse=True)

    assert numbers(read(*files)) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_case_41_complete_members_of_a_live_gzip_log_are_read_and_the_cut_is_noted() -> None:
    """Nginx appends gzip members to a live file; one that is still being written is left out and noted."""
    history = open_history([str(CASES / "41-nginx-gzip-live-log.log.gz")], time_of=time_of)

    assert len(numbers(history)) == 7
    assert [note.rpartition("/")[2].split(";")[0] for note in history.notes] == [
        "41-nginx-gzip-live-log.log.gz: cut off: the last gzip member is not complete"
    ]
