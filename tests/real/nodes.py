"""What the stories about a running controller have in common: three servers behind a Caddy, and the scaled configuration."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tests.real.caddy import Caddy, caddy, logged, reverse_proxy
from tests.real.controller import SCALED
from tests.real.servers import Upstream, upstreams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POLICY = {"selection_policy": {"policy": "round_robin"}}


class Stage(NamedTuple):
    """A Caddy with its upstreams."""

    proxy: Caddy
    nodes: list[Upstream]
    folder: Path

    @property
    def addresses(self) -> list[str]:
        """The upstreams in the operator's order."""
        return [node.address for node in self.nodes]

    def dials(self) -> list[str]:
        """Return the addresses that the proxy lists now."""
        return self.proxy.dials()

    def config(self, more: str = "", *, first: str = "", admin: str = "", out: str = "20s") -> str:
        """Write the scaled configuration, with lines before it and tables after it."""
        text = SCALED.format(admin=admin or self.proxy.admin, state=self.folder / "state", log=self.proxy.access_log, out=out)
        return first + text + more


@contextmanager
def stage(folder: Path, count: int = 3) -> Iterator[Stage]:
    """Set the stage: servers that answer after 20 ms."""
    with ExitStack() as stack:
        nodes = stack.enter_context(upstreams(count, delay=0.02))
        handler = reverse_proxy(*(node.address for node in nodes), load_balancing=POLICY)
        yield Stage(stack.enter_context(caddy(folder, logged(handler))), nodes, folder)
