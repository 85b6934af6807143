"""Which pool goes on under which name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.heirs import heirs

POOLS = st.dictionaries(st.sampled_from("pqrstu"), st.sets(st.sampled_from("abcde"), min_size=1), max_size=4)


def test_a_new_name_for_the_same_upstreams() -> None:
    """A pool that got a table of its own goes on under that name."""
    assert heirs({"a+b": ["a", "b"]}, {"chat": ["b", "a"]}) == {"chat": "a+b"}


def test_one_more_upstream_makes_another_name() -> None:
    """A pool that is named after its upstreams goes on when one joins or leaves."""
    assert heirs({"a+b": ["a", "b"]}, {"a+b+c": ["a", "b", "c"]}) == {"a+b+c": "a+b"}
    assert heirs({"a+b": ["a", "b"]}, {"b": ["b"]}) == {"b": "a+b"}


def test_a_pool_without_a_common_upstream_is_another_one() -> None:
    """Nothing is inherited from a pool that has nothing in common."""
    assert heirs({"a": ["a"]}, {"b": ["b"]}) == {}


def test_a_name_that_stays_inherits_nothing() -> None:
    """A pool that is still named keeps what is its own, and gives nothing to others."""
    assert heirs({"chat": ["a", "b"]}, {"chat": ["c"], "new": ["a", "b"]}) == {}


def test_the_most_alike_goes_first() -> None:
    """Of several pools that are gone, the one with most common upstreams passes itself on; ties go by order."""
    assert heirs({"x": ["a"], "y": ["a", "b"]}, {"new": ["a", "b", "c"]}) == {"new": "y"}
    assert heirs({"x": ["a"], "y": ["a"]}, {"p": ["a"], "q": ["a"]}) == {"p": "x", "q": "y"}


@given(before=POOLS, after=POOLS)
def test_each_pool_has_at_most_one_heir(before: dict[str, set[str]], after: dict[str, set[str]]) -> None:
    """Whatever changes, an heir is new, its forerunner is gone, they have an upstream in common, and no two share one."""
    found = heirs(before, after)
    assert len(set(found.values())) == len(found)
    for new, old in found.items():
        assert new not in before
        assert old not in after
        assert before[old] & after[new]
