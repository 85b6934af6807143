"""What a list says about us and about the operator, by literals."""

from __future__ import annotations

from typing import Any

import pytest

from tailhealth.proxies.base import Entry, Place
from tailhealth.proxies.caddy_config import snapshot
from tailhealth.service.standing import Standing, Survey, survey
from tailhealth.service.state import Kept, Listing
from tests.service.fake_caddy import FakeCaddy, handler

MARK = "tailhealth-me-1"
KEY = "apps/http/servers/s/routes/0/handle/0"


def surveyed(now: dict[str, Any], *kept: Kept) -> Survey:
    """Read a handler beside these records."""
    return survey(snapshot(FakeCaddy(now).config).places, kept, lambda mark: mark.startswith("tailhealth-me-"))


def standing(now: dict[str, Any], *kept: Kept) -> Standing:
    """The only standing of a handler."""
    (one,) = surveyed(now, *kept).standings
    return one


def record(original: dict[str, Any], left: Listing, aim: Listing | None = None, mark: str | None = MARK) -> Kept:
    """Record a handler."""
    return Kept(KEY, mark, "p", snapshot(FakeCaddy(original).config).places[0].entries, left, aim)


def marked(*dials: str, **fields: Any) -> dict[str, Any]:
    """Build a handler whose first upstream carries our mark."""
    one = handler(*dials, **fields)
    one["upstreams"][0]["@id"] = MARK
    return one


def addresses(one: Standing) -> list[str]:
    """The operator's list."""
    return [entry.address[0] for entry in one.original]


FOUR = handler("a:1", "b:1", "c:1", "d:1")
WITHOUT_B: Listing = ((0, None), (2, None), (3, None))
WITHOUT_BC: Listing = ((0, None), (3, None))


def test_as_we_left_it() -> None:
    """The list and the mark are ours: the original is the recorded one."""
    one = standing(marked("a:1", "c:1", "d:1"), record(FOUR, WITHOUT_B))
    assert (addresses(one), one.listing, one.out) == (["a", "b", "c", "d"], WITHOUT_B, frozenset({"b:1"}))
    assert not one.changed
    assert not one.returned


@pytest.mark.parametrize(("dials", "listing"), [(("a:1", "c:1", "d:1"), WITHOUT_B), (("a:1", "d:1"), WITHOUT_BC)])
def test_an_intent_was_carried_out_or_not(dials: tuple[str, ...], listing: Listing) -> None:
    """After a crash the list tells which of the two it was."""
    one = standing(marked(*dials), record(FOUR, WITHOUT_B, WITHOUT_BC))
    assert (one.listing, one.changed) == (listing, False)


def test_the_mark_is_gone() -> None:
    """The operator loaded a configuration: his list is the original, and the record belongs to nobody."""
    found = surveyed(handler("c:1", "d:1"), record(FOUR, WITHOUT_B))
    assert [addresses(one) for one in found.standings] == [["c", "d"]]
    assert len(found.orphans) == 1


def test_put_back_by_hand() -> None:
    """An ejected upstream stands where he put it, and nothing else changed."""
    one = standing(marked("a:1", "c:1", "d:1", "b:1"), record(FOUR, WITHOUT_B))
    assert (addresses(one), one.returned, one.changed) == (["a", "c", "d", "b"], frozenset({"b:1"}), False)
    assert one.listing == ((0, None), (1, None), (2, None), (3, None))


@pytest.mark.parametrize(
    ("dials", "expected"),
    [
        (("a:1", "c:1", "d:1", "x:1"), "abcdx"),
        (("a:1", "x:1", "c:1", "d:1"), "abxcd"),
        (("x:1", "a:1", "c:1", "d:1"), "xabcd"),
        (("a:1", "d:1"), "abd"),
        (("d:1", "c:1", "a:1"), "dcab"),
        (("c:1", "d:1"), "bcd"),
        (("x:1",), "bx"),
    ],
)
def test_changed_by_hand(dials: tuple[str, ...], expected: str) -> None:
    """What was out returns after its nearest earlier neighbour that is still there, else to the front."""
    one = standing(marked(*dials), record(FOUR, WITHOUT_B))
    assert "".join(addresses(one)) == expected
    assert one.changed
    assert one.out == {"b:1"}


