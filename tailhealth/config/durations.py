"""Durations as the operator writes them: `250ms`, `30s`, `10m`, `2h`, `1d`, `1m30s`, or a bare number of seconds."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from tailhealth.config.errors import UnfitError, show

LONGEST = 366 * 86400.0
"""No rule needs to look further than a year, and a typo must not overflow a time of day."""

UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
WANTED = 'a duration such as "30s", "1m30s" or "250ms", or a number of seconds'

_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_DURATION = re.compile("".join(f"(?:{_NUMBER}{unit})?" for unit in ("d", "h", "m(?!s)", "s", "ms")), re.ASCII)
_FACTORS = tuple(Decimal(one) for one in (86400, 3600, 60, 1, "0.001"))


def read_duration(value: Any) -> float:
    """Return a duration in seconds.

    Raises:
        UnfitError: It is no duration, or a longer one than a year.
    """
    if isinstance(value, str):
        seconds = _parse(value)
    elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        seconds = float(value)
    else:
        raise UnfitError(f"expected {WANTED}, got {show(value)}")
    if seconds > LONGEST:
        raise UnfitError(f'must be at most "{format_duration(LONGEST)}", got {show(value)}')
    return seconds


def _parse(text: str) -> float:
    found = _DURATION.fullmatch(text.strip())
    if found is None or not any(found.groups()):
        hint = f'; write "{text.strip()}s" for seconds' if re.fullmatch(_NUMBER, text.strip(), re.ASCII) else ""
        raise UnfitError(f"expected {WANTED}, got {show(text)}{hint}")
    parts = zip(found.groups(), _FACTORS, strict=True)
    return float(sum((Decimal(number) * factor for number, factor in parts if number), Decimal(0)))


def format_duration(seconds: float) -> str:
    """Write a duration so that `read_duration` gives the same number: `90.0` is "1m30s", `0.25` is "250ms"."""
    exact = Decimal(repr(float(seconds)))
    if exact == 0:
        return "0s"
    sign = "-" if exact < 0 else ""
    whole, rest = divmod(abs(exact), 1)
    text, left = "", int(whole)
    for unit, size in UNITS.items():
        count, left = divmod(left, size)
        text += f"{count}{unit}" if count else ""
    if rest:
        text += f"{rest * 1000:f}".rstrip("0").rstrip(".") + "ms"
    return sign + text
