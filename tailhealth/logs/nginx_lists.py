"""The `$upstream_*` lists of nginx, aligned by position.

`, ` stands between the tries of one upstream group, ` : ` between internal redirects from group to group.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tailhealth.core.address import canonical
from tailhealth.logs.nginx_request import UNKNOWN, status
from tailhealth.logs.nginx_shape import ABSENT
from tailhealth.logs.nginx_try import Try, header_came
from tailhealth.logs.values import seconds

if TYPE_CHECKING:
    from tailhealth.logs.nginx_shape import Row
    from tailhealth.logs.rules import LogRules

KEPT = 4096
"""So many spellings of addresses are remembered; a file with more starts anew."""
LONGEST_KEPT = 400
"""Characters: longer lists are rare and not worth remembering."""
LONGEST = 1e9
"""Seconds: no try lasts longer (30 years); what does is a broken clock or a broken line."""

_GROUP = re.compile(r"[\w.~-]+\Z")
_SEPARATOR = re.compile(r" : |, ")


class Place(NamedTuple):
    """One element of `$upstream_addr`."""

    address: str | None
    """Canonical; "" for the name of a group, None for what is neither."""
    group: int
    """Which of the groups between ` : ` it stands in."""
    given_up: bool
    """Another try of the same group follows."""
    last: bool
    """The last element of the line."""


class Lists:
    """Reads the lists of the rows of one file."""

    def __init__(self, rules: LogRules) -> None:
        self._units = {name: rule.unit or "s" for name, rule in rules.fields.items()}
        self.seconds_only = {self.unit(name) for name in ("header_time", "response_time", "request_time")} == {"s"}
        """Numbers without a unit are seconds."""
        self.lone: dict[str, str] = {}
        """Canonical addresses of lists with one element, by their spelling in lines seen before."""
        self._places: dict[str, tuple[Place, ...]] = {}

    def unit(self, field: str) -> str:
        """Return what a number without a unit counts in a field."""
        return self._units.get(field, "s")

    def tries(self, row: Row) -> list[Try]:
        """Put together what the lists say of each try.

        Raises:
            ValueError: A status or a time can't be read.
        """
        upstream = row.upstream
        if upstream in UNKNOWN:
            return []
        if type(upstream) is not str:
            raise ValueError("the upstream's address is no text")
        places = self._places.get(upstream) or self._placed(upstream)
        count = len(places)
        statuses = [status(item) for item in items(row.upstream_status, count)]
        headers = self.times("header_time", row.header_time, count)
        durations = self.times("response_time", row.response_time, count)
        connects = items(row.connect_time, count)
        return [_try(*one) for one in zip(places, statuses, headers, durations, connects, strict=True)]

    def times(self, field: str, value: Any, count: int) -> list[Any]:
        """Read the list of a field with times: seconds, None or `ABSENT`.

        Raises:
            ValueError: One can't be read.
        """
        unit = self.unit(field)
        return [item if item is ABSENT or item is None else _seconds(item, unit) for item in items(value, count)]

    def _placed(self, upstream: str) -> tuple[Place, ...]:
        groups = [group.split(", ") for group in _whole(upstream).split(" : ")]
        places = tuple(
            Place(_address(item), number, place < len(group), number == len(groups) and place == len(group))
            for number, group in enumerate(groups, 1)
            for place, item in enumerate(group, 1)
        )
        if len(upstream) <= LONGEST_KEPT:
            if len(self._places) >= KEPT:
                self._places.clear()
                self.lone.clear()
            self._places[upstream] = places
            if len(places) == 1 and places[0].address:
                self.lone[upstream] = places[0].address
        return places


def items(value: Any, count: int) -> list[Any]:
    """Split a list that goes with `count` addresses: texts or numbers, None where it says `-`, `ABSENT` where nothing is known.

    A list of another length can't be told apart: nothing is known then.
    """
    if value is ABSENT:
        return [ABSENT] * count
    if value in UNKNOWN:
        return [None] * count
    if count == 1:
        return [value]
    if type(value) is not str:
        return [ABSENT] * count
    found = value.split(", ") if " :" not in value else _SEPARATOR.split(_whole(value))
    if len(found) != count:
        return [ABSENT] * count
    return [None if item in UNKNOWN else item for item in found]


def _whole(value: str) -> str:
    """Return a list with the blank after its last separator, which may have been trimmed off: the last group can be empty."""
    return f"{value} " if value.endswith(" :") else value


def _address(item: str) -> str | None:
    """Return an element's address, "" for the name of a group (nginx logs peers with a port, groups without), else None."""
    try:
        address = canonical(item, "")
    except ValueError:
        return None
    if address.startswith("unix/") or address.rpartition(":")[2].isdigit():
        return address
    return "" if _GROUP.match(item) else None


def _seconds(item: Any, unit: str) -> float | None:
    """Read one time.

    Raises:
        ValueError: It can't be read, or is longer than any request.
    """
    if unit == "s":
        try:
            time = float(item)
        except (TypeError, ValueError):
            time = -1.0
        if 0.0 <= time < LONGEST:
            return time
    value = seconds(item, unit)
    if value is not None and value >= LONGEST:
        raise ValueError(f"no request takes {value:g} s")
    return value


def _try(place: Place, code: Any, header: Any, duration: Any, connect: Any) -> Try:
    came = header_came(header, code, connect)
    header = None if header is ABSENT else header
    duration = None if duration is ABSENT else duration
    length = duration if duration is not None else header or 0.0
    return Try(*place, None if code is ABSENT else code, code is not ABSENT, header, came, duration, length)
