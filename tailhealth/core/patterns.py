"""Shell globs, ready to be asked at every line."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import translate

_SPECIAL = frozenset("*?[")


class Patterns:
    """Globs of which one must match, case-sensitively, as `fnmatch.fnmatchcase` says; none: anything does."""

    __slots__ = ("_globs", "_plain")

    def __init__(self, patterns: Collection[str]) -> None:
        self._plain = frozenset(one for one in patterns if not _SPECIAL & set(one))
        globs = "|".join(translate(one) for one in patterns if one not in self._plain)
        self._globs = re.compile(globs).match if globs or not patterns else None

    def match(self, text: str) -> bool:
        """Tell whether a text is meant."""
        return text in self._plain or (self._globs is not None and self._globs(text) is not None)
