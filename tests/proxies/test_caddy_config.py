"""Caddy's configuration as places, and changes of it as edits of its JSON."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.proxies.base import Change, Conflict
from tailhealth.proxies.caddy_change import ancestor, edited, url
from tailhealth.proxies.caddy_config import SERVERS, snapshot
from tailhealth.proxies.caddy_load import held_down, in_flight, process


def proxy(*dials: str, **fields: Any) -> dict[str, Any]:
    """Build a handler over these dials."""
    return {"handler": "reverse_proxy", "upstreams": [{"dial": dial} for dial in dials], **fields}


def config(*routes: dict[str, Any], name: str = "s", **server: Any) -> dict[str, Any]:
    """Build a configuration with one server."""
    return {"apps": {"http": {"servers": {name: {"routes": list(routes), **server}}}}}


def change(place: Any, *addresses: str, mark: str | None = None) -> Change:
    """Keep the entries of these addresses."""
    return Change(place, tuple(one for one in place.entries if one.address in addresses), mark)


def test_handlers_are_found_wherever_they_stand() -> None:
    """Subroutes, error routes, named routes, responses that are treated and plain routes all hold handlers."""
    inner = {"handler": "subroute", "routes": [{"handle": [proxy("b:1")]}]}
    treated = proxy("c:1", handle_response=[{"routes": [{"handle": [proxy("d:1")]}]}])
    tree = config(
        {"handle": [proxy("a:1"), inner]},
        {"handle": [treated]},
        errors={"routes": [{"handle": [proxy("e:1")]}]},
        named_routes={"n": {"handle": [proxy("f:1")]}},
    )
    found = {place.entries[0].address for place in snapshot(tree).places}
    assert found == {"a:1", "b:1", "c:1", "d:1", "e:1", "f:1"}


@pytest.mark.parametrize("tree", [None, {}, {"apps": {}}, {"apps": {"http": {}}}, {"apps": {"http": {"servers": None}}}])
def test_a_configuration_without_servers_has_no_places(tree: Any) -> None:
    """An empty Caddy is no error."""
    assert snapshot(tree).places == ()


def test_matchers_above_a_handler_the_innermost_wins() -> None:
    """Hosts come from the outer route, paths from the inner one; a route with an alternative that has none adds none."""
    inner = {"match": [{"path": ["/api/*"]}, {"path": ["/v1/*"]}], "handle": [proxy("a:1")]}
    half = {"match": [{"path": ["/x"]}, {"method": ["GET"]}], "handle": [proxy("b:1")]}
    outer = {"match": [{"host": ["shop.test"]}], "handle": [{"handler": "subroute", "routes": [inner, half]}]}
    first, second = snapshot(config(outer)).places
    assert (first.hosts, first.paths) == (("shop.test",), ("/api/*", "/v1/*"))
    assert (second.hosts, second.paths) == (("shop.test",), ())


def test_addresses_are_canonical_and_placeholders_are_a_problem() -> None:
    """Spellings of one server are one address (case 45); a dial with a placeholder can't be acted on (case 122)."""
    dials = ("tcp/10.9.0.1:8080", "unix//run/app/a.sock", "[2001:DB8::7]:9000", "App1.internal:8080", "{http.request.host}:80")
    (place,) = snapshot(config({"handle": [proxy(*dials)]})).places
    assert [entry.address for entry in place.entries] == [
        "10.9.0.1:8080",
        "unix//run/app/a.sock",
        "[2001:db8::7]:9000",
        "app1.internal:8080",
        "{http.request.host}:80",
    ]
    assert [bool(entry.problem) for entry in place.entries] == [False, False, False, False, True]


