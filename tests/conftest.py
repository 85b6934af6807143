"""Fixtures that several parts share."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A busy machine may take any time for one example; `timeout` in pyproject.toml guards against a hang.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try a test with a real proxy a second time: it runs at 1:100 of the time, beside other workers on few cores.

    A fault fails twice; a machine that stood still for a second does not. Reruns are counted in the closing line.
    """
    for item in items:
        if item.get_closest_marker("real") is not None:
            item.add_marker(pytest.mark.flaky(reruns=1))
