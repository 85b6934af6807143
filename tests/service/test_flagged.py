"""What a list says of a proxy that keeps upstreams listed and flags them out: nginx's include file, the API of NGINX Plus."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from msgspec import UNSET, UnsetType

from tailhealth.proxies.base import Entry, Place, UpstreamState
from tailhealth.service.drift import Drift, What, drifts, records
from tailhealth.service.plan import plan
from tailhealth.service.pools import grouped, plain_naming
from tailhealth.service.standing import Standing, Survey, survey
from tailhealth.service.state import Contents, Kept, Listing, Wish

OUT = "out"
ALL: Listing = ((0, None), (1, 5), (2, None))
WITHOUT_A: Listing = ((1, 5), (2, None))
A_LIMITED: Listing = ((0, 1), (1, 5), (2, None))
WISH = {("chat", "a:1"): Wish(UpstreamState.OUT)}


def entries(stand: Mapping[str, int | str | None], own: int | UnsetType | None = UNSET) -> tuple[Entry, ...]:
    """Build a list from how each upstream stands: out, or its limit; `own` is that of the first in the file."""
    return tuple(
        Entry(
            f"{name}:1",
            {"server": name},
            None if limit == OUT or isinstance(limit, str) else limit,
            out=limit == OUT,
            own_limit=own if index == 0 else UNSET,
        )
        for index, (name, limit) in enumerate(stand.items())
    )


ORIGINAL = entries({"a": None, "b": 5, "c": None})


def surveyed(
    stand: Mapping[str, int | str | None],
    left: Listing | None = WITHOUT_A,
    aim: Listing | None = None,
    generation: str = "1",
    own: int | UnsetType | None = UNSET,
) -> Survey:
    """Read a block beside the record of one; `left` None: there is no record."""
    place = Place("chat", entries(stand, own), "v", handler_id="chat", removes=False, generation=generation)
    kept = [] if left is None else [Kept("chat", None, "chat", ORIGINAL, left, aim, "1")]
    return survey([place], kept, lambda _mark: True)


def standing(found: Survey) -> Standing:
    """The only standing."""
    (one,) = found.standings
    return one


def drifted(found: Survey, wishes: Mapping[tuple[str, str], Wish] = WISH) -> tuple[Drift, ...]:
    """What the operator did, by this survey."""
    return drifts(found, grouped(found.standings, plain_naming), {"chat": ORIGINAL}, wishes)


def test_as_we_left_it() -> None:
    """What is flagged is ours, and the operator did nothing."""
    found = surveyed({"a": OUT, "b": 5, "c": None})
    one = standing(found)
    assert (one.listing, one.returned, one.lost, one.out) == (WITHOUT_A, frozenset(), False, frozenset({"a:1"}))
    assert drifted(found) == ()


def test_our_flag_taken_away_by_hand() -> None:
    """The ejection ends, and there is nothing to put back."""
    found = surveyed({"a": None, "b": 5, "c": None})
    assert standing(found).returned == {"a:1"}
    assert drifted(found) == (Drift(What.HAND, "chat", "chat", ("a:1",)),)
    assert records(found, Contents("t"))["kept"] == ()


def test_our_flag_lost_by_a_load() -> None:
    """Another generation of the configuration: the ejection goes on, and is to be applied again."""
    found = surveyed({"a": None, "b": 5, "c": None}, generation="2")
    assert (standing(found).returned, standing(found).lost) == (frozenset(), True)
    assert drifted(found) == (Drift(What.LOADED, "chat", "chat"),)
    (edit,) = plan(grouped(found.standings, plain_naming), WISH).edits
    assert (edit.aim, edit.record(None).generation) == (WITHOUT_A, "2")


def test_a_load_that_lost_nothing() -> None:
    """Where nginx keeps what the API changed, a load is no drift, and the record goes over to the new generation."""
    found = surveyed({"a": OUT, "b": 5, "c": None}, generation="2")
    assert not standing(found).lost
    assert drifted(found) == ()
    assert [one.generation for one in records(found, Contents("t"))["kept"]] == ["2"]


def test_a_limit_taken_away_by_hand() -> None:
    """The probation ends as an ejection does; set to another value it is the operator's own from here on."""
    for limit in (None, 3):
        found = surveyed({"a": limit, "b": 5, "c": None}, A_LIMITED)
        assert standing(found).returned == {"a:1"}
        assert standing(found).original[0].limit == limit
        assert drifted(found)[0] == Drift(What.HAND, "chat", "chat", ("a:1",))


def test_a_limit_lost_by_a_load() -> None:
    """It is set again."""
    found = surveyed({"a": None, "b": 5, "c": None}, A_LIMITED, generation="2")
    assert (standing(found).returned, standing(found).lost) == (frozenset(), True)


@pytest.mark.parametrize("now", [OUT, None, 1])
@pytest.mark.parametrize(("left", "aim"), [(ALL, WITHOUT_A), (WITHOUT_A, A_LIMITED), (A_LIMITED, ALL), (A_LIMITED, WITHOUT_A)])
def test_a_change_whose_outcome_is_not_known(now: str | int | None, left: Listing, aim: Listing) -> None:
    """What either list has is our doing; only what neither has is the operator's hand."""
    one = standing(surveyed({"a": now, "b": 5, "c": None}, left, aim))
    ours = {dict(each).get(0, OUT) for each in (left, aim)}
    assert one.returned == (frozenset({"a:1"}) if now is None and None not in ours else frozenset())
    assert one.original[0].limit is None or now not in ours


@pytest.mark.parametrize("limit", [None, 7])
def test_what_was_never_touched_is_no_news(limit: int | None) -> None:
    """The operator's own limit of another upstream may change while one is out: his list changed, the ejection goes on."""
    found = surveyed({"a": OUT, "b": limit, "c": None})
    assert standing(found).returned == frozenset()
    assert drifted(found) == (Drift(What.LOADED, "chat", "chat"),)
    assert [entry.limit for entry in standing(found).original] == [None, limit, None]


def test_servers_that_the_operator_added_moved_and_deleted() -> None:
    """Servers are known by their address, wherever they stand: what is flagged stays so, what is deleted is gone for good."""
    found = surveyed({"c": None, "a": OUT, "d": None, "b": 5})
    assert (standing(found).out, standing(found).returned) == (frozenset({"a:1"}), frozenset())
    assert [one.what for one in drifted(found)] == [What.LOADED]
    found = surveyed({"b": 5, "c": None})
    assert drifted(found)[-1] == Drift(What.GONE, "chat", "", ("a:1",))


@pytest.mark.parametrize("own", [None, 9])
def test_a_state_file_that_is_lost_while_a_limit_is_set(own: int | None) -> None:
    """Where the file tells both limits, ours is lifted all the same, and the operator's is the original."""
    found = surveyed({"a": 1, "b": 5, "c": None}, None, own=own)
    assert standing(found).original[0].limit == own
    (edit,) = plan(grouped(found.standings, plain_naming), {}).edits
    assert (edit.aim, edit.whole) == (((0, own), (1, 5), (2, None)), True)


def test_a_limit_of_the_operator_that_changes_under_ours() -> None:
    """The file tells it at once: it is what comes back."""
    found = surveyed({"a": 1, "b": 5, "c": None}, A_LIMITED, own=4)
    assert (standing(found).original[0].limit, standing(found).listing, standing(found).returned) == (4, A_LIMITED, frozenset())
