"""Globs that are compiled once mean what `fnmatch` says."""

from __future__ import annotations

from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.patterns import Patterns

TEXTS = st.text("ab.*?[]!\n", max_size=5)


@given(st.lists(TEXTS, min_size=1, max_size=3), TEXTS)
def test_one_of_several_globs(patterns: list[str], text: str) -> None:
    """A text is meant if one of the globs matches all of it."""
    assert any(fnmatchcase(text, one) for one in patterns) is Patterns(patterns).match(text)


@given(TEXTS)
def test_no_globs(text: str) -> None:
    """Where nothing is asked for, anything will do."""
    assert Patterns(()).match(text)
