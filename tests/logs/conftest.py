"""What several tests of the follower begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.logs.watched import Log


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """A log that does not exist yet."""
    with closing(Log(tmp_path)) as one:
        yield one
