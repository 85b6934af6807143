"""Fixtures that several parts share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from tests.alone import Alone

# A busy machine may take any time for one example; `timeout` in pyproject.toml guards against a hang. Where a person waits
# half as many examples are drawn as in CI.
settings.register_profile("quick", deadline=None, max_examples=50)
settings.register_profile("patient", deadline=None, max_examples=100)
settings.load_profile("patient" if "CI" in os.environ else "quick")

REAL = Path(__file__).parent / "real"
"""Every test in it has the marker `real`."""

# Where an image forbids it, each worker and each command that a test starts would compile the same files anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure(config: pytest.Config) -> None:
    """Watch over the marker `outside`."""
    config.pluginmanager.register(Alone())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the tests with real proxies unread where none of them is wanted: each worker would prepare all their files."""
    if collection_path == REAL and "not real" in config.getoption("markexpr"):
        return True
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try a test with a real proxy a second time: it runs at 1:100 of the time, beside other workers on few cores.

    A fault fails twice; a machine that stood still for a second does not. Reruns are counted in the closing line.

    Those that share a browser come first, while each worker has enough of its own to do: later others would take some of
    them over, and each would start a browser for its own. Of these, those that share its page come before those that leave it.
    """
    for item in items:
        if item.get_closest_marker("real") is not None:
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: [name not in getattr(item, "fixturenames", ()) for name in ("chromium", "opened")])
