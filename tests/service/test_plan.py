"""What each place shall list, by literals: never nothing, limits only where they are allowed, urgent or not."""

from __future__ import annotations

from typing import Any

import pytest

from tailhealth.proxies.base import UpstreamState
from tailhealth.proxies.caddy_config import snapshot
from tailhealth.service.plan import Plan, plan
from tailhealth.service.pools import Group, grouped, plain_naming, shared_addresses
from tailhealth.service.standing import survey
from tailhealth.service.state import Kept, Wish
from tests.service.fake_caddy import FakeCaddy, handler

OUT, LIMITED = UpstreamState.OUT, UpstreamState.LIMITED
POOL = "a:1+b:1+c:1"


def groups(*handlers: dict[str, Any], kept: tuple[Kept, ...] = ()) -> tuple[Group, ...]:
    """Read these handlers."""
    found = survey(snapshot(FakeCaddy(*handlers).config).places, kept, lambda mark: mark.startswith("tailhealth-me-"))
    return grouped(found.standings, plain_naming)


def planned(handlers: list[dict[str, Any]], kept: tuple[Kept, ...] = (), held_down: str = "", **wishes: Wish) -> Plan:
    """Plan for one pool of these handlers; the names of wishes are upstreams without their port."""
    found = groups(*handlers, kept=kept)
    shared = shared_addresses([one for group in found for one in group.standings])
    down = frozenset({held_down} - {""})
    return plan(found, {(found[0].name, f"{name}:1"): wish for name, wish in wishes.items()}, shared, down)


def aims(found: Plan) -> list[Any]:
    """The lists that are aimed at."""
    return [edit.aim for edit in found.edits]


def test_out_is_left_out() -> None:
    """An upstream that shall be out is not listed, the others stay in order; that is urgent."""
    found = planned([handler("a:1", "b:1", "c:1")], b=Wish(OUT))
    assert aims(found) == [((0, None), (2, None))]
    assert found.edits[0].urgent


def test_nothing_to_do() -> None:
    """Where the list is as it shall be there is no change."""
    assert planned([handler("a:1", "b:1", "c:1")]) == Plan((), ())


def test_the_last_upstream_stays() -> None:
    """When all shall be out, the one that was decided last stays and is told as denied."""
    found = planned([handler("a:1", "b:1", "c:1")], a=Wish(OUT, 3.0), b=Wish(OUT, 1.0), c=Wish(OUT, 2.0))
    assert aims(found) == [((0, None),)]
    assert found.denied == ((POOL, "a:1"),)


@pytest.mark.parametrize(("weights", "denied"), [([5, 0, 0], True), ([5, 0, 1], False)])
def test_an_upstream_of_weight_zero_does_not_serve(weights: list[int], denied: bool) -> None:
    """Only zero weights left would be refused by Caddy and serve nobody."""
    found = planned([handler("a:1", "b:1", "c:1", weights=weights)], a=Wish(OUT))
    assert bool(found.denied) is denied
    assert bool(found.edits) is not denied


def test_a_pool_in_two_handlers_leaves_both() -> None:
    """Handlers with the same upstreams are one pool; each keeps its own order."""
    found = planned([handler("a:1", "b:1", "c:1"), handler("c:1", "b:1", "a:1")], a=Wish(OUT))
    assert aims(found) == [((1, None), (2, None)), ((0, None), (1, None))]


def test_an_address_in_another_pool_stays_there() -> None:
    """Leaving one pool does not take it out of another."""
    found = planned([handler("a:1", "b:1"), handler("a:1", "c:1")], a=Wish(OUT))
    assert [(edit.pool, edit.aim) for edit in found.edits] == [("a:1+b:1", ((1, None),))]


def test_a_placeholder_is_never_taken_out() -> None:
    """An upstream that can't be acted on is denied."""
    found = plan(groups(handler("a:1", "{x}:1")), {("a:1+{x}:1", "{x}:1"): Wish(OUT)})
    assert found == Plan((), (("a:1+{x}:1", "{x}:1"),))


def test_a_pool_with_a_problem_is_left_alone() -> None:
    """Weights that do not fit stop every change."""
    assert planned([handler("a:1", "b:1", "c:1", weights=[1, 2])], a=Wish(OUT)) == Plan((), ())


