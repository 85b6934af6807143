"""Pools that go on under another name, and a clock that is set: nothing that is out comes back by that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailhealth.core.model import Pools
from tailhealth.service.pools import NamedPool
from tailhealth.service.schedule import ApplyRules
from tests.service.bench import OUT, SERVING, Bench
from tests.service.fake_caddy import handler

if TYPE_CHECKING:
    from pathlib import Path


def test_a_pool_with_a_new_name_keeps_its_ejections(bench: Bench) -> None:
    """A table names the pool while an upstream is out: nothing is put back, and the wish goes by both names from then on."""
    bench.desire("a:1", OUT, 101.0)
    bench.step(102.0)
    bench.reconciler.renamed(lambda pool: [NamedPool("chat", frozenset(one.key for one in pool.places))], ApplyRules())
    told = bench.step(110.0).inputs
    assert [[pool.name for pool in one.pools] for one in told if isinstance(one, Pools)] == [["chat"]]
    assert bench.caddy.listed() == ["b:1", "c:1"]
    assert len(bench.caddy.applied) == 1
    # The engine has not heard of the new name yet.
    bench.desire("a:1", SERVING, 111.0)
    bench.step(120.0)
    assert bench.caddy.listed() == ["a:1", "b:1", "c:1"]
    assert bench.journaled("drift") == []


def test_one_more_upstream_ends_no_ejection(bench: Bench) -> None:
    """The operator loads a list with one more upstream: the pool that is named after it goes on, and so does the ejection."""
    bench.desire("a:1", OUT, 101.0)
    bench.step(102.0)
    bench.caddy.load_config(handler("a:1", "b:1", "c:1", "d:1"))
    bench.step(162.0)
    bench.step(170.0)
    assert bench.caddy.listed() == ["b:1", "c:1", "d:1"]
    assert [one["what"] for one in bench.journaled("drift")] == ["loaded"]
    bench.desire("a:1", SERVING, 180.0)
    bench.step(190.0)
    assert bench.caddy.listed() == ["a:1", "b:1", "c:1", "d:1"]


def test_a_name_that_changed_while_nobody_ran(tmp_path: Path) -> None:
    """The next start finds the pool under another name, and the ejection that the state file holds is still wanted."""
    first = Bench(tmp_path)
    first.step(100.0)
    first.desire("a:1", OUT, 101.0)
    first.step(102.0)
    first.close()
    naming = lambda pool: [NamedPool("chat", frozenset(one.key for one in pool.places))]  # noqa: E731 - a value
    second = Bench(tmp_path, naming=naming)
    second.caddy.config = first.caddy.config
    second.step(110.0)
    assert second.caddy.listed() == ["b:1", "c:1"]
    assert second.journaled("drift") == []
    second.close()


def test_a_clock_that_is_set_back_delays_nothing(bench: Bench) -> None:
    """What is due after an hour was taken off the clock is due in as much time as before."""
    bench.reconciler.shift(-3600.0)
    bench.desire("a:1", OUT, 101.0 - 3600)
    assert bench.step(102.0 - 3600).next_at == pytest.approx(162.0 - 3600, abs=0.1)
    assert bench.caddy.listed() == ["b:1", "c:1"]
