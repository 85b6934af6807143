"""Which `[pool]` table means which pool, and what pools are called."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.config.errors import ConfigError
from tailhealth.config.loading import load, parse
from tailhealth.config.pools import NAME_LENGTH, Handler, joined

AB = ("a:1", "b:1")


@pytest.mark.parametrize(
    ("table", "handler", "matches"),
    [
        ('upstreams = ["b:1", "TCP/A:1"]', Handler(AB), True),
        ('upstreams = ["a:1"]', Handler(AB), False),
        ('upstreams = ["a:1", "b:1", "c:1"]', Handler(AB), False),
        ('upstreams = ["a:1", "b:1"]', Handler((*AB, "c:1"), backups=("c:1",)), True),
        ('upstreams = ["a:1", "b:1", "c:1"]', Handler((*AB, "c:1"), backups=("c:1",)), True),
        ('id = "x"', Handler(AB, id="x"), True),
        ('id = "x"', Handler(AB, id="y"), False),
        ('id = "x"', Handler(AB), False),
        ('host = "a.example"', Handler(AB, hosts=("b.example", "A.example")), True),
        ('host = "*.example"', Handler(AB, hosts=("a.example",)), True),
        ('host = "a.example"', Handler(AB, hosts=("*.example",)), True),
        ('host = "a.example"', Handler(AB, hosts=("b.example",)), False),
        ('host = "a.example"', Handler(AB), False),
        ('host = "a.example"\nupstreams = ["a:1", "b:1"]', Handler(AB), True),
        ('host = "a.example"\nid = "x"', Handler(AB, id="x"), True),
        ('host = "a.example"\nupstreams = ["a:1", "b:1"]', Handler(AB, hosts=("b.example",)), False),
        ('path = "/api/chat"', Handler(AB, paths=("/api/*",)), True),
        ('path = "/api/*"', Handler(AB, paths=("/api/chat",)), True),
        ('path = "/api/*"', Handler(AB, paths=("/v1/*",)), False),
        ('path = "/api/*"', Handler(AB), False),
        ('path = "/api/*"\nhost = "a"', Handler(AB, hosts=("a",), paths=("/api/*",)), True),
        ('path = "/api/*"\nhost = "a"', Handler(AB, hosts=("b",), paths=("/api/*",)), False),
    ],
)
def test_match(table: str, handler: Handler, matches: bool) -> None:
    """All match keys of a table must fit; by a pattern alone a handler that serves everything is not meant."""
    config = parse(f"[pool.x]\n{table}".encode())
    assert config.pool_for(handler) == ("x" if matches else None)


def test_two_tables_match() -> None:
    """Two tables that mean one pool are an error that names both."""
    config = parse(b'pool.one.upstreams = ["a:1", "b:1"]\npool."the other".id = "x"')
    assert config.pool_for(Handler(AB)) == "one"
    assert config.pool_for(Handler(("c:1",), id="x")) == "the other"
    with pytest.raises(ConfigError) as caught:
        config.pool_for(Handler(AB, id="x"))
    expected = 'pool.one and pool."the other" match the same pool, a:1+b:1: tell them apart by upstreams, host, path or id'
    assert caught.value.problems == [f"tailhealth.toml: {expected}"]
    with pytest.raises(ConfigError, match="tell them apart"):
        config.pool_name(Handler(AB, id="x"))


def test_name() -> None:
    """A pool is called after its table, else after the handler's id, else after its upstreams."""
    config = parse(b'pool.chat.upstreams = ["a:1", "b:1"]')
    assert config.pool_name(Handler(AB, id="x")) == "chat"
    assert config.pool_name(Handler(("c:1",), id="x")) == "x"
    assert config.pool_name(Handler(("c:1", "a:1"))) == "a:1+c:1"
    assert load(None).pool_name(Handler(("b:1", "a:1", "b:1"))) == "a:1+b:1"


def test_id_that_is_another_tables_name() -> None:
    """A handler whose id happens to be a table's name does not get that table's rules."""
    config = parse(b'pool.chat.upstreams = ["a:1", "b:1"]')
    assert config.pool_name(Handler(("c:1",), id="chat")) == "c:1"


@pytest.mark.parametrize(("length", "cut"), [(NAME_LENGTH, False), (NAME_LENGTH + 1, True)])
def test_long_name(length: int, cut: bool) -> None:
    """A name of 60 characters stays, a longer one is cut to 60 with a hash of the whole."""
    address = "a" * (length - 6) + ":1"
    whole = f"{address}+b:1"
    name = joined(("b:1", address))
    assert (name != whole) is cut
    assert len(name) == NAME_LENGTH
    assert name[:50] == whole[:50]


@given(st.sets(st.integers(1, 65535).map("upstream-with-a-long-name.internal:{}".format), min_size=2), st.randoms())
def test_name_tells_sets_apart(upstreams: set[str], random: Random) -> None:
    """The name depends on the set alone, not on its order, and another set has another name."""
    order = sorted(upstreams)
    random.shuffle(order)
    assert joined(order) == joined(sorted(upstreams))
    assert joined(order[1:]) != joined(order)
