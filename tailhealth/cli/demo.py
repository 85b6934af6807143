"""`tailhealth demo`: a stuck node on a real Caddy, found and brought back while you watch."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import click
import requests
from rich.console import Console

from tailhealth.cli._common import Failure
from tailhealth.cli._demo_clients import Clients
from tailhealth.cli._demo_nodes import Node
from tailhealth.cli._demo_proxy import Process, caddy, caddy_executable, controller, free_ports
from tailhealth.cli._demo_show import Show, tell
from tailhealth.cli._demo_story import LIMIT, Patient, Story, summary
from tailhealth.cli._scenes import Attached
from tailhealth.cli._screen import console, is_interactive, watch
from tailhealth.cli._zone import local_zone
from tailhealth.service.control import ControlError
from tailhealth.views.frame import Look

NODES = 4
CLIENTS = 12
_PATIENT = 2
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command(epilog="Example: tailhealth demo")
def command() -> None:
    """Show on a real Caddy how a stuck node is found, ejected and brought back; takes about 40 s.

    Needs the extra [demo], which brings Caddy. Everything runs on free loopback ports and in a temporary directory, and
    nothing is left behind, also after Ctrl-C.
    """
    out = console()
    executable = caddy_executable()
    try:
        with ExitStack() as stack:
            story = _play(stack, executable, out)
    except KeyboardInterrupt:
        click.echo("tailhealth: stopped; nothing is left running", err=True)
        raise SystemExit(128 + signal.SIGINT) from None
    if not story.is_complete:
        raise Failure(f"the story did not come to its end within {LIMIT:.0f} s: it stopped at {story.act.name.lower()}")


def _play(stack: ExitStack, executable: str, out: Console) -> Story:
    """Put everything up and let the story happen; closing the stack takes it all down again, also when interrupted."""
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    for number in _ENDING:
        stack.callback(signal.signal, number, handlers[number])
        if number != signal.SIGINT:
            signal.signal(number, _leave)
    try:
        return _show(stack, executable, out)
    finally:
        # From here on everything is being ended already: a second Ctrl-C must not leave half of it.
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _show(stack: ExitStack, executable: str, out: Console) -> Story:
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="tailhealth-demo-")))
    nodes: list[Node] = []
    for seed in range(NODES):
        nodes.append(Node(seed))
        stack.callback(nodes[-1].close)
    port, admin = free_ports(2)
    addresses = [node.address for node in nodes]
    proxy = caddy(folder, executable, port, admin, addresses)
    _run(stack, proxy)
    original = _configuration(admin)
    attached = Attached(folder / "state")
    decider = controller(folder, admin, addresses, lambda: _knows_pools(attached))
    _run(stack, decider)
    clients = Clients(port, CLIENTS)
    stack.callback(clients.close)
    clients.start()
    patient = nodes[_PATIENT]
    story = Story(Patient(patient.address, patient.wedge, patient.unwedge), time.time())
    show, look = Show(attached, story, (proxy, decider)), Look(zone=local_zone())
    if is_interactive(out):
        watch(show, look, out)
    else:
        tell(show, story, look, out)
    clients.close()
    decider.close()
    restored = _configuration(admin) == original
    out.print(summary(story, clients.seen(), sum(node.strangers for node in nodes), restored=restored))
    return story


def _run(stack: ExitStack, process: Process) -> None:
    stack.callback(process.close)
    process.start()


def _configuration(admin: int) -> bytes:
    with requests.Session() as session:
        session.trust_env = False
        return session.get(f"http://127.0.0.1:{admin}/config/", timeout=10).content


def _knows_pools(attached: Attached) -> bool:
    try:
        return bool(attached.frame().view.pools)
    except ControlError:
        return False
