"""What `check` says."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """Something to be mended."""

    code: str
    about: str
    """The log, pool, place or table that it is about; `proxy` for the proxy itself."""
    text: str
    """What is the matter, in one sentence."""
    remedy: str = ""
    """What to do; empty: the sentence says it."""


class Note(msgspec.Struct, frozen=True):
    """Something to be known, with nothing to be mended."""

    code: str
    about: str
    text: str
