"""The adapters keep the contract on a real Caddy and a real nginx."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from tailhealth.proxies.admin import Access
from tailhealth.proxies.caddy import Caddy as CaddyAdapter
from tests.proxies.contract import CONTRACT, OWN_LIMIT, A, B, C, Subject
from tests.real.apply_nginx import owned
from tests.real.caddy import caddy, reverse_proxy

pytestmark = pytest.mark.real

INCLUDE = f"\tserver {A};server {B} max_conns={OWN_LIMIT} ;\n\n  # the big one\n  server {C}\n\tweight=3;"


@contextmanager
def caddy_subject(folder: Path) -> Iterator[Subject]:
    """Run the Caddy that the contract is about."""
    handler = reverse_proxy(A, B, C)
    handler["upstreams"][1]["max_requests"] = OWN_LIMIT
    with ExitStack() as stack:
        proxy = stack.enter_context(caddy(folder, [handler]))

        def edit() -> None:
            path = "/config/apps/http/servers/s/routes/0/handle/0/upstreams/2/max_requests"
            proxy.call("PUT", path, 9).raise_for_status()

        yield Subject(CaddyAdapter(Access(proxy.admin)), proxy.raw_config, edit, stack.close)


@contextmanager
def nginx_subject(folder: Path) -> Iterator[Subject]:
    """Run the nginx that the contract is about."""
    with owned(folder, INCLUDE.encode()) as proxy:

        def edit() -> None:
            proxy.file.write_bytes(INCLUDE.replace("weight=3", "weight=4").encode())

        yield Subject(proxy.adapter(), proxy.file.read_bytes, edit, proxy.file.unlink)


@pytest.mark.parametrize("promise", CONTRACT, ids=lambda one: one.__name__)
@pytest.mark.parametrize("subject", [caddy_subject, nginx_subject], ids=["caddy", "nginx"])
def test_keeps(
    promise: Callable[[Subject], None], subject: Callable[[Path], AbstractContextManager[Subject]], tmp_path: Path
) -> None:
    """Each promise of the contract."""
    with subject(tmp_path) as one:
        promise(one)
