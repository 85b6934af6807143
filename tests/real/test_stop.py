"""How a controller ends: in order or not, with the proxy there or not, and what is left in the proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailhealth.core.model import Action, Reason
from tests.real.caddy import until
from tests.real.controller import running
from tests.real.faults import Fault, faulty
from tests.real.nodes import Stage, stage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Stage]:
    """Three servers behind a Caddy."""
    with stage(tmp_path) as one:
        yield one


def test_on_stop_leave(scene: Stage) -> None:
    """What is out stays out, the next start knows of it, and its time goes on meanwhile."""
    first = scene.addresses[0]
    with running(scene.folder, scene.config(first='on_stop = "leave"\n')) as controller:
        controller.wait_for_pools()
        assert controller.command("eject", first, "--for", "6s").returncode == 0
        until(lambda: first not in scene.dials(), "the removal")
        assert controller.stop() == 0
        assert scene.dials() == scene.addresses[1:]
        assert "is still out of the proxy's list" in controller.command("explain", first).stdout
        controller.start()
        controller.wait_for(Action.READMIT, Reason.TIMER, first)
        until(lambda: scene.dials() == scene.addresses, "its return")


def test_on_stop_can_be_changed_by_a_reload(scene: Stage) -> None:
    """The configuration that holds at the end says what is done at the end."""
    first = scene.addresses[0]
    with running(scene.folder, scene.config()) as controller:
        controller.wait_for_pools()
        assert controller.command("eject", first).returncode == 0
        until(lambda: first not in scene.dials(), "the removal")
        read_at = controller.status()["configuration"]["read_at"]
        controller.reload(scene.config(first='on_stop = "leave"\n'))
        until(lambda: controller.status()["configuration"]["read_at"] > read_at, "the reload")
        assert controller.stop() == 0
        assert scene.dials() == scene.addresses[1:]
        assert controller.command("restore").returncode == 0
        assert scene.dials() == scene.addresses


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.HANG])
def test_a_stop_while_the_admin_interface_is_away(scene: Stage, fault: Fault) -> None:
    """It ends with exit code 1 and says what to do; `restore` does it when the interface is back."""
    first = scene.addresses[0]
    with faulty(scene.proxy.admin_port) as admin:
        config = scene.config(admin=admin.address).replace("[proxy]", '[proxy]\ntimeout = "500ms"')
        with running(scene.folder, config) as controller:
            controller.wait_for_pools()
            original = scene.proxy.raw_config()
            assert controller.command("eject", first).returncode == 0
            until(lambda: first not in scene.dials(), "the removal")
            admin.always = fault
            assert controller.stop() == 1
            last = controller.output().splitlines()[-1]
            assert "run `tailhealth restore` when" in last
            failed = controller.command("restore")
            assert failed.returncode == 1
            assert len(failed.stderr.splitlines()) == 1
            assert scene.dials() == scene.addresses[1:]

            admin.let_go()
            restored = controller.command("restore")
            assert (restored.returncode, restored.stdout) == (0, f"put back: {first}\n")
            assert scene.proxy.raw_config() == original


def test_a_stop_while_caddy_is_down(scene: Stage) -> None:
    """Nothing can be put back, and that is said; Caddy comes back with the operator's list, and `restore` finds it so."""
    with running(scene.folder, scene.config()) as controller:
        controller.wait_for_pools()
        original = scene.proxy.raw_config()
        assert controller.command("eject", scene.addresses[0]).returncode == 0
        until(lambda: scene.dials() == scene.addresses[1:], "the removal")
        scene.proxy.stop()
        assert controller.stop() == 1
        scene.proxy.start()
        assert controller.command("restore").returncode == 0
        assert scene.proxy.raw_config() == original
