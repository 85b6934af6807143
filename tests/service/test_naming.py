"""What the configuration calls the pools of the proxy."""

from __future__ import annotations

from tailhealth.config import parse
from tailhealth.proxies.base import Entry, Place
from tailhealth.service.naming import ConfiguredNames
from tailhealth.service.pools import NamedPool, ProxyPool

AB = ("a:1", "b:1")


def place(key: str, handler_id: str | None = None, hosts: tuple[str, ...] = (), paths: tuple[str, ...] = ()) -> Place:
    """Make a place of `a:1` and `b:1`."""
    entries = tuple(Entry(address=address, raw={"dial": address}) for address in AB)
    return Place(key=key, entries=entries, version="1", handler_id=handler_id, hosts=hosts, paths=paths)


def named(config: str, *places: Place) -> tuple[list[NamedPool], dict[str, str]]:
    """Name the pool of these places; return also what is wrong with the tables."""
    names = ConfiguredNames(parse(config.encode()))
    return list(names(ProxyPool(AB, places))), names.clashes


def test_without_tables() -> None:
    """The handler's id, else the upstreams; places that no table tells apart are one pool."""
    assert named("", place("0"))[0] == [NamedPool("a:1+b:1", frozenset({"0"}))]
    assert named("", place("0", "chat"), place("1"))[0] == [NamedPool("chat", frozenset({"0", "1"}))]


def test_a_table() -> None:
    """It names the pool, and its patterns choose the attempts."""
    config = '[pool.chat]\nupstreams = ["b:1", "a:1"]\nhost = "Chat.Example"\npath = ["/v1/*"]'
    assert named(config, place("0"))[0] == [NamedPool("chat", frozenset({"0"}), ("chat.example",), ("/v1/*",))]


def test_tables_tell_places_apart() -> None:
    """Each place goes to the table that means it, the rest is one pool more."""
    config = '[pool.chat]\nhost = "chat.example"\n[pool.embed]\nhost = "embed.example"'
    places = [place("0", hosts=("chat.example",)), place("1", hosts=("embed.example",)), place("2", hosts=("old.example",))]
    assert named(config, *places)[0] == [
        NamedPool("chat", frozenset({"0"}), ("chat.example",)),
        NamedPool("embed", frozenset({"1"}), ("embed.example",)),
        NamedPool("a:1+b:1", frozenset({"2"})),
    ]


def test_two_tables_that_claim_one_place() -> None:
    """It is left alone, and the clash is told."""
    config = '[pool.chat]\nupstreams = ["a:1", "b:1"]\n[pool.other]\nid = "x"'
    found, clashes = named(config, place("0", "x"))
    assert found == []
    assert list(clashes) == ["a:1+b:1"]
    assert "pool.chat and pool.other match the same pool" in clashes["a:1+b:1"]


def test_a_clash_that_was_mended() -> None:
    """What is told is about the latest reading: one that is gone is not told any more."""
    names = ConfiguredNames(parse(b'[pool.chat]\nupstreams = ["a:1", "b:1"]\n[pool.other]\nid = "x"'))
    names(ProxyPool(AB, (place("0", "x"),)))
    assert names.clashes
    assert names(ProxyPool(AB, (place("0"),)))
    assert names.clashes == {}
