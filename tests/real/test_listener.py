"""`/metrics`, `/status` and `/healthz` of a real controller next to a real Caddy, and a webhook that hears of a decision."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from tests.real.caddy import caddy, logged, reverse_proxy, until
from tests.real.clients import asking
from tests.real.controller import SCALED, running
from tests.real.servers import free_port, upstreams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.real


class Hook:
    """A webhook on loopback that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's signature
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A webhook."""
    one = Hook()
    try:
        yield one
    finally:
        one.stop()


def test_it_is_seen_from_outside(tmp_path: Path, hook: Hook) -> None:
    """Attempts, states, ejections and applies are in /metrics by pool and upstream; a foreign Host is refused; hooks hear."""
    port = free_port()
    with ExitStack() as stack:
        nodes = stack.enter_context(upstreams(4))
        addresses = [node.address for node in nodes]
        proxy = stack.enter_context(caddy(tmp_path, logged(reverse_proxy(*addresses))))
        config = SCALED.format(admin=proxy.admin, state=tmp_path / "state", log=proxy.access_log, out="20s")
        config += f'\n[listen]\nhttp = "127.0.0.1:{port}"\n\n[[notify]]\nurl = "{hook.url}"\n'
        controller = stack.enter_context(running(tmp_path, config))
        stack.enter_context(asking(f"{proxy.url}/?token=secret", count=4, patience=2.0))
        until(lambda: controller.status()["view"]["attempts"] > 50, "attempts")
        assert controller.command("eject", addresses[0], "--why", "test").returncode == 0
        until(lambda: controller.status()["applies"].get("done", 0) > 0, "the apply")

        with requests.Session() as session:
            session.trust_env = False
            text = session.get(f"http://127.0.0.1:{port}/metrics", timeout=10).text
            samples = {
                (sample.name, tuple(sorted(sample.labels.items()))): sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            }
            status = session.get(f"http://127.0.0.1:{port}/status", timeout=10).json()
            health = session.get(f"http://127.0.0.1:{port}/healthz", timeout=10)
            foreign = session.get(f"http://127.0.0.1:{port}/status", headers={"Host": "evil.example"}, timeout=10)
            lost = session.get(f"http://127.0.0.1:{port}/nothing", timeout=10)

        (pool,) = {one["name"] for one in status["view"]["pools"]}
        where = (("pool", pool), ("upstream", addresses[0]))
        assert samples["tailhealth_ejections_total", where] == 1
        assert samples["tailhealth_upstream_state", (("pool", pool), ("state", "out"), ("upstream", addresses[0]))] == 1
        assert samples["tailhealth_applies_total", (("result", "done"),)] >= 1
        good = [
            value
            for (name, labels), value in samples.items()
            if name == "tailhealth_attempts_total" and ("outcome", "good") in labels
        ]
        assert sum(good) > 50
        counts = [
            value for (name, labels), value in samples.items() if name == "tailhealth_header_seconds_count" and labels == where
        ]
        assert counts
        assert "secret" not in text
        assert health.status_code == 200, health.text
        assert foreign.status_code == 403
        assert lost.status_code == 404
        until(lambda: any(one["type"] == "decision" and one["upstream"] == addresses[0] for one in hook.heard), "the webhook")
