"""Walks a parsed file along the schema and finds every fault, where a decoder would stop at the first.

The walk knows no key by name: it goes by the struct types of `schema.py`, their annotations and their bounds.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from typing import Any, cast

import msgspec.inspect as mi

from tailhealth.config.errors import KeyPath, UnfitError, show
from tailhealth.config.hints import unknown_key, unwrap
from tailhealth.config.rules import Clash, Table
from tailhealth.config.schema import STDIN, Document
from tailhealth.config.secrets import Secret

FAULTY = object()
"""Stands for a value that could not be read; its problem is noted, and its key keeps the default."""


@cache
def _schema() -> mi.StructType:
    """Look the types up once: it takes milliseconds, and every file is walked twice."""
    return cast("mi.StructType", mi.type_info(Document))


class Walk:
    """One walk over one file. `problems` and `clashes` hold what was found, in the order of the file."""

    def __init__(self, folder: str) -> None:
        """Relative paths are meant from `folder`."""
        self.folder = folder
        self.problems: list[tuple[KeyPath, str]] = []
        self.clashes: list[tuple[KeyPath, Clash]] = []

    def document(self, raw: dict[str, Any]) -> Document:
        """Read the whole file."""
        return cast("Document", self._table(_schema(), raw, ()))

    def _note(self, path: KeyPath, text: str) -> object:
        self.problems.append((path, text))
        return FAULTY

    def _table(self, spec: mi.StructType, value: Any, path: KeyPath) -> object:
        short = getattr(spec.cls, "SHORT_FOR", None)
        if short and isinstance(value, str):
            value = {short: value}
        if not isinstance(value, dict):
            return self._note(path, f"expected a table, got {show(value)}")
        known = {field.encode_name: field for field in spec.fields}
        read: dict[str, Any] = {}
        for key, one in value.items():
            if key not in known:
                self._note((*path, key), unknown_key(key, spec))
                continue
            result = self._value(known[key].type, one, (*path, key))
            if result is not FAULTY:
                read[known[key].name] = result
        missing = [field for field in spec.fields if field.required and field.name not in read]
        for field in missing:
            if field.encode_name not in value:
                self._note((*path, field.encode_name), "is needed")
        if missing:
            return FAULTY
        table = cast("Table", spec.cls(**read))
        self.clashes.extend((path, clash) for clash in table.clashes(value.keys()))
        return table

    def _value(self, spec: mi.Type, value: Any, path: KeyPath) -> object:
        """Read one value; what is wrong inside a table or a list is noted there, the rest here."""
        inner, extra, off = unwrap(spec)
        if off and value is False:
            return None
        if "reads" not in extra:
            if isinstance(inner, mi.StructType):
                return self._table(inner, value, path)
            if isinstance(inner, mi.DictType):
                return self._mapping(inner, value, path)
            if isinstance(inner, mi.VarTupleType) and isinstance(inner.item_type, mi.StructType):
                return self._array(inner, value, path)
        try:
            return self._leaf(inner, extra, value)
        except _OutOfRangeError as error:
            return self._note(path, f"{error}, got {show(value)}{'; false turns it off' if off else ''}")
        except UnfitError as error:
            return self._note(path, str(error))

    def _mapping(self, spec: mi.DictType, value: Any, path: KeyPath) -> object:
        if not isinstance(value, dict):
            return self._note(path, f"expected a table, got {show(value)}")
        if isinstance(spec.value_type, mi.StructType):
            for key in [key for key, one in value.items() if not isinstance(one, dict)]:
                self._note((*path, key), f"expected a table with a name of its own, [{path[-1]}.NAME], got {show(value[key])}")
            value = {key: one for key, one in value.items() if isinstance(one, dict)}
        read = {key: self._value(spec.value_type, one, (*path, key)) for key, one in value.items()}
        return {key: one for key, one in read.items() if one is not FAULTY}

    def _array(self, spec: mi.VarTupleType, value: Any, path: KeyPath) -> object:
        if not isinstance(value, list):
            return self._note(path, f"expected a list of tables, got {show(value)}; write [[{path[-1]}]] with double brackets")
        read = [self._value(spec.item_type, one, (*path, index)) for index, one in enumerate(value)]
        return tuple(one for one in read if one is not FAULTY)

    def _leaf(self, spec: mi.Type, extra: dict[str, Any], value: Any) -> object:
        """Read a value without keys of its own.

        Raises:
            UnfitError: Its type or its range is wrong.
        """
        if "reads" in extra:
            value = extra["reads"](value)
        elif extra.get("secret"):
            return self._secret(extra, value)
        for kind, reader in _READERS.items():
            if isinstance(spec, kind):
                value = reader(spec, extra, value)
        return self._absolute(value) if extra.get("path") else value

    def _absolute(self, text: str) -> str:
        return text if text == STDIN else os.path.join(self.folder, os.path.expanduser(text))  # noqa: PTH111, PTH118 - text stays text: a path may be a glob

    def _secret(self, extra: dict[str, Any], value: Any) -> Secret:
        if not isinstance(value, str) or not value:
            raise UnfitError(f"expected {extra['wants']} as text (what stands there is not shown)")
        if value.startswith(("env:", "file:")):
            if not value.partition(":")[2]:
                raise UnfitError(f"expected {extra['wants']}: after the colon a name is missing")
        elif "checks" in extra:
            extra["checks"](value)
        return Secret(value, self.folder)


class _OutOfRangeError(UnfitError):
    """The type is right, the value is not."""


def _read_bool(_spec: Any, _extra: dict[str, Any], value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnfitError(f"expected true or false, got {show(value)}")
    return value


def _read_int(spec: mi.IntType, _extra: dict[str, Any], value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnfitError(f"expected a whole number, got {show(value)}")
    _check_range(spec, value)
    return value


def _read_float(spec: mi.FloatType, _extra: dict[str, Any], value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise UnfitError(f"expected a number, got {show(value)}")
    _check_range(spec, value)
    return float(value)


def _read_text(spec: mi.StrType, extra: dict[str, Any], value: Any) -> str:
    if not isinstance(value, str) or len(value) < (spec.min_length or 0) or "\0" in value:
        raise UnfitError(f"expected {extra.get('wants', 'a text')}, got {show(value)}")
    return value


def _read_choice(spec: mi.LiteralType, _extra: dict[str, Any], value: Any) -> str:
    if value in spec.values:
        return str(value)
    choices = [show(one) for one in spec.values]
    near = get_close_matches(show(value), choices, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UnfitError(f"expected {', '.join(choices[:-1])} or {choices[-1]}, got {show(value)}{hint}")


def _read_texts(spec: mi.VarTupleType, extra: dict[str, Any], value: Any) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return value
    if not isinstance(value, list) or len(value) < (spec.min_length or 0) or not all(isinstance(one, str) for one in value):
        raise UnfitError(f"expected {extra.get('wants', 'a list')}, got {show(value)}")
    return tuple(value)


_READERS: dict[type[mi.Type], Callable[[Any, dict[str, Any], Any], object]] = {
    mi.BoolType: _read_bool,
    mi.IntType: _read_int,
    mi.FloatType: _read_float,
    mi.StrType: _read_text,
    mi.LiteralType: _read_choice,
    mi.VarTupleType: _read_texts,
}


def _check_range(spec: mi.IntType | mi.FloatType, value: float) -> None:
    low = f"more than {spec.gt}" if spec.gt is not None else f"at least {spec.ge}" if spec.ge is not None else ""
    high = f"at most {spec.le}" if spec.le is not None else ""
    too_low = (spec.gt is not None and value <= spec.gt) or (spec.ge is not None and value < spec.ge)
    if too_low or (spec.le is not None and value > spec.le):
        raise _OutOfRangeError(f"must be {' and '.join(filter(None, (low, high)))}")
