"""Reconciling a real nginx: the same driver, with a proxy that keeps its upstreams listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailhealth.proxies.base import UpstreamState
from tailhealth.service.journal import Journal
from tailhealth.service.reconcile import Reconciler
from tailhealth.service.state import State, Wish
from tests.real.apply_nginx import owned, servers

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

A, B, C = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"


def test_out_over_a_crash_limited_and_back(tmp_path: Path) -> None:
    """What was flagged by a controller that died is known to the next one, and the file ends as the operator wrote it."""
    with owned(tmp_path, servers([A, B, C])) as proxy:
        original = proxy.file.read_bytes()
        with State.open(tmp_path / "state") as state, Journal(tmp_path / "state" / "journal.jsonl") as journal:
            one = Reconciler(proxy.adapter(), state, journal)
            one.step(100.0)
            one.desire("chat", A, Wish(UpstreamState.OUT, 110.0))
            assert list(one.step(111.0).confirmed) == [("chat", A)]
        with State.open(tmp_path / "state") as state, Journal(tmp_path / "state" / "journal.jsonl") as journal:
            two = Reconciler(proxy.adapter(), state, journal)
            assert list(two.step(120.0).confirmed) == [("chat", A)]
            two.desire("chat", A, Wish(UpstreamState.LIMITED, 130.0))
            two.desire("chat", B, Wish(UpstreamState.OUT, 130.0))
            step = two.step(131.0)
            assert (list(step.confirmed), step.conditions) == ([("chat", B)], ())
            assert b"max_conns=1" in proxy.file.read_bytes()
            assert two.restore(132.0).done
            assert proxy.file.read_bytes() == original
            assert state.contents.kept == ()
