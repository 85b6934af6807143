"""The shape of a file's lines, learned from a line, and the typed decoder that reads all lines of that shape.

The decoder builds nothing for what nobody asked for, but it is too lenient (DESIGN section 3, fast path): `Shape.rows` hands
on only what it provably read as a careful reader would.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from tailhealth.logs.nginx_names import ABOUT_ANSWER, FIELD_NAMES, Key, choose
from tailhealth.logs.nginx_time import is_number
from tailhealth.logs.rules import LogRules

Value: TypeAlias = str | float | None

ABSENT = msgspec.UNSET
"""Stands for a variable that the line does not have, as against one that is empty: an absent variable proves nothing."""


class Row(Protocol):
    """One line's fields by name, each a text, a number, None or `ABSENT`."""

    time: Any
    upstream: Any
    upstream_status: Any
    header_time: Any
    response_time: Any
    connect_time: Any
    request_time: Any
    status: Any
    method: Any
    path: Any
    request: Any
    host: Any
    client: Any
    forwarded: Any
    client_port: Any
    body_bytes: Any
    grpc_status: Any
    grpc_trailer: Any
    content_type: Any
    retry_after: Any


class SlowRow:
    """A row that was read with care."""

    __slots__ = FIELD_NAMES

    def __init__(self, values: dict[str, Any]) -> None:
        for name in FIELD_NAMES:
            setattr(self, name, values.get(name, ABSENT))


_NAME = re.compile(r'[^"\\\x00-\x1f\ud800-\udfff]*')
"""Keys that a struct can have; lines with others are all read with care."""

_SECONDS: Any = float | Literal["", "-"]
_CODE: Any = int | Literal["", "-"]
_NUMBERS: dict[str, Any] = {
    "time": float,
    **dict.fromkeys(("header_time", "response_time", "request_time"), _SECONDS),
    **dict.fromkeys(("upstream_status", "status"), _CODE),
}
"""Fields that are numbers in nearly all lines and written as text: the decoder reads a number as fast as it makes a text."""
PIECE = 8
"""Of a block in which a line has other texts there (two tries: `0.1, 0.2`), so many lines are decoded at once."""

OPENED, CLOSED = frozenset(b"{"), frozenset(b"}")
"""What a line of a block begins and ends with: then no object stands over two lines, and none shares one."""


class _Leaf(NamedTuple):
    """A value of the line that the decoder has to see."""

    attribute: str
    type: Any


_Node: TypeAlias = "dict[str, _Node | _Leaf]"


class Flags(NamedTuple):
    """What all rows of a shape have in common."""

    silent: bool
    """No field says more about the answer than its status."""
    text: bool
    """All about the request is text, in fields of its own."""
    port: bool
    """There is a port of the client."""
    size: bool
    """There is a size of the request."""


