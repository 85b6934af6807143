"""A controller that ejects and readmits again and again needs no more memory and no more descriptors than at the beginning."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.clients import asking
from tests.real.controller import running
from tests.real.endurance import endure
from tests.real.nodes import stage

pytestmark = [pytest.mark.real, pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")]


def test_memory_and_descriptors_stay_flat(tmp_path: Path) -> None:
    """From the first rounds to the last, with requests going on; `python -m tests.bench.endurance` does it for ten minutes."""
    with (
        stage(tmp_path) as scene,
        running(tmp_path, scene.config().replace('min_apply_interval = "100ms"', "min_apply_interval = 0")) as run,
        asking(scene.proxy.url, count=2),
    ):
        run.wait_for_pools()
        samples = list(endure(run, scene.addresses[0], lambda rounds: rounds == 60, 15))
        changes = len(run.records("apply"))
    assert changes > 60
    # A command that is being answered needs some of its own: what stays is what counts.
    assert min(one.files for one in samples[2:]) <= samples[0].files + 3
    assert samples[-1].memory <= samples[0].memory + (4 << 20)
