"""What every adapter promises, whatever the proxy: the protocol of `tailhealth.proxies.base` as tests.

A `Subject` is a proxy with one load balancer over three upstreams, of which the second has the operator's own limit of 5
requests in flight. Each promise is a function of a subject; the tests beside the fixtures run all of `CONTRACT` over theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
import pytest

from tailhealth.proxies.base import Change, Conflict, Place, Proxy, Retryable

A, B, C = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"
OWN_LIMIT = 5


class Subject(NamedTuple):
    """A proxy to be tested."""

    proxy: Proxy
    fields: Callable[[], Any]
    """Returns what the proxy has, byte for byte or field for field."""
    edit: Callable[[], None]
    """Changes the list as an operator would."""
    hide: Callable[[], None]
    """Makes the configuration unreachable."""


def standing(place: Place) -> dict[str, int | str | None]:
    """Tell of each upstream that its place knows: `"out"`, or its limit."""
    return {one.address: "out" if one.out else one.limit for one in place.entries}


def change(now: Place, original: Place, out: frozenset[str] = frozenset(), limits: Mapping[str, int] | None = None) -> Change:
    """Plan as the reconciler does: the original list without what is out, or with all of it flagged."""
    limits = limits or {}
    entries = tuple(
        msgspec.structs.replace(one, out=one.address in out, limit=limits.get(one.address, one.limit))
        for one in original.entries
    )
    if not now.removes:
        return Change(now, entries)
    wanted = tuple(one for one in entries if not one.out)
    return Change(now, wanted, "tailhealth-contract-1" if out or limits else None)


def only(subject: Subject) -> Place:
    """Read the one place."""
    (place,) = subject.proxy.read().places
    return place


def reads_what_is_configured(subject: Subject) -> None:
    """All upstreams in order, with the operator's limits; reading twice tells the same."""
    place = only(subject)
    assert standing(place) == {A: None, B: OWN_LIMIT, C: None}
    assert [one.address for one in place.entries] == [A, B, C]
    assert (place.marks, place.problem, place.sticky) == ((), "", False)
    assert not any(one.held_down or one.problem or one.backup for one in place.entries)
    assert subject.proxy.read() == subject.proxy.read()


def out_and_back_is_the_original(subject: Subject) -> None:
    """Each upstream leaves and returns, and nothing of it is left."""
    original, fields = only(subject), subject.fields()
    for address in (A, B, C):
        subject.proxy.apply([change(only(subject), original, frozenset({address}))])
        now = standing(only(subject))
        assert now.get(address, "out") == "out"
        assert {one: limit for one, limit in now.items() if limit != "out"} == {
            one: limit for one, limit in standing(original).items() if one != address
        }
        subject.proxy.apply([change(only(subject), original)])
        assert subject.fields() == fields
    assert only(subject) == original


def all_but_one_may_leave(subject: Subject) -> None:
    """Several leave in one apply and return in any order."""
    original, fields = only(subject), subject.fields()
    subject.proxy.apply([change(only(subject), original, frozenset({A, C}))])
    assert [one for one, limit in standing(only(subject)).items() if limit != "out"] == [B]
    subject.proxy.apply([change(only(subject), original, frozenset({C}))])
    subject.proxy.apply([change(only(subject), original)])
    assert subject.fields() == fields


def a_limit_comes_and_goes(subject: Subject) -> None:
    """Ours is there while it is wanted; the operator's own comes back."""
    original, fields = only(subject), subject.fields()
    subject.proxy.apply([change(only(subject), original, limits={A: 1, B: 1})])
    assert standing(only(subject)) == {A: 1, B: 1, C: None}
    subject.proxy.apply([change(only(subject), original, limits={B: 1})])
    assert standing(only(subject)) == {A: None, B: 1, C: None}
    subject.proxy.apply([change(only(subject), original)])
    assert subject.fields() == fields


def from_out_to_limited_to_free(subject: Subject) -> None:
    """The way of every readmission: out, then back with a limit while another leaves, then free."""
    original, fields = only(subject), subject.fields()
    subject.proxy.apply([change(only(subject), original, frozenset({B}))])
    subject.proxy.apply([change(only(subject), original, frozenset({C}), {B: 1})])
    now = standing(only(subject))
    assert (now[A], now[B], now.get(C, "out")) == (None, 1, "out")
    subject.proxy.apply([change(only(subject), original)])
    assert subject.fields() == fields


def a_stale_plan_is_a_conflict(subject: Subject) -> None:
    """Who changes the list between reading and changing is not overwritten, and a new plan works."""
    stale = only(subject)
    subject.edit()
    fields = subject.fields()
    with pytest.raises(Conflict):
        subject.proxy.apply([change(stale, stale, frozenset({A}))])
    assert subject.fields() == fields
    fresh = only(subject)
    assert fresh.version != stale.version
    subject.proxy.apply([change(fresh, fresh, frozenset({A}))])
    subject.proxy.apply([change(only(subject), fresh)])
    assert subject.fields() == fields


def the_token_tells_of_a_change(subject: Subject) -> None:
    """Equal tokens are equal configurations, before a change and after its way back."""
    before, original = subject.proxy.read().token, only(subject)
    subject.proxy.apply([change(original, original, frozenset({A}))])
    assert subject.proxy.read().token != before
    subject.proxy.apply([change(only(subject), original)])
    assert subject.proxy.read().token == before


def an_answer_is_for_the_journal(subject: Subject) -> None:
    """The proxy's answer is one line with its duration."""
    original = only(subject)
    applied = subject.proxy.apply([change(original, original, frozenset({A}))])
    assert applied.answer
    assert "\n" not in applied.answer
    assert applied.seconds > 0


def load_never_raises(subject: Subject) -> None:
    """Either counts or the reason why there are none, and always the same process."""
    load = subject.proxy.load()
    assert load.process
    assert subject.proxy.load().process == load.process
    assert (load.counts is None) == bool(load.problem)


def out_of_reach_is_retryable(subject: Subject) -> None:
    """What can't be read now may be read later."""
    subject.hide()
    with pytest.raises(Retryable):
        subject.proxy.read()
    assert subject.proxy.load().counts is None


CONTRACT: tuple[Callable[[Subject], None], ...] = (
    reads_what_is_configured,
    out_and_back_is_the_original,
    all_but_one_may_leave,
    a_limit_comes_and_goes,
    from_out_to_limited_to_free,
    a_stale_plan_is_a_conflict,
    the_token_tells_of_a_change,
    an_answer_is_for_the_journal,
    load_never_raises,
    out_of_reach_is_retryable,
)