class Shape:
    """How lines with a certain set of keys are read.

    Args:
        values: Such a line's values by where they stand.
        rules: What the operator mapped.
    """

    def __init__(self, values: Mapping[Key, Any], rules: LogRules) -> None:
        self.values = values
        self.choices = choose(values, rules)
        wanted = {choice.key: _Leaf(choice.field, _type_like(values[choice.key])) for choice in reversed(self.choices)}
        # All others are required as well, so that the number of keys in a line proves that none stands there twice.
        others = [key for key in values if key not in wanted]
        wanted.update({key: _Leaf(f"other_{index}", _other_type(values[key])) for index, key in enumerate(others)})
        again = {choice.field: wanted[choice.key].attribute for choice in self.choices}
        tree = _tree(wanted)
        self._count = _count(tree)
        self._quotes = 4 * self._count if all(isinstance(value, str) for value in values.values()) and _is_flat(tree) else -1
        """How many quotes a line has if all its values are text and no quote stands in one."""
        self.kind: Any = None
        """The type of nearly all rows. In one of another type, what could be a number is text."""
        self.decoder: Any = None
        """Reads rows of that type; None if lines of this shape are all read with care."""
        if all(_NAME.fullmatch(part) for key in wanted for part in key):
            self.kind = _row_type(_tree(wanted | self._numbers(wanted, values)), again)
            self.decoder = msgspec.json.Decoder(self.kind, strict=False)
            self._texts = msgspec.json.Decoder(_row_type(tree, again))
        texts = {choice.field for choice in self.choices if isinstance(values[choice.key], str)}
        self.flags = Flags(
            silent=ABOUT_ANSWER.isdisjoint(again),
            text=texts >= ({"method", "host", "path", "client"} | ({"client_port"} & again.keys())),
            port="client_port" in again,
            size="body_bytes" in again,
        )

    def _numbers(self, wanted: Mapping[Key, _Leaf], values: Mapping[Key, Any]) -> dict[Key, _Leaf]:
        """Return those of the values that are to be decoded as numbers: texts that whoever reads them takes for numbers."""
        found: dict[Key, _Leaf] = {}
        for key, leaf in wanted.items():
            types = {_NUMBERS.get(choice.field) for choice in self.choices if choice.key == key}
            if isinstance(values[key], str) and len(types) == 1 and (types != {float} or is_number(values[key])):
                found[key] = leaf._replace(type=types.pop() or leaf.type)
        return found

    def rows(self, block: bytes, ends: Sequence[int]) -> list[Any] | None:
        """Read a block of whole lines that end at `ends`, or return None if a line of it is not plainly of this shape.

        The decoder by itself takes the last of duplicate keys, accepts objects over two lines and drops blank ones. But it
        requires every key of the shape: with as many keys in all as the lines must have, no line has one twice, or another.
        """
        lines = len(ends)
        if self.decoder is None:
            return None
        if block.count(b'"') != lines * self._quotes:
            # Slower: colons after quotes, those in texts left out.
            keys = block.count(b'":')
            if keys != lines * self._count and keys - block.count(b'\\":') != lines * self._count:
                return None
        if lines > 1 and ({block[end - 1] for end in ends} != CLOSED or {block[end + 1] for end in ends[:-1]} != OPENED):
            return None
        try:
            rows = self._decoded(block, ends)
        except (msgspec.DecodeError, RecursionError):
            return None
        return rows if len(rows) == lines else None

    def _decoded(self, block: bytes, ends: Sequence[int]) -> list[Any]:
        """Decode a block, as it is or in pieces: only a line with a text in a number's place is decoded as one with texts.

        Raises:
            DecodeError, RecursionError: A line is not of this shape.
        """
        rows: list[Any] = []
        with suppress(msgspec.ValidationError):
            rows += self.decoder.decode_lines(block)
            return rows
        for first in range(0, len(ends), PIECE):
            start = ends[first - 1] + 1 if first else 0
            piece = block[start : ends[min(first + PIECE, len(ends)) - 1]]
            try:
                rows += self.decoder.decode_lines(piece)
            except msgspec.ValidationError:
                rows += map(self._line, piece.split(b"\n"))
        return rows

    def _line(self, line: bytes) -> Any:
        try:
            return self.decoder.decode(line)
        except msgspec.ValidationError:
            return self._texts.decode(line)


def _type_like(value: Any) -> Any:
    """Return the type that a value like this one has in all lines of its shape; others are read with care."""
    return str if isinstance(value, str) else Value


def _other_type(value: Any) -> Any:
    return str if isinstance(value, str) else msgspec.Raw


def _is_flat(tree: _Node) -> bool:
    return all(isinstance(below, _Leaf) for below in tree.values())


def _count(tree: _Node) -> int:
    """Count the keys of an object and of the objects in it."""
    return sum(1 if isinstance(below, _Leaf) else 1 + _count(below) for below in tree.values())


def _tree(wanted: dict[Key, _Leaf]) -> _Node:
    """Arrange values by the objects that they stand in."""
    tree: _Node = {}
    for key, leaf in wanted.items():
        node = tree
        for part in key[:-1]:
            below = node.setdefault(part, {})
            if isinstance(below, dict):
                node = below
        node[key[-1]] = leaf
    return tree


def _row_type(tree: _Node, attributes: dict[str, str]) -> type[msgspec.Struct]:
    """Make the struct of a line: chosen fields by their names, what the line does not have as `ABSENT`."""
    namespace: dict[str, Any] = {name: ABSENT for name in FIELD_NAMES if name not in attributes}
    for field, attribute in attributes.items():
        if field != attribute:
            namespace[field] = property(_getter(attribute))
    members: list[Any] = []
    rename: dict[str, str] = {}
    for index, (key, below) in enumerate(tree.items()):
        name = below.attribute if isinstance(below, _Leaf) else f"nested_{index}"
        rename[name] = key
        if isinstance(below, _Leaf):
            members.append((name, below.type))
        else:
            members.append((name, _nested_type(below)))
            namespace.update({field: property(_getter(name, *way)) for way, field in _leaves(below)})
    return msgspec.defstruct("NginxRow", members, rename=rename, namespace=namespace, gc=False)


def _nested_type(node: _Node) -> type[msgspec.Struct]:
    members: list[Any] = []
    rename = {}
    for index, (key, below) in enumerate(node.items()):
        rename[f"part_{index}"] = key
        members.append((f"part_{index}", below.type if isinstance(below, _Leaf) else _nested_type(below)))
    return msgspec.defstruct("NginxPart", members, rename=rename, gc=False)


def _leaves(node: _Node, above: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """List the attributes that lead to each value below a nested object."""
    found = []
    for index, below in enumerate(node.values()):
        way = (*above, f"part_{index}")
        found.extend([(way, below.attribute)] if isinstance(below, _Leaf) else _leaves(below, way))
    return found


def _getter(*way: str) -> Any:
    def get(row: Any) -> Any:
        for name in way:
            row = getattr(row, name)
        return row

    return get
