"""What the loops for plain lines hand on."""

from __future__ import annotations

from typing import NamedTuple

from tailhealth.core.bulk import Bulk
from tailhealth.core.model import Attempt


class Part(NamedTuple):
    """Plain attempts of lines that stand together, and what the rest of the file has to know of them."""

    entry: Attempt | Bulk
    size: int
    """How many attempts."""
    first: float
    """Time of the first line."""
    last: float
    """Time of the last line."""
    below_500: bool
    """Some have a status below 500."""
    in_order: bool = True
    """No line is earlier than the one before it."""