def test_weights_stand_wherever_a_policy_has_them() -> None:
    """The weights of a fallback go by position too, and a cookie policy is sticky."""
    policy = {"policy": "cookie", "fallback": {"policy": "weighted_round_robin", "weights": [10, 1]}}
    (place,) = snapshot(config({"handle": [proxy("a:1", "b:1", load_balancing={"selection_policy": policy})]})).places
    assert place.sticky
    assert [entry.weight for entry in place.entries] == [10, 1]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"dynamic_upstreams": {"source": "srv"}}, "dynamic upstreams"),
        (
            {"load_balancing": {"selection_policy": {"policy": "weighted_round_robin", "weights": [1]}}},
            "1 weights stand beside 2",
        ),
        ({"load_balancing": {"selection_policy": {"policy": "novel", "shares": [1, 2]}}}, "'novel' is unknown"),
    ],
)
def test_what_can_not_be_changed_says_why(fields: dict[str, Any], words: str) -> None:
    """Dynamic upstreams, weights that do not fit and unknown policies with data by position are not touched."""
    (place,) = snapshot(config({"handle": [proxy("a:1", "b:1", **fields)]})).places
    assert words in place.problem


def test_an_unknown_policy_without_data_by_position_is_no_problem() -> None:
    """Only what goes by position can be broken by taking an upstream out."""
    policy = {"policy": "novel", "shares": [1, 2, 3], "key": "x"}
    (place,) = snapshot(config({"handle": [proxy("a:1", "b:1", load_balancing={"selection_policy": policy})]})).places
    assert place.problem == ""


def test_marks_and_limits_are_no_part_of_an_entry() -> None:
    """A mark of ours and a limit are told apart from the operator's object; an id of the operator's is his."""
    listed = [{"dial": "a:1", "@id": "tailhealth-x-1", "max_requests": 1}, {"dial": "b:1", "@id": "mine"}]
    (place,) = snapshot(config({"handle": [{"handler": "reverse_proxy", "@id": "rp", "upstreams": listed}]})).places
    assert place.marks == ("tailhealth-x-1",)
    assert place.handler_id == "rp"
    assert [(entry.raw, entry.limit, entry.own_id) for entry in place.entries] == [
        ({"dial": "a:1"}, 1, False),
        ({"dial": "b:1", "@id": "mine"}, None, True),
    ]


def test_weights_move_with_their_upstream_and_the_mark_skips_ids() -> None:
    """Taking out the heavy upstream leaves the light ones their own weights; the mark stands where no id is (case 102)."""
    policy = {"policy": "weighted_round_robin", "weights": [10, 1, 2]}
    handler = proxy("a:1", "b:1", "c:1", load_balancing={"selection_policy": policy, "try_duration": "5s"}, flush_interval=-1)
    handler["upstreams"][1]["@id"] = "mine"
    tree = config({"handle": [handler]})
    (place,) = snapshot(tree).places
    edited(tree, (), [change(place, "b:1", "c:1", mark="tailhealth-x-1")])
    assert handler["upstreams"] == [{"dial": "b:1", "@id": "mine"}, {"dial": "c:1", "@id": "tailhealth-x-1"}]
    assert handler["load_balancing"] == {
        "selection_policy": {"policy": "weighted_round_robin", "weights": [1, 2]},
        "try_duration": "5s",
    }
    assert handler["flush_interval"] == -1


def test_several_handlers_go_to_their_nearest_common_ancestor() -> None:
    """Two handlers of one route share its list; of two routes, the list of routes."""
    tree = config({"handle": [proxy("a:1", "b:1"), proxy("a:1", "c:1")]}, {"handle": [proxy("a:1", "d:1")]})
    first, second, third = (change(place, place.entries[1].address) for place in snapshot(tree).places)
    assert url(ancestor([first])) == "/config/apps/http/servers/s/routes/0/handle/0"
    assert url(ancestor([first, second])) == "/config/apps/http/servers/s/routes/0/handle"
    assert url(ancestor([first, second, third])) == "/config/apps/http/servers/s/routes"


