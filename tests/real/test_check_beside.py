"""`check` beside a running controller: what that one took out is recognised by its state file, which nobody has to let go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real.caddy import caddy, reverse_proxy
from tests.real.checking import check
from tests.real.running import A, B, C, Running

pytestmark = pytest.mark.real


def test_an_upstream_that_is_out(tmp_path: Path) -> None:
    """The pool is the operator's, with what is out; to a check with another state directory our mark is a stranger's."""
    config = '[proxy]\nadmin = "{}"\n[[log]]\npath = "{}"\n[state]\ndir = "{}"\n'
    with caddy(tmp_path, [reverse_proxy(A, B, C)]) as proxy:
        proxy.access_log.touch()
        controller = Running(tmp_path, proxy)
        try:
            controller.step()
            controller.out(B)
            controller.step()
            assert controller.listed() == [A, C]
            own, other = tmp_path / "own.toml", tmp_path / "other.toml"
            own.write_text(config.format(proxy.admin, proxy.access_log, controller.folder))
            other.write_text(config.format(proxy.admin, proxy.access_log, tmp_path / "elsewhere"))
            before = proxy.raw_config()
            code, found, said = check(own)

            assert (code, found) == (0, {})
            assert f"3 upstreams: {A}, {B}, {C}" in said["notes"][0]["text"]

            code, found, _ = check(other)
            assert (code, list(found)) == (1, ["place_unmanaged"])
            assert "lost state file" in found["place_unmanaged"]["text"]
            assert proxy.raw_config() == before
        finally:
            controller.close()
