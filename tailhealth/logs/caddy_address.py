"""The upstreams that a log names, in their canonical spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailhealth.core.address import canonical
from tailhealth.logs.hints import hint

if TYPE_CHECKING:
    from tailhealth.logs.reading import Tally

KEPT_ADDRESSES = 16_384
"""So many spellings of upstreams are remembered: more than there are upstreams. A placeholder in a dial address makes a new one
at every request."""


class Addresses:
    """Canonical addresses of the upstreams of one file, remembered; what is none is named in a hint."""

    def __init__(self, tally: Tally) -> None:
        self.known: dict[str, str | None] = {}
        """Spelling in the log to canonical address; None for what is no address."""
        self._tally = tally

    def find(self, spelled: str) -> str | None:
        """Return the canonical address, None if there is none."""
        if spelled in self.known:
            return self.known[spelled]
        if len(self.known) >= KEPT_ADDRESSES:
            self.known.clear()
        self.known[spelled] = found = self._canonical(spelled)
        return found

    def _canonical(self, spelled: str) -> str | None:
        hints = self._tally.hints
        if "{" in spelled:
            hints["literal_placeholder"] = hint("literal_placeholder")
            return None
        try:
            address = canonical(spelled, port="")
        except ValueError:
            hints["not_an_address"] = hint("not_an_address")
            return None
        if address.startswith("unix/") or (":" in address and not address.endswith("]")):
            return address
        is_hash = len(address) == 8 and all(letter in "0123456789abcdef" for letter in address)  # noqa: PLR2004 - Caddy's hash
        code = "hashed_upstream" if is_hash else "host_without_port"
        hints[code] = hint(code)
        return None
