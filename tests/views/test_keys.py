"""The keys of `top`."""

from __future__ import annotations

import pytest

from tailhealth.views.frame import Look, Sort
from tailhealth.views.keys import LONGEST_FILTER, press


def pressed(keys: str, look: Look | None = None) -> Look:
    """Press keys one after the other, none of which quits."""
    now = look or Look()
    for key in keys:
        after = press(now, key)
        assert after is not None
        now = after
    return now


@pytest.mark.parametrize("key", ["q", "Q"])
def test_quit(key: str) -> None:
    """The key q quits, but not while the filter is typed, where it is a letter."""
    assert press(Look(), key) is None
    assert pressed(f"f{key}").filter == key


def test_pause_sort_and_help() -> None:
    """The keys p and ? toggle, s goes to the next order."""
    assert pressed("p").paused
    assert not pressed("pp").paused
    assert pressed("s").sort is Sort.URGENCY
    assert pressed("?").help
    assert pressed("??") == Look()


def test_typing_a_filter() -> None:
    """Letters are added, backspace takes them away, Enter keeps the filter, Esc clears it."""
    assert pressed("fab\x7fc") == Look(typing=True, filter="ac")
    assert pressed("/10.0\r") == Look(filter="10.0")
    assert pressed("fab\x1b") == Look()
    assert pressed("\x1b", Look(filter="ab", help=True)) == Look()
    assert pressed("f\x7f").filter == ""


def test_what_is_no_letter_is_not_typed() -> None:
    """Control characters never get into the filter, and it has a greatest length."""
    assert pressed("f\x01\x00a\u202e").filter == "a"
    assert len(pressed("f" + "x" * (LONGEST_FILTER + 1)).filter) == LONGEST_FILTER


def test_other_keys_change_nothing() -> None:
    """A key without a meaning is ignored."""
    assert pressed("zZ1 \n") == Look()
