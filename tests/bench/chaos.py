"""Chaos on a real Caddy, while clients ask: prints what they saw, and whether every promise was kept.

Nodes wedge and heal, Caddy is reloaded and restarted, the admin interface is blocked, logs are rotated, the controller is
killed, stopped and reloaded.

`python -m tests.bench.chaos [--minutes 5] [--seed 1]`
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tailhealth.core.model import Action
from tests.bench.chaos_watch import Watcher, ejections, overdue
from tests.real.caddy import Caddy, logged, reverse_proxy, until
from tests.real.clients import Clients, asking
from tests.real.controller import Controller
from tests.real.faults import Fault, FaultyAdmin
from tests.real.servers import Behaviour, Upstream

NODES, SICK_AT_MOST, CLIENTS = 6, 2, 12
PATH = "/chaos?seen=clients"
GRACE = 3.0
"""Seconds that a change may take with nothing in its way: lateness, coalescing, the pause between applies, a busy machine."""

CONFIG = """
lateness = "100ms"
[bad]
slower_than = "1200ms"
[window]
span = "1s"
within = "20s"
unanswered_after = "50ms"
[eject]
for = "2s"
max = "8s"
[guard]
settle = "500ms"
[proxy]
admin = "{admin}"
poll = "250ms"
drift_poll = "2s"
coalesce = "20ms"
min_apply_interval = "300ms"
timeout = "2s"
[state]
dir = "{state}"
[[log]]
path = "{log}"
"""


class BlockableAdmin(FaultyAdmin):
    """An admin interface that can be blocked again and again."""

    def block(self, fault: Fault) -> None:
        """Treat every request like this from now on."""
        self._let_go = threading.Event()
        self.always = fault


class ScaledRun(Controller):
    """A controller whose patience with rewrites of the list is scaled like everything else."""

    def command_line(self, options: tuple[str, ...]) -> list[str]:
        """Return what is started."""
        return [sys.executable, "-m", "tests.bench.chaos_run", str(self.config), *options]


class Chaos:
    """Everything that can happen, and the times in which the controller could not do its work."""

    def __init__(
        self, dice: random.Random, proxy: Caddy, admin: BlockableAdmin, run: Controller, nodes: list[Upstream]
    ) -> None:
        self.happened = Counter[str]()
        self.troubles: list[tuple[float, float]] = []
        self._dice = dice
        self._proxy = proxy
        self._admin = admin
        self._run = run
        self._nodes = nodes
        self._sick: dict[int, str] = {}
        self._pause = threading.Event()
        self._rolled = 0

    def go_on(self, seconds: float) -> None:
        """Let things happen for so long, then heal everything."""
        end = time.monotonic() + seconds
        things = [self.sicken] * 6 + [self.heal] * 5 + [self.reload_caddy, self.block, self.rotate, self.kill] * 2
        things += [self.restart_caddy, self.restart, self.reload]
        while time.monotonic() < end:
            self._pause.wait(self._dice.uniform(0.3, 2.5))
            thing = self._dice.choice(things)
            thing()
        while self._sick:
            self.heal()

    def sicken(self) -> None:
        """A node wedges, fails, or refuses connections."""
        well = [number for number in range(len(self._nodes)) if number not in self._sick]
        if len(self._sick) >= SICK_AT_MOST:
            return
        number = self._dice.choice(well)
        node, how = self._nodes[number], self._dice.choice(["wedged", "failing", "refusing", "resetting"])
        self._sick[number] = how
        self.happened[f"node {how}"] += 1
        if how == "wedged":
            node.behaviour = Behaviour.HANG
        elif how == "failing":
            node.status = 500
        elif how == "refusing":
            node.refuse()
        else:
            node.behaviour = Behaviour.RESET

    def heal(self) -> None:
        """A sick node is well again."""
        if self._sick:
            number = self._dice.choice(sorted(self._sick))
            del self._sick[number]
            self._nodes[number].listen()
            self._nodes[number].status = 200
            self._nodes[number].behaviour = Behaviour.ANSWER

    def reload_caddy(self) -> None:
        """The operator reloads his configuration."""
        self.happened["caddy reload"] += 1
        self._proxy.load()

    def restart_caddy(self) -> None:
        """Caddy is restarted, and comes back with the operator's configuration."""
        self.happened["caddy restart"] += 1
        begin = time.time()
        self._proxy.restart()
        self._trouble(begin)

    def block(self) -> None:
        """The admin interface hangs, resets or swallows answers for a while."""
        fault = self._dice.choice([Fault.HANG, Fault.RESET, Fault.SWALLOW, Fault.HALF])
        self.happened[f"admin: {fault}"] += 1
        begin = time.time()
        self._admin.block(fault)
        self._pause.wait(self._dice.uniform(0.5, 4.0))
        self._admin.let_go()
        self._trouble(begin)

    def rotate(self) -> None:
        """The access log is copied and emptied, as logrotate's copytruncate does it; Caddy itself rolls it at every MB."""
        self.happened["log rotated"] += 1
        self._rolled += 1
        log = self._proxy.access_log
        shutil.copyfile(log, log.with_name(f"{log.name}.copy{self._rolled}"))
        os.truncate(log, 0)

    def kill(self) -> None:
        """The controller dies, and is started again."""
        self.happened["controller killed"] += 1
        begin = time.time()
        self._run.kill()
        self._pause.wait(self._dice.uniform(0.0, 2.0))
        self._run.start()
        self._trouble(begin)

    def restart(self) -> None:
        """The controller is stopped in order, and started again."""
        self.happened["controller restarted"] += 1
        begin = time.time()
        code = self._run.stop()
        if code:
            self.happened["controller restarted, restore failed"] += 1
        self._run.start()
        self._trouble(begin)

    def reload(self) -> None:
        """The controller rereads its configuration."""
        self.happened["controller reloaded"] += 1
        os.kill(self._run.pid, signal.SIGHUP)

    def _trouble(self, begin: float) -> None:
        """Retries come in doubled pauses: what took so long may take as long again."""
        now = time.time()
        self.troubles.append((begin, now + (now - begin) + GRACE))


