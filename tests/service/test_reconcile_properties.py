"""Whatever happens in whatever order, the operator's list comes back byte for byte and no place is ever empty."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tailhealth.proxies.base import MARK, Conflict, Refused, Retryable, UpstreamState
from tailhealth.service.journal import Journal
from tailhealth.service.reconcile import Reconciler
from tailhealth.service.schedule import ApplyRules
from tailhealth.service.state import State, Wish
from tests.service.fake_caddy import FakeCaddy, Killed, handler

NAMES = ["a:1", "b:1", "c:1", "d:1", "e:1"]
WEIGHT = {name: 10 - index for index, name in enumerate([*NAMES, "x:1", "y:1"])}
FAULTS = st.sampled_from(
    [
        None,
        None,
        Retryable("reset"),
        Retryable("timeout"),
        Conflict("412"),
        Refused("500 loading new config"),
        Killed(),
    ]
)


class Life(RuleBasedStateMachine):
    """One controller after the other on one Caddy, and an operator who does what he likes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.now = 0.0

    @initialize(
        lists=st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True), min_size=1, max_size=3),
        ids=st.sets(st.sampled_from(NAMES)),
        limit=st.sampled_from([None, 0, 1, 7]),
    )
    def begin(self, lists: list[list[str]], ids: set[str], limit: int | None) -> None:
        """Load the operator's lists."""
        self.operator = [handler(*names, weights=[WEIGHT[name] for name in names]) for names in lists]
        for index, one in enumerate(self.operator):
            for entry in one["upstreams"]:
                if entry["dial"] in ids:
                    entry["@id"] = f"mine-{index}-{entry['dial']}"
                if limit is not None and entry["dial"] == "b:1":
                    entry["max_requests"] = limit
        self.caddy = FakeCaddy(*copy.deepcopy(self.operator))
        self.start()

    def start(self) -> None:
        """Start a controller on the state directory."""
        self.state = State.open(Path(self.folder.name))
        self.journal = Journal(Path(self.folder.name) / "journal.jsonl")
        self.reconciler = Reconciler(self.caddy, self.state, self.journal, ApplyRules())
        self.step()

    def crash(self) -> None:
        """The controller dies, another one starts."""
        self.close()
        self.start()

    def close(self) -> None:
        """Let go of the files."""
        self.state.close()
        self.journal.close()

    @rule(seconds=st.sampled_from([0.1, 3.0, 30.0, 700.0]))
    def step(self, seconds: float = 3.0) -> None:
        """Time passes."""
        self.now += seconds
        try:
            self.reconciler.step(self.now)
        except Killed:
            self.crash()

    @rule(
        name=st.sampled_from(NAMES),
        state=st.sampled_from(UpstreamState),
        peers=st.none() | st.lists(st.sampled_from(NAMES)).map(tuple),
    )
    def desire(self, name: str, state: UpstreamState, peers: tuple[str, ...] | None) -> None:
        """A decision is taken, in every pool of the address."""
        for group in self.reconciler.groups:
            if any(entry.address == name for entry in group.standings[0].original):
                self.reconciler.desire(group.name, name, Wish(state, self.now, good_peers=peers))

    @rule(fault=FAULTS, after=st.booleans())
    def fail(self, fault: BaseException | None, after: bool) -> None:
        """The next change goes wrong, before or after it is made."""
        if after and not isinstance(fault, Conflict | Refused):
            self.caddy.after = fault
        else:
            self.caddy.before = fault

    @rule(fault=FAULTS)
    def unreadable(self, fault: BaseException | None) -> None:
        """The next reading goes wrong."""
        self.caddy.unreadable = None if isinstance(fault, Conflict | Refused) else fault

    @rule()
    def look(self) -> None:
        """Drift is suspected."""
        self.reconciler.look()

    @rule()
    def reload(self) -> None:
        """The operator loads his configuration again."""
        self.caddy.load_config(*self.operator)

    @rule(index=st.integers(0, 2))
    @precondition(lambda self: len(self.operator) > 1)
    def move(self, index: int) -> None:
        """He loads it with the handlers in another order."""
        index %= len(self.operator)
        self.operator = self.operator[index:] + self.operator[:index]
        self.caddy.load_config(*self.operator)

    @rule(name=st.sampled_from(["x:1", "y:1"]), data=st.data())
    def load_another(self, name: str, data: st.DataObject) -> None:
        """He loads another list: one upstream more, and perhaps one less."""
        one = data.draw(st.sampled_from(self.operator))
        entries = {entry["dial"]: entry for entry in one["upstreams"]}
        gone = data.draw(st.sampled_from([None, *entries]))
        if gone is not None:
            del entries[gone]
        entries[name] = {"dial": name}
        one["upstreams"] = list(entries.values())
        one["load_balancing"]["selection_policy"]["weights"] = [WEIGHT[dial] for dial in entries]
        self.caddy.load_config(*self.operator)

    @rule(index=st.integers(0, 2))
    def add_by_hand(self, index: int) -> None:
        """He adds an upstream by the admin interface, and sees to the weights.

        Where each listed one has an `@id` of his, none can carry our mark, and his hand is taken for a load: `check` says so.
        """
        index %= len(self.operator)
        if all(entry.get("@id", "").startswith("mine") for entry in self.caddy.handlers[index]["upstreams"]):
            return
        for one in (self.caddy.handlers[index], self.operator[index]):
            if all(entry["dial"] != "y:1" for entry in self.operator[index]["upstreams"]) or one is not self.operator[index]:
                self._append(one)

    @staticmethod
    def _append(one: dict[str, Any]) -> None:
        if all(entry["dial"] != "y:1" for entry in one["upstreams"]):
            one["upstreams"].append({"dial": "y:1"})
            one["load_balancing"]["selection_policy"]["weights"].append(WEIGHT["y:1"])

    @invariant()
    def never_empty_and_weights_stay(self) -> None:
        """Each place lists something, and each upstream has its own weight."""
        for one in self.caddy.handlers:
            dials = [entry["dial"] for entry in one["upstreams"]]
            assert dials
            assert one["load_balancing"]["selection_policy"]["weights"] == [WEIGHT[dial] for dial in dials]

    @invariant()
    def what_is_missing_is_recorded(self) -> None:
        """Every upstream of the operator's that a place does not list is in the state file."""
        recorded = {entry.address for kept in self.state.contents.kept for entry in kept.original}
        for one, his in zip(self.caddy.handlers, self.operator, strict=True):
            missing = {entry["dial"] for entry in his["upstreams"]} - {entry["dial"] for entry in one["upstreams"]}
            assert missing <= recorded

    def teardown(self) -> None:
        """At the end everything is as the operator left it."""
        if hasattr(self, "caddy"):
            self.caddy.before = self.caddy.after = self.caddy.unreadable = None
            done = self.reconciler.restore(self.now)
            assert done.done, done.why
            assert self.caddy.handlers == self.operator
            assert MARK.encode() not in self.caddy.text()
            assert not self.state.contents.kept
            self.close()
        self.folder.cleanup()


Life.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestLife = Life.TestCase
