"""What the operator may have meant by a key that does not exist."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache

import msgspec.inspect as mi

from tailhealth.config.schema import Document

_NEAR = 0.6
_TOO_COMMON = 2
"""A key that stands in more tables than this tells nothing about which one was meant."""


def unknown_key(key: str, spec: mi.StructType) -> str:
    """Say that a table has no such key, with the nearest one it has and the other tables that have it."""
    text = "unknown key"
    if near := get_close_matches(key, [field.encode_name for field in spec.fields], 1, _NEAR):
        text += f"; did you mean {near[0]}?"
    homes = _homes().get(key, [])
    if 0 < len(homes) <= _TOO_COMMON:
        text += f"; {key} belongs {' or '.join(homes)}"
    return text


@cache
def _homes() -> dict[str, list[str]]:
    homes = defaultdict(list)
    for key, home in _keys(mi.type_info(Document), "", "at the top of the file, before the first table"):
        homes[key].append(home)
    return homes


def _keys(spec: mi.Type, path: str, home: str) -> Iterator[tuple[str, str]]:
    """Walk the tables below one. Those of a pool are left out: they repeat those of the top."""
    if not isinstance(spec, mi.StructType):
        return
    for field in spec.fields:
        name = f"{path}.{field.encode_name}" if path else field.encode_name
        yield field.encode_name, home
        inner = unwrap(field.type)[0]
        if isinstance(inner, mi.VarTupleType):
            yield from _keys(inner.item_type, name, f"in [[{name}]]")
        elif isinstance(inner, mi.DictType) and isinstance(inner.value_type, mi.StructType):
            for entry in inner.value_type.fields:
                if not isinstance(unwrap(entry.type)[0], mi.StructType):
                    yield entry.encode_name, f"in [{name}.NAME]"
        else:
            yield from _keys(inner, name, f"in [{name}]")


def unwrap(spec: mi.Type) -> tuple[mi.Type, dict[str, object], bool]:
    """Take a field's type apart: the type itself, what its annotation adds, and whether `false` turns it off."""
    off = False
    if isinstance(spec, mi.UnionType):
        off = any(isinstance(one, mi.NoneType) for one in spec.types)
        spec = next(one for one in spec.types if not isinstance(one, mi.NoneType))
    extra: dict[str, object] = {}
    if isinstance(spec, mi.Metadata):
        extra, spec = spec.extra or {}, spec.type
    return spec, extra, off
