"""What several tests with a real Caddy begin with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.real.caddy import caddy, reverse_proxy
from tests.real.running import WEIGHTED, A, B, C, Running


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    """Reconcile a Caddy with weights 10, 1, 1 after the first step."""
    with (
        caddy(tmp_path, [reverse_proxy(A, B, C, load_balancing=WEIGHTED)]) as proxy,
        closing(Running(tmp_path, proxy)) as one,
    ):
        one.step()
        yield one
