"""A whole `tailhealth run` beside a real nginx: the scaled configuration for it, and what its include file says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from tailhealth.service.control import Request, ask
from tests.real.apply_nginx import HTTP, Owned, owned, servers
from tests.real.caddy import until
from tests.real.controller import SCALED, Controller
from tests.real.servers import Upstream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LINE = re.compile(r"^ *server ([0-9.:]+)([^;]*);", re.MULTILINE)


class Site(NamedTuple):
    """An nginx with an owned include file, and its upstreams."""

    proxy: Owned
    nodes: list[Upstream]
    folder: Path
    original: bytes
    """The include file as the operator wrote it."""

    @property
    def addresses(self) -> list[str]:
        """The upstreams in the operator's order."""
        return [node.address for node in self.nodes]

    @property
    def url(self) -> str:
        """What clients ask for."""
        return f"http://127.0.0.1:{self.proxy.port}/api/chat?token=secret"

    def text(self) -> str:
        """Return the include file as it is."""
        return self.proxy.file.read_text(encoding="ascii")

    def parameters(self) -> dict[str, str]:
        """Return what follows the address of each server."""
        return dict(_LINE.findall(self.text()))

    def out(self) -> list[str]:
        """Return the servers that are marked down."""
        return [address for address, said in self.parameters().items() if "down" in said.split()]

    def is_original(self) -> bool:
        """Tell whether the file is byte for byte the operator's, with nothing of ours beside it."""
        return self.proxy.file.read_bytes() == self.original and not self.proxy.left_over()

    def config(self, out: str = "20s", more: str = "", command: Sequence[str] = ()) -> str:
        """Write the scaled configuration; `command` stands before the arguments of `nginx`."""
        setup = self.proxy.setup()
        lists = {"test": [*command, *setup.test], "reload": [*command, *setup.reload]}
        table = [
            'kind = "nginx"',
            f'include = {{ chat = "{self.proxy.file}" }}',
            *(f"{key} = {orjson.dumps(value).decode()}" for key, value in lists.items()),
            f'pid = "{setup.pid}"',
        ]
        scaled = SCALED.replace('admin = "{admin}"', "{table}")
        text = scaled.format(table="\n".join(table), state=self.folder / "state", log=self.proxy.access_log, out=out)
        return text + more

    def configure(self, more: str = "") -> None:
        """Change the main configuration as an operator does: by adding to it, without a reload."""
        self.proxy.http = HTTP + more
        self.proxy.write()


@contextmanager
def site(folder: Path, count: int = 3) -> Iterator[Site]:
    """Run upstreams and an nginx before them for the length of a `with` block."""
    with ExitStack() as stack:
        nodes = [Upstream() for _ in range(count)]
        for node in nodes:
            stack.callback(node.stop)
        text = servers([node.address for node in nodes])
        yield Site(stack.enter_context(owned(folder, text)), nodes, folder, text)


def confirmed(controller: Controller) -> bool:
    """Tell whether something is out, and the controller has written down that it read that back."""
    state = controller.state / "state.json"
    kept = orjson.loads(state.read_bytes())["kept"] if state.exists() else []
    return bool(kept) and all(one["aim"] is None for one in kept)


def order(controller: Controller, command: str, upstream: str, duration: float | None = None) -> None:
    """Give an operator's command over the control socket, and see it taken."""
    reply = ask(controller.state, Request(command, upstream=upstream, duration=duration))
    assert reply.ok, reply.error


def condition(controller: Controller, kind: str) -> str:
    """Wait for a condition of this kind, and return what it says."""

    def said() -> list[Any]:
        return [one["why"] for one in controller.status()["conditions"] if one["kind"] == kind]

    until(lambda: bool(said()), f"the condition {kind}", 30)
    return str(said()[0])


def all_well(controller: Controller) -> None:
    """Wait until no condition holds."""
    until(lambda: not controller.status()["conditions"], "the end of all conditions", 60)