def test_a_name_that_no_path_can_hold_is_left_to_an_ancestor() -> None:
    """A server's name with a slash can't be addressed; one with a blank can."""
    (place,) = snapshot(config({"handle": [proxy("a:1", "b:1")]}, name="a b")).places
    assert url(ancestor([change(place, "a:1")])) == "/config/apps/http/servers/a%20b/routes/0/handle/0"
    tree = config({"handle": [proxy("a:1", "b:1")]}, name="a/b")
    (place,) = snapshot(tree).places
    one = change(place, "a:1")
    assert url(ancestor([one])) == "/config/apps/http/servers"
    part = edited(tree["apps"]["http"]["servers"], SERVERS, [one])
    assert part["a/b"]["routes"][0]["handle"][0]["upstreams"] == [{"dial": "a:1"}]


def test_a_handler_that_changed_or_went_is_a_conflict() -> None:
    """A change is only made to what it was planned on, and no part of it is made otherwise."""
    tree = config({"handle": [proxy("a:1", "b:1"), proxy("a:1", "c:1")]})
    changes = [change(place, place.entries[1].address) for place in snapshot(tree).places]
    moved = copy.deepcopy(tree)
    moved["apps"]["http"]["servers"]["s"]["routes"][0]["handle"][1]["flush_interval"] = 1
    before = copy.deepcopy(moved)
    with pytest.raises(Conflict, match="routes/0/handle/1"):
        edited(moved, (), changes)
    assert moved == before
    with pytest.raises(Conflict):
        edited(config(), (), changes)


names = st.sampled_from(["a:1", "b:1", "unix//c", "[::1]:4", "e:5"])
weights = st.lists(st.integers(0, 20), min_size=5, max_size=5)


@given(st.lists(names, min_size=1, unique=True), weights, st.data())
def test_taking_out_and_putting_back_restores_the_handler(dials: list[str], shares: list[int], data: st.DataObject) -> None:
    """Whatever is taken out and limited in between, giving the original entries back gives the original handler back."""
    policy = {"policy": "weighted_round_robin", "weights": shares[: len(dials)]}
    tree = config({"handle": [proxy(*dials, load_balancing={"selection_policy": policy})]})
    original = copy.deepcopy(tree)
    (place,) = snapshot(tree).places
    kept = data.draw(st.lists(st.sampled_from(place.entries), unique_by=lambda entry: entry.address, min_size=1))
    limited = tuple(msgspec.structs.replace(entry, limit=1) for entry in kept)
    edited(tree, (), [Change(place, limited, "tailhealth-x-1")])
    (between,) = snapshot(tree).places
    assert [(entry.address, entry.weights) for entry in between.entries] == [(entry.address, entry.weights) for entry in kept]
    edited(tree, (), [Change(between, place.entries)])
    assert tree == original


def test_in_flight_counts_of_the_two_kinds_of_double_spellings() -> None:
    """Two spellings of a unix socket are one counter, two of a TCP address are two, a placeholder is none."""
    body = (
        b'[{"address":"unix//run/a.sock","num_requests":3,"fails":0},{"address":"/run/a.sock","num_requests":2,"fails":0},'
        b'{"address":"tcp/10.0.0.1:80","num_requests":3,"fails":0},{"address":"10.0.0.1:80","num_requests":2,"fails":1},'
        b'{"address":"{http.request.host}:80","num_requests":9,"fails":0}]'
    )
    assert in_flight(body) == {"unix//run/a.sock": 3, "10.0.0.1:80": 5}


def test_metrics_name_the_process_and_what_is_held_down() -> None:
    """The gauge is 0 for what Caddy's own checks hold down; labels are unescaped."""
    metrics = (
        b"# TYPE caddy_reverse_proxy_upstreams_healthy gauge\n"
        b'caddy_reverse_proxy_upstreams_healthy{upstream="10.0.0.1:80"} 1\n'
        b'caddy_reverse_proxy_upstreams_healthy{upstream="tcp/10.0.0.2:80"} 0\n'
        b'caddy_reverse_proxy_upstreams_healthy{upstream="a\\"b"} 0\n'
        b"process_start_time_seconds 1.79598038229e+09\n"
    )
    assert held_down(metrics) == {"10.0.0.2:80"}
    assert process(metrics) == "1.79598038229e+09"
    assert process(b"") == ""