@pytest.mark.parametrize(("own", "limit"), [(None, 2), (0, 2), (1, 1), (2, 2), (3, 2)])
def test_a_limit_is_never_above_the_operators(own: int | None, limit: int) -> None:
    """0 and no key mean that he has none; his own smaller one holds."""
    one = handler("a:1", "b:1", "c:1")
    if own is not None:
        one["upstreams"][0]["max_requests"] = own
    found = planned([one], a=Wish(LIMITED, max_in_flight=2))
    assert aims(found) == ([((0, limit), (1, None), (2, None))] if own not in {1, 2} else [])


@pytest.mark.parametrize(
    ("peers", "limited"),
    [(None, True), (("b:1",), True), (("b:1", "z:1"), True), ((), False), (("z:1",), False), (("a:1",), False)],
)
def test_a_limit_needs_an_unlimited_upstream_whose_latest_outcome_is_not_bad(
    peers: tuple[str, ...] | None, limited: bool
) -> None:
    """Peers that are bad themselves, unknown or the upstream itself do not carry the load."""
    found = planned([handler("a:1", "b:1", "c:1")], a=Wish(LIMITED, good_peers=peers))
    assert bool(found.edits) is limited


@pytest.mark.parametrize("held_down", ["b:1", "c:1"])
def test_what_the_proxy_holds_down_carries_nothing(held_down: str) -> None:
    """The only good peer must be up."""
    found = planned([handler("a:1", "b:1", "c:1")], held_down=held_down, a=Wish(LIMITED, good_peers=("b:1",)))
    assert bool(found.edits) is (held_down != "b:1")


def test_of_two_the_later_one_is_not_limited() -> None:
    """A limit that would leave no upstream without one is not set."""
    found = planned([handler("a:1", "b:1")], a=Wish(LIMITED, 2.0), b=Wish(LIMITED, 1.0))
    assert aims(found) == [((0, None), (1, 1))]


def test_an_address_in_two_handlers_is_not_limited() -> None:
    """Caddy counts its requests in flight over both."""
    assert planned([handler("a:1", "b:1"), handler("a:1", "c:1")], a=Wish(LIMITED)).edits == ()


def marked(**limits: int) -> tuple[dict[str, Any], tuple[Kept, ...]]:
    """Build a handler over a, b and c as we left it, with limits of ours on some, and its record."""
    one = handler("a:1", "b:1", "c:1")
    place = snapshot(FakeCaddy(one).config).places[0]
    for entry in one["upstreams"]:
        if entry["dial"][0] in limits:
            entry["max_requests"] = limits[entry["dial"][0]]
    one["upstreams"][0]["@id"] = "tailhealth-me-1"
    left = tuple((index, limits.get(entry.address[0])) for index, entry in enumerate(place.entries))
    return one, (Kept(place.key, "tailhealth-me-1", POOL, place.entries, left),)


def test_a_limit_that_would_leave_none_is_lifted_in_the_same_change() -> None:
    """The only unlimited upstreams leave, so the limited one must carry all."""
    one, kept = marked(a=1)
    found = planned([one], kept, a=Wish(LIMITED), b=Wish(OUT), c=Wish(OUT))
    assert aims(found) == [((0, None),)]


def test_lifting_alone_can_wait() -> None:
    """Giving a limit back is not urgent, giving it back beside a removal is."""
    one, kept = marked(a=1)
    assert [edit.urgent for edit in planned([one], kept).edits] == [False]
    assert [edit.urgent for edit in planned([one], kept, b=Wish(OUT)).edits] == [True]
    assert [edit.urgent for edit in planned([one], kept, a=Wish(LIMITED), b=Wish(LIMITED)).edits] == [True]


def test_the_mark_comes_and_goes() -> None:
    """A place that is not the operator's carries a mark, the same one as before; the whole list carries none."""
    one, kept = marked(a=1)
    edits = planned([one], kept, b=Wish(OUT)).edits
    assert edits[0].mark(lambda: "new") == "tailhealth-me-1"
    assert planned([one], kept).edits[0].mark(lambda: "new") is None
    assert planned([handler("a:1", "b:1")], a=Wish(OUT)).edits[0].mark(lambda: "new") == "new"


def test_no_mark_where_every_upstream_left_has_an_id() -> None:
    """The operator's ids are his."""
    one = handler("a:1", "b:1")
    one["upstreams"][1]["@id"] = "mine"
    assert planned([one], a=Wish(OUT)).edits[0].mark(lambda: "new") is None
    assert planned([one], b=Wish(OUT)).edits[0].mark(lambda: "new") == "new"
