"""Names of rolled logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailhealth.logs.rolled import age_order, is_rolled, live_name, live_paths


@pytest.mark.parametrize(
    ("name", "live"),
    [
        ("access.log.1", "access.log"),
        ("access.log.10.gz", "access.log"),
        ("access-2026-11-30T00-53-20.688-size.log", "access.log"),
        ("access-2026-11-30T00-53-20.100.log.gz", "access.log"),
        ("access-2026-11-30T00-53-24.100-time.log.zst", "access.log"),
        ("access.log-20261130", "access.log"),
        ("access.log-20261130-1796000000.gz", "access.log"),
        ("1.log.20261130-005320", "1.log"),
        ("access_2026-11-30.log", "access.log"),
        ("access.log.old", "access.log"),
        ("access.log.gz", "access.log"),
        ("10.log.1.gz", "10.log"),
    ],
)
def test_a_rolled_name_tells_the_log_that_it_was(name: str, live: str) -> None:
    """Caddy's, logrotate's and the container runtimes' names lead back to the live one."""
    assert live_name(name) == live
    assert is_rolled(name, live)


@pytest.mark.parametrize(
    "name", ["access.log", "access-admin.log", "api.v2.log", "host-10.0.0.1.log", "access-8080.log", "0.log", "access.jsonl"]
)
def test_a_live_name_is_its_own(name: str) -> None:
    """Another log beside ours, a port or an address in a name: none of them is a rolled file."""
    assert live_name(name) == name
    assert not is_rolled(name, name)
    assert not is_rolled(name, "log")


def test_numbers_grow_with_age() -> None:
    """The file with the greatest number is the oldest, whatever the text order."""
    names = ["access.log.1", "access.log.10.gz", "access.log.2.gz"]

    assert age_order(names) == ["access.log.10.gz", "access.log.2.gz", "access.log.1"]


def test_stamps_sort_as_text() -> None:
    """Time stamps in names sort by themselves, to the millisecond."""
    names = ["a-2026-11-30T00-53-20.758-size.log.gz", "a-2026-11-30T00-53-20.688-size.log", "a-2026-11-29T00-53-20.9.log"]

    assert age_order(names) == [names[2], names[1], names[0]]


def test_mixed_names_say_nothing() -> None:
    """Where names follow no one rule, something else has to tell the age."""
    assert age_order(["access.log.1", "access.log.old"]) is None
    assert age_order(["access.log.1", "access.log-20261130"]) is None


def test_a_pattern_leaves_out_rolled_names(tmp_path: Path) -> None:
    """A shell pattern that catches rolled and compressed files gives the live logs only."""
    for name in ("access.log", "access.log.1", "access.log.2.gz", "access-admin.log", "access-2026-11-30T00-53-20.1.log"):
        (tmp_path / name).touch()

    assert live_paths(str(tmp_path / "access*.log*")) == [str(tmp_path / "access-admin.log"), str(tmp_path / "access.log")]
