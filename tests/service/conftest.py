"""What several tests of the reconciler begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.service.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench after its first reading at 100."""
    with closing(Bench(tmp_path)) as one:
        one.step(100.0)
        yield one
