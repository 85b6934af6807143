"""Rows of attempts without a header (DESIGN section 5)."""

from __future__ import annotations

from math import inf

from tailhealth.core.rows import Row, Stretch


def row(*ends: float, longest: int = 64) -> Row:
    """Return a row whose attempts ended then, each from a client of its own."""
    one = Row(longest)
    for ended in ends:
        one.add(ended, f"client {ended}")
    return one


def test_only_the_part_within_counts() -> None:
    """A row reaches back to an edge, which is part of it."""
    assert Stretch(2, 2, 2.0) == row(1.0, 2.0, 3.0).since(2.0)
    assert Stretch(1, 1, 3.0) == row(1.0, 2.0, 3.0).since(2.0625)
    assert Stretch(0, 0, inf) == row(1.0).since(2.0)


def test_clients() -> None:
    """Attempts of one client are one client, those without a client are one together."""
    one = Row(8)
    for client in ("", "", "x", "x", "y"):
        one.add(1.0, client)

    assert Stretch(5, 3, 1.0) == one.since(0.0)


def test_a_header_breaks_what_came_before_it() -> None:
    """An answer ends the row up to its own end; what ended later is a row still."""
    one = row(1.0, 2.0, 3.0)
    one.break_at(2.0)

    assert Stretch(1, 1, 3.0) == one.since(0.0)
    one.break_at(3.0)
    assert not one


def test_late_attempts_take_their_place() -> None:
    """A row is in the order of the ends, not of arrival."""
    one = row(3.0, 1.0, 2.0)
    one.break_at(2.0)

    assert one.newest == 3.0
    assert one.attempts == 1


def test_memory_is_bounded() -> None:
    """No more than asked for is kept, the newest."""
    assert Stretch(3, 3, 7.0) == row(*(float(i) for i in range(10)), longest=3).since(0.0)
