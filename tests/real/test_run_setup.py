"""A setup that can't be trusted, told by Caddy's configuration as soon as `run` has read it, and healed without a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from tailhealth.cli import main
from tests.real.caddy import Caddy, caddy, logged, reverse_proxy, until
from tests.real.clients import asking
from tests.real.controller import SCALED, running
from tests.real.servers import upstreams

pytestmark = pytest.mark.real


def status(config: Path) -> dict[str, Any]:
    """Ask the running controller."""
    done = CliRunner().invoke(main, ["status", "--json", "-c", str(config)])
    assert done.exit_code == 0, done.output
    said: dict[str, Any] = orjson.loads(done.output)
    return said


def config_for(proxy: Caddy, folder: Path) -> str:
    """Write the scaled configuration, with a pattern that protects nothing."""
    text = SCALED.format(admin=proxy.admin, state=folder / "state", log=proxy.access_log, out="1500ms")
    return text.replace("[guard]\n", '[guard]\nprotected = ["10.9.9.*"]\n')


@pytest.mark.parametrize(
    ("code", "fault"), [("sampling", {"sampling": {"first": 1000, "thereafter": 100}}), ("level_filter", {"level": "WARN"})]
)
def test_a_thinned_log(tmp_path: Path, code: str, fault: dict[str, Any]) -> None:
    """No line has come and the input is blind, with the remedy in the status; the fault goes, lines come, and it is trusted."""
    with upstreams(2) as nodes, caddy(tmp_path, logged(reverse_proxy(*(one.address for one in nodes)))) as proxy:
        sound = orjson.loads(proxy.raw_config())
        proxy.config["logging"]["logs"]["access"].update(fault)
        proxy.load()
        proxy.access_log.touch()
        with running(tmp_path, config_for(proxy, tmp_path)) as controller:
            path = controller.config
            until(lambda: bool(status(path)["view"]["pools"]) and bool(status(path)["view"]["pools"][0]["blind"]), "blindness")
            said = status(path)
            (log,) = said["inputs"]
            assert code in log["hints"]
            assert list(said["view"]["pools"][0]["blind"].values()) == [f"the log is thinned ({code})"]
            assert [one["why"] for one in said["conditions"] if one["kind"] == "misfit"] == [
                "guard.protected: '10.9.9.*' matches no upstream, so it protects nothing"
            ]
            shown = CliRunner().invoke(main, ["status", "-c", str(path)]).output
            assert log["hints"][code] in " ".join(shown.split())

            proxy.load(sound)
            until(lambda: not status(path)["inputs"][0]["hints"], "the next look at Caddy's configuration")
            with asking(proxy.url, 4):
                until(lambda: not status(path)["view"]["pools"][0]["blind"], "trust")