def rolling(proxy: Caddy) -> None:
    """Let Caddy roll its access log at each MB."""
    writer: dict[str, Any] = proxy.config["logging"]["logs"]["access"]["writer"]
    writer |= {"roll": True, "roll_size_mb": 1, "roll_gzip": False, "roll_keep": 1000}


def main(minutes: float, seed: int) -> int:
    """Run, print, and return 1 if a promise was broken."""
    sys.stdout.write(f"chaos: {minutes:g} min, seed {seed}\n")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        nodes = [Upstream() for _ in range(NODES)]
        for node in nodes:
            node.delay = 0.03
            stack.callback(node.stop)
        addresses = [node.address for node in nodes]
        handlers = logged(reverse_proxy(*addresses, load_balancing={"selection_policy": {"policy": "round_robin"}}))
        proxy = Caddy(folder, handlers)
        rolling(proxy)
        proxy.start()
        stack.callback(proxy.stop)
        original = proxy.raw_config()
        admin = BlockableAdmin(("127.0.0.1", proxy.admin_port))
        stack.callback(admin.stop)
        run = ScaledRun(folder, CONFIG.format(admin=admin.address, state=folder / "state", log=proxy.access_log))
        stack.callback(run.kill)
        run.start()
        watcher = Watcher(proxy, addresses)
        watcher.start()
        with asking(proxy.url + PATH, CLIENTS, 1.5) as clients:
            chaos = Chaos(random.Random(seed), proxy, admin, run, nodes)
            chaos.go_on(minutes * 60)
            settled = _settles(proxy, original)
        watcher.stop()
        code = run.stop()
        return _report(chaos, watcher, clients, run, nodes, lost=proxy.raw_config() != original or code != 0, settled=settled)


def _settles(proxy: Caddy, original: bytes) -> bool:
    """Wait until everything is as the operator had it, which must come by itself."""
    try:
        until(lambda: proxy.raw_config() == original, "the original configuration", 60)
    except TimeoutError:
        return False
    return True


def _report(
    chaos: Chaos, watcher: Watcher, clients: Clients, run: Controller, nodes: list[Upstream], *, lost: bool, settled: bool
) -> int:
    out = sys.stdout.write
    decisions = run.decisions()
    wanted = ejections(decisions, time.time())
    late = [(overdue(one, wanted, chaos.troubles), one) for one in watcher.outs]
    worst = max((seconds for seconds, _ in late), default=0.0)
    foreign = [one for node in nodes for one in node.seen if one.path != PATH]
    seen, sent = sum(len(node.seen) for node in nodes), clients.seen.total()
    for title, counts in (
        ("what happened", chaos.happened),
        ("what the clients saw", clients.seen),
        ("decisions", Counter(f"{one.action} {one.reason}" for one in decisions)),
    ):
        out(f"\n| {title} | times |\n|---|---|\n")
        out("".join(f"| {name} | {count} |\n" for name, count in counts.most_common()))
    out(f"\napplies: {len(run.records('apply'))}, drift: {len(run.records('drift'))}, looks at the list: {watcher.looks}\n")
    out(f"times out: {len(watcher.outs)}, the longest {max((one.end - one.begin for one in watcher.outs), default=0):.1f} s\n")
    promises = {
        "no upstream is lost": not lost,
        "the list is always the operator's minus something": not watcher.strange,
        f"nobody is out beyond its ejection (at most {worst:.2f} s)": worst <= GRACE,
        f"no request by others than the clients ({seen} seen, {sent} sent)": not foreign and seen <= sent,
        "everything settles by itself": settled,
        "there were ejections, or this proves nothing": any(one.action is Action.EJECT for one in decisions),
    }
    for promise, is_kept in promises.items():
        out(f"{'kept' if is_kept else 'BROKEN'}: {promise}\n")
    for seconds, one in sorted(late)[-3:]:
        out(f"  {one.upstream} out {one.begin:.2f} to {one.end:.2f}, beyond by {seconds:.2f}\n")
    out("".join(f"  {line}\n" for line in run.output().splitlines() if "following" not in line and "taken over" not in line))
    return int(not all(promises.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.exit(main(given.minutes, given.seed))
