"""An admin interface that resets, swallows, hangs, halves and delays: each change is made once, and every step ends in time."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tailhealth.proxies.base import UpstreamState
from tailhealth.service.conditions import Kind
from tests.real.caddy import caddy, reverse_proxy, until
from tests.real.faults import Fault, FaultyAdmin, faulty
from tests.real.running import WEIGHTED, A, B, C, Running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real

TIMEOUT = 0.5


@pytest.fixture
def faulted(tmp_path: Path) -> Iterator[tuple[Running, FaultyAdmin]]:
    """Reconcile a Caddy through a faulty admin interface."""
    handler = reverse_proxy(A, B, C, load_balancing=WEIGHTED)
    with caddy(tmp_path, [handler]) as proxy, faulty(proxy.admin_port) as admin:
        running = Running(tmp_path, proxy, admin=admin.address, timeout=TIMEOUT)
        running.step()
        try:
            yield running, admin
        finally:
            running.close()


def patches(admin: FaultyAdmin) -> int:
    """How many changes reached Caddy."""
    return sum(one.startswith("PATCH") for one in admin.forwarded)


@pytest.mark.parametrize("fault", list(Fault))
def test_a_change_whose_answer_is_lost_is_made_once(faulted: tuple[Running, FaultyAdmin], fault: Fault) -> None:
    """Read back first: what was done is not done again, what was not is (case 107)."""
    running, admin = faulted
    original = running.proxy.raw_config()
    for state, listed in ((UpstreamState.OUT, [B, C]), (UpstreamState.SERVING, [A, B, C])):
        admin.patches = [fault]
        before = patches(admin)
        running.desire(A, state)
        began = time.monotonic()
        first = running.step()
        assert time.monotonic() - began < 4 * TIMEOUT
        # Where the connection ends, reading back tells at once that it was done; where it does not, the next step tells.
        lost = fault in {Fault.RESET, Fault.HANG, Fault.HANG_AFTER}
        assert [one.kind for one in first.conditions] == ([Kind.ADMIN_UNREACHABLE] if lost else [])
        last = running.step()
        assert last.conditions == ()
        assert running.listed() == listed
        assert patches(admin) - before == 1
    assert running.proxy.raw_config() == original
    assert running.state.contents.kept == ()


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.SWALLOW, Fault.HANG, Fault.HALF])
def test_an_admin_interface_that_does_not_answer_is_a_state_that_heals(
    faulted: tuple[Running, FaultyAdmin], fault: Fault
) -> None:
    """Each step ends within its timeout, what is desired is kept, and is done when the interface is back (case 111)."""
    running, admin = faulted
    admin.always = fault
    running.out(A)
    began = time.monotonic()
    first = running.step()
    second = running.step()
    assert time.monotonic() - began < 6 * TIMEOUT
    assert [one.kind for one in second.conditions] == [Kind.ADMIN_UNREACHABLE]
    assert second.conditions[0].since == first.conditions[0].since
    admin.let_go()
    running.now += 60
    assert running.step().conditions == ()
    assert running.listed() == [B, C]


def test_a_change_that_arrives_minutes_later(faulted: tuple[Running, FaultyAdmin]) -> None:
    """It was made meanwhile and taken back, so Caddy takes it: the configuration is what it was. It is taken back again."""
    running, admin = faulted
    original = running.proxy.raw_config()
    admin.patches = [Fault.HANG]
    running.out(A)
    running.step()
    running.step()
    assert running.listed() == [B, C]
    running.desire(A, UpstreamState.SERVING)
    running.step()
    assert running.proxy.raw_config() == original
    admin.let_go()
    until(lambda: running.listed() == [B, C], "the late change")
    assert running.step().conditions == ()
    assert running.proxy.raw_config() == original
