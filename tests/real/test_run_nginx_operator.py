"""A running controller beside an operator who breaks his nginx configuration, and who edits the include file by hand."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tailhealth.core.model import Action, Reason
from tests.real.apply_nginx import served
from tests.real.caddy import until
from tests.real.controller import running
from tests.real.run_nginx import all_well, condition, confirmed, order, site

if TYPE_CHECKING:
    from pathlib import Path

    from tests.real.run_nginx import Site

pytestmark = pytest.mark.real

BROKEN = [
    ("upstream other { server app3.invalid; }", '[emerg] host not found in upstream "app3.invalid"'),
    ("upstream other { server 127.0.0.1:1", "[emerg] "),
    ("no_such_directive on;", '[emerg] unknown directive "no_such_directive"'),
]


def nginx_takes(stage: Site) -> bool:
    """Tell whether nginx's own test succeeds."""
    return subprocess.run(stage.proxy.setup().test, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(("broken", "said"), BROKEN, ids=["host", "syntax", "directive"])
def test_a_broken_main_configuration(tmp_path: Path, broken: str, said: str) -> None:
    """Before an ejection and before a readmission: the working file stays, status says what is wrong, mending is enough."""
    with site(tmp_path) as stage, running(tmp_path, stage.config()) as controller:
        victim = stage.addresses[0]
        controller.wait_for_pools()
        for command, expected in (("eject", [victim]), ("readmit", [])):
            working = stage.proxy.file.read_bytes()
            stage.configure(broken)
            order(controller, command, victim)
            why = condition(controller, "unloadable")
            assert said in why
            assert "nothing was changed" in why
            assert said in controller.command("status").stdout
            assert (stage.proxy.file.read_bytes(), stage.proxy.left_over()) == (working, [])
            assert sum(served(stage.nodes, stage.proxy, 6).values()) == 6
            stage.configure()
            all_well(controller)
            until(lambda expected=expected: stage.out() == expected, "the change", 60)  # type: ignore[misc]
            assert nginx_takes(stage)
        assert controller.stop() == 0
        assert stage.is_original()


def test_a_stop_while_the_main_configuration_is_broken(tmp_path: Path) -> None:
    """The server stays down, the exit code and nginx's words say so, and `restore` brings it back when that is mended."""
    with site(tmp_path) as stage, running(tmp_path, stage.config()) as controller:
        victim = stage.addresses[0]
        controller.wait_for_pools()
        order(controller, "eject", victim)
        until(lambda: confirmed(controller), "the removal")
        stage.configure("no_such_directive on;")
        assert controller.stop() == 1
        assert 'unknown directive "no_such_directive"' in controller.output()
        assert "tailhealth restore" in controller.output()
        assert stage.out() == [victim]
        failed = controller.command("restore")
        assert failed.returncode == 1
        assert 'unknown directive "no_such_directive"' in failed.stderr
        stage.configure()
        assert controller.command("restore").returncode == 0
        assert stage.is_original()
        assert nginx_takes(stage)


def test_our_flag_taken_away_by_hand(tmp_path: Path) -> None:
    """The operator's word: the ejection ends as `operator_config`, its windows are empty, and his file stays as it is."""
    with site(tmp_path) as stage, running(tmp_path, stage.config()) as controller:
        one, two, _ = stage.addresses
        controller.wait_for_pools()
        order(controller, "eject", one)
        until(lambda: confirmed(controller), "the removal")
        by_hand = stage.text().replace(" down;", " weight=2;")
        stage.proxy.file.write_text(by_hand, encoding="ascii")
        controller.wait_for(Action.READMIT, Reason.OPERATOR_CONFIG, one)
        assert [each["what"] for each in controller.records("drift")] == ["hand"]
        assert stage.text() == by_hand
        order(controller, "eject", two)
        until(lambda: stage.out() == [two], "another removal")
        order(controller, "readmit", two)
        until(lambda: stage.out() == [] and not stage.proxy.left_over(), "its return")
        whole = stage.original.decode().replace(f"{one} max_fails=0;", f"{one} max_fails=0 weight=2;")
        assert stage.text() == whole
        assert controller.stop() == 0
        assert stage.text() == whole


def test_a_whole_file_put_in_place(tmp_path: Path) -> None:
    """A file of the operator's without anything of ours ends the ejection too; a new server in it belongs to the pool."""
    with site(tmp_path) as stage, running(tmp_path, stage.config()) as controller:
        victim = stage.addresses[0]
        controller.wait_for_pools()
        order(controller, "eject", victim)
        until(lambda: confirmed(controller), "the removal")
        longer = stage.original + b"    server 127.0.0.1:4 backup;\n"
        stage.proxy.file.write_bytes(longer)
        controller.wait_for(Action.READMIT, Reason.OPERATOR_CONFIG, victim)
        until(lambda: len(controller.status()["view"]["pools"][0]["upstreams"]) == 4, "the new server")
        assert controller.stop() == 0
        assert stage.proxy.file.read_bytes() == longer


def test_edits_beside_our_flag(tmp_path: Path) -> None:
    """Who leaves our flag where it is leaves the ejection; what he writes beside it stays, and is what comes back."""
    with site(tmp_path) as stage, running(tmp_path, stage.config()) as controller:
        one, two, three = stage.addresses
        controller.wait_for_pools()
        order(controller, "eject", one)
        until(lambda: confirmed(controller), "the removal")

        def with_edits(text: str) -> str:
            return text.replace(f"{two} ", f"{two} weight=3 ").replace(f"    server {three}", f"\tserver {three}")

        edited = with_edits(stage.text())
        stage.proxy.file.write_text(edited, encoding="ascii")
        until(lambda: controller.status()["view"]["pools"][0]["upstreams"][1]["weight"] == 3, "the edit to be seen")
        assert stage.text() == edited
        order(controller, "readmit", one)
        until(lambda: stage.out() == [] and not stage.proxy.left_over(), "its return")
        assert stage.text() == with_edits(stage.original.decode())
        assert not controller.has(Action.READMIT, Reason.OPERATOR_CONFIG)


def test_a_server_deleted_while_it_is_out(tmp_path: Path) -> None:
    """It is gone for good: nothing puts it back, at its time or at the end."""
    with site(tmp_path) as stage, running(tmp_path, stage.config()) as controller:
        one, two, _ = stage.addresses
        controller.wait_for_pools()
        order(controller, "eject", one, 3.0)
        until(lambda: confirmed(controller), "the removal")
        shorter = "".join(line for line in stage.text().splitlines(keepends=True) if one not in line and "-set" not in line)
        stage.proxy.file.write_text(shorter, encoding="ascii")
        until(lambda: len(controller.status()["view"]["pools"][0]["upstreams"]) == 2, "the shorter pool to be seen")
        order(controller, "eject", two, 1.0)
        until(lambda: stage.out() == [two], "another removal")
        until(lambda: stage.out() == [] and not stage.proxy.left_over(), "its return")
        assert controller.stop() == 0
        assert stage.text() == shorter
