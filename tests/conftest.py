"""Fixtures that several parts share."""

from __future__ import annotations

from hypothesis import settings

# A busy machine may take any time for one example; `timeout` in pyproject.toml guards against a hang.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
