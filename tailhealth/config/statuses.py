"""Lists of statuses: `["5xx", "!501", "502", "500-504"]`, and for busy answers `"503+retry-after"`."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tailhealth.config.errors import UnfitError, show

LOWEST, HIGHEST = 100, 999
"""nginx logs any three-digit status that an upstream invents."""

GRPC_HIGHEST = 16
"""The last of gRPC's own codes; 0 is success and can't be a failure."""

_RETRY_AFTER = "+retry-after"
_ENTRY = re.compile(r"([1-9])xx|([1-9][0-9]{2})(?:-([1-9][0-9]{2}))?", re.ASCII | re.IGNORECASE)


class Busy(msgspec.Struct, frozen=True):
    """Statuses that say "busy", which is neither good nor bad."""

    always: frozenset[int] = frozenset({429})
    with_retry_after: frozenset[int] = frozenset({503})
    """Only with a `Retry-After` response header, where the log has it."""


def read_statuses(value: Any) -> frozenset[int]:
    """Return the statuses of a list; `false` and `[]` are none, a single status needs no list.

    Raises:
        UnfitError: An entry is no status, or there is nothing to exclude from.
    """
    found: set[int] = set()
    excluded: set[int] = set()
    entries = _entries(value)
    for entry in entries:
        text = str(entry)
        (excluded if text.startswith("!") else found).update(_range(text.removeprefix("!"), entry))
    if excluded and not found:
        raise UnfitError(f'{show(entries)} only excludes: name first what it excludes from, for instance "5xx"')
    return frozenset(found - excluded)


def read_busy(value: Any) -> Busy:
    """Return the busy statuses, those that need a `Retry-After` apart.

    Raises:
        UnfitError: An entry is no status.
    """
    always: list[Any] = []
    conditional: list[Any] = []
    for entry in _entries(value):
        if isinstance(entry, str) and entry.lower().endswith(_RETRY_AFTER):
            conditional.append(entry[: -len(_RETRY_AFTER)])
        else:
            always.append(entry)
    return Busy(read_statuses(always), read_statuses(conditional))


def read_grpc_statuses(value: Any) -> frozenset[int]:
    """Return the gRPC statuses of a list of numbers; `false` and `[]` are none.

    Raises:
        UnfitError: An entry is no gRPC status that tells of a failure.
    """
    entries = _entries(value)
    for entry in entries:
        if not isinstance(entry, int) or isinstance(entry, bool) or not 1 <= entry <= GRPC_HIGHEST:
            raise UnfitError(f"expected gRPC statuses from 1 to {GRPC_HIGHEST} as numbers, got {show(entry)}")
    return frozenset(entries)


def _entries(value: Any) -> list[Any]:
    if value is False:
        return []
    return value if isinstance(value, list) else [value]


def _range(text: str, entry: Any) -> range:
    found = None if isinstance(entry, bool) or not isinstance(entry, str | int) else _ENTRY.fullmatch(text)
    if found is None:
        raise UnfitError(f'expected statuses such as "5xx", "502", "500-504" or "!501", got {show(entry)}')
    hundreds, first, last = found.groups()
    if hundreds:
        return range(int(hundreds) * 100, int(hundreds) * 100 + 100)
    low, high = int(first), int(last or first)
    if low > high:
        raise UnfitError(f'the range {show(entry)} is empty; write "{high}-{low}"')
    return range(low, high + 1)
