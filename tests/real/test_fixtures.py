"""The fixtures themselves, on a real Caddy: other tests lean on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests

from tests.real.caddy import caddy, logged, reverse_proxy, until
from tests.real.servers import Behaviour, upstreams

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


@pytest.mark.parametrize("unix", [False, True])
def test_a_request_passes_and_is_logged_with_its_upstream(tmp_path: Path, unix: bool) -> None:
    """A client's request reaches the upstream once and its access line names the upstream."""
    with upstreams(1) as (one,), caddy(tmp_path, logged(reverse_proxy(one.address)), unix=unix) as proxy:
        assert requests.get(proxy.url + "/a", timeout=5).status_code == 200
        assert [seen.path for seen in one.seen] == ["/a"]
        until(lambda: one.address.encode() in proxy.access_log.read_bytes(), "the access line")


def test_refusing_hanging_and_breaking(tmp_path: Path) -> None:
    """A refusing upstream gives 502, a hanging one nothing, and one that answers again gives 200."""
    with upstreams(1) as (one,), caddy(tmp_path, [reverse_proxy(one.address)]) as proxy:
        one.refuse()
        assert requests.get(proxy.url, timeout=5).status_code == 502
        one.listen()
        one.behaviour = Behaviour.RESET
        assert requests.get(proxy.url, timeout=5).status_code == 502
        one.behaviour = Behaviour.HANG
        with pytest.raises(requests.ReadTimeout):
            requests.get(proxy.url, timeout=0.2)
        one.behaviour = Behaviour.BREAK_BODY
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            requests.get(proxy.url, timeout=5)
        one.behaviour = Behaviour.ANSWER
        assert requests.get(proxy.url, timeout=5).text == "fine\n"
