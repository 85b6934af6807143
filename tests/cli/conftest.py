"""What several tests of commands look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.minute import minute


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of the last minute with four upstreams, of which the second answers nobody any more."""
    path = tmp_path / "access.log"
    path.write_bytes(minute())
    return path