def test_two_that_are_out_keep_their_order() -> None:
    """The first one back is a neighbour for the second."""
    one = standing(marked("a:1", "d:1", "x:1"), record(FOUR, WITHOUT_BC))
    assert "".join(addresses(one)) == "abcdx"


def test_one_of_two_put_back_by_hand() -> None:
    """Only that one's ejection ends."""
    one = standing(marked("a:1", "c:1", "d:1"), record(FOUR, WITHOUT_BC))
    assert (addresses(one), one.returned, one.changed, one.out) == (
        ["a", "b", "c", "d"],
        frozenset({"c:1"}),
        False,
        frozenset({"b:1"}),
    )


def test_reweighted_by_hand() -> None:
    """His new weights hold; what was out keeps its own."""
    original = handler("a:1", "b:1", "c:1", weights=[1, 2, 3])
    one = standing(marked("a:1", "c:1", weights=[5, 3]), record(original, ((0, None), (2, None))))
    assert [entry.weights for entry in one.original] == [(5,), (2,), (3,)]
    assert one.changed


def test_weights_added_by_hand() -> None:
    """What was out gets weight 1 where he had none."""
    one = standing(marked("a:1", "c:1", "d:1", weights=[5, 3, 4]), record(FOUR, WITHOUT_B))
    assert [entry.weights for entry in one.original] == [(5,), (1,), (3,), (4,)]


def test_our_limit_is_not_his() -> None:
    """When he changes the list beside a limit of ours, his own limit is the one that he had; one that he set is his."""
    left: Listing = ((0, 1), (2, None), (3, None))
    one = marked("a:1", "c:1", "d:1", "x:1")
    one["upstreams"][0]["max_requests"] = 1
    one["upstreams"][1]["max_requests"] = 9
    found = standing(one, record(FOUR, left))
    assert [(entry.address[0], entry.limit) for entry in found.original] == [
        ("a", None),
        ("b", None),
        ("c", 9),
        ("d", None),
        ("x", None),
    ]
    assert found.listing[0] == (0, 1)


def test_a_strange_mark_is_a_problem() -> None:
    """It is another controller's, or that of a state file that is lost."""
    one = handler("a:1", "b:1")
    one["upstreams"][0]["@id"] = "tailhealth-other-1"
    assert "the mark of another tailhealth" in standing(one).problem
    assert "of which there is no record" in standing(marked("a:1", "b:1")).problem


def test_a_place_that_can_not_be_marked_is_known_by_its_list() -> None:
    """With ids on all upstreams, the list as we left it at the same path is ours, and any other is his."""
    original = handler("a:1", "b:1")
    for entry in original["upstreams"]:
        entry["@id"] = entry["dial"]
    one = handler("a:1")
    one["upstreams"][0]["@id"] = "a:1"
    kept = record(original, ((0, None),), mark=None)
    assert standing(one, kept).out == {"b:1"}
    assert len(surveyed(original, kept).orphans) == 1


def flagged(*entries: Entry) -> Place:
    """Build a place of a proxy that keeps upstreams listed."""
    return Place("block", entries, "v", removes=False)


def test_a_proxy_that_flags_keeps_the_list() -> None:
    """What is flagged is out, and the list is the operator's; without a record too."""
    place = flagged(Entry("a:1", {"s": "a"}, out=True), Entry("b:1", {"s": "b"}, limit=7))
    (one,) = survey([place], (), lambda _: True).standings
    assert (one.out, one.listing) == (frozenset({"a:1"}), ((1, 7),))
    assert one.whole == ((0, None), (1, 7))


def test_a_limit_of_ours_is_known_although_the_operator_changed_the_list() -> None:
    """He adds a server: the one that we limited gets its own limit back, and a limit that he set stays."""
    original = (Entry("a:1", {"s": "a"}), Entry("b:1", {"s": "b"}, limit=7))
    kept = Kept("block", None, "p", original, ((0, 1), (1, 2)))
    place = flagged(Entry("x:1", {"s": "x"}), Entry("a:1", {"s": "a"}, limit=1), Entry("b:1", {"s": "b"}, limit=9))
    (one,) = survey([place], (kept,), lambda _: True).standings
    assert [entry.limit for entry in one.original] == [None, None, 9]
    assert one.listing == ((0, None), (1, 1), (2, 9))
