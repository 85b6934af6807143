"""Reconciling a real Caddy: nothing is lost, whatever the operator, the network and the machine do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tailhealth.proxies.base import UpstreamState
from tailhealth.proxies.caddy import Caddy as Adapter
from tailhealth.service.change import restore
from tailhealth.service.conditions import Kind
from tailhealth.service.journal import Journal
from tailhealth.service.state import State, Wish
from tests.real.caddy import reverse_proxy
from tests.real.running import HANDLER, A, B, C, D, Running

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real


def test_out_limited_and_back_is_byte_for_byte_the_original(running: Running) -> None:
    """Every upstream keeps its weight and place, the limit comes and goes, and the last byte is the operator's."""
    original = running.proxy.raw_config()
    running.out(A)
    step = running.step()
    assert step.conditions == ()
    assert list(step.confirmed) == [("127.0.0.1:1+127.0.0.1:2+127.0.0.1:3", A)]
    handler = running.proxy.get(HANDLER).json()
    assert [one["dial"] for one in handler["upstreams"]] == [B, C]
    assert handler["upstreams"][0]["@id"].startswith("tailhealth-")
    assert handler["load_balancing"]["selection_policy"]["weights"] == [1, 1]
    running.desire(A, UpstreamState.LIMITED, max_in_flight=1)
    assert running.step().confirmed == {}
    handler = running.proxy.get(HANDLER).json()
    assert handler["upstreams"][0] == {"dial": A, "max_requests": 1, "@id": handler["upstreams"][0]["@id"]}
    assert handler["load_balancing"]["selection_policy"]["weights"] == [10, 1, 1]
    running.desire(A, UpstreamState.SERVING)
    for _ in range(4):
        running.step()
    assert running.proxy.raw_config() == original
    assert running.state.contents.kept == ()
    assert len(running.journaled("apply")) == 3
    assert running.members() == [A, B, C]


def test_a_crash_right_after_the_removal_loses_nothing(running: Running) -> None:
    """`restore` puts it back at once from the state file; a next start applies the running ejection again."""
    original = running.proxy.raw_config()
    running.out(A)
    running.step()
    running.close()
    with State.open(running.folder) as state, Journal(running.folder / "other.jsonl") as journal:
        done = restore(Adapter(running.access), state, journal, 1.0)
    assert (done.done, done.upstreams) == (True, (A,))
    assert running.proxy.raw_config() == original
    running.open()
    running.step()
    assert running.listed() == [B, C]
    running.reconciler.restore(running.now, forget=True)
    assert running.proxy.raw_config() == original
    running.close()
    running.open()
    running.step()
    assert running.proxy.raw_config() == original


def test_an_upstream_that_the_operator_deletes_while_it_is_out_never_comes_back(running: Running) -> None:
    """He loads a configuration without it: his list is the original from then on."""
    running.out(A)
    running.step()
    running.proxy.config["apps"]["http"]["servers"]["s"]["routes"][0]["handle"] = [reverse_proxy(B, C)]
    running.proxy.load()
    loaded = running.proxy.raw_config()
    running.step()
    running.step()
    assert running.proxy.raw_config() == loaded
    assert running.members() == [B, C]
    assert running.reconciler.restore(running.now).upstreams == ()
    assert running.proxy.raw_config() == loaded
    assert [record["what"] for record in running.journaled("drift")] == ["loaded", "gone"]


def test_a_reload_of_the_same_list_is_answered_by_the_same_ejection(running: Running) -> None:
    """`caddy reload` brings the upstream back; its ejection still runs and is applied again (case 108, DESIGN section 8)."""
    original = running.proxy.raw_config()
    running.out(A)
    running.step()
    running.proxy.load()
    assert running.listed() == [A, B, C]
    running.step()
    assert running.listed() == [B, C]
    assert running.commands() == []
    running.desire(A, UpstreamState.SERVING)
    running.step()
    assert running.proxy.raw_config() == original


def test_putting_it_back_by_hand_ends_the_ejection(running: Running) -> None:
    """The mark still stands and the upstream is there: that is the operator, and the engine hears of it."""
    running.out(A)
    running.step()
    handler = running.proxy.get(HANDLER).json()
    handler["upstreams"].append({"dial": A})
    handler["load_balancing"]["selection_policy"]["weights"] = [1, 1, 10]
    running.proxy.call("PATCH", HANDLER, handler).raise_for_status()
    running.step()
    (command,) = running.commands()
    assert (command.upstream, command.by_config, command.verb.value) == (A, True, "readmit")
    running.step()
    running.step()
    handler = running.proxy.get(HANDLER).json()
    assert handler["upstreams"] == [{"dial": B}, {"dial": C}, {"dial": A}]
    assert handler["load_balancing"]["selection_policy"]["weights"] == [1, 1, 10]


def test_adding_another_by_hand_ends_the_ejection_and_keeps_both(running: Running) -> None:
    """A list that he changed by hand is his: what was out returns to its place in it."""
    running.out(B)
    running.step()
    handler = running.proxy.get(HANDLER).json()
    handler["upstreams"].append({"dial": D})
    handler["load_balancing"]["selection_policy"]["weights"] = [10, 1, 7]
    running.proxy.call("PATCH", HANDLER, handler).raise_for_status()
    for _ in range(3):
        running.step()
    handler = running.proxy.get(HANDLER).json()
    assert handler["upstreams"] == [{"dial": A}, {"dial": B}, {"dial": C}, {"dial": D}]
    assert handler["load_balancing"]["selection_policy"]["weights"] == [10, 1, 1, 7]
    assert [command.upstream for command in running.commands()] == [B]


def test_admin_down_and_up_again(running: Running) -> None:
    """What is desired while Caddy is away is done when it is back, with `--resume` or without (case 108)."""
    running.proxy.stop()
    running.out(A)
    first = running.step()
    assert [one.kind for one in first.conditions] == [Kind.ADMIN_UNREACHABLE]
    assert "Connection refused" in first.conditions[0].why
    assert running.step().conditions[0].since == first.conditions[0].since
    running.proxy.start()
    running.now += 60
    assert running.step().conditions == ()
    assert running.listed() == [B, C]
    running.proxy.restart()
    running.step()
    assert running.listed() == [B, C]
    running.proxy.resume = True
    running.proxy.restart()
    assert running.listed() == [B, C]
    running.desire(A, UpstreamState.SERVING)
    running.step()
    running.step()
    assert running.listed() == [A, B, C]


def test_the_handler_moves_to_another_index(running: Running) -> None:
    """The mark tells the handler, not its path."""
    running.out(A)
    running.step()
    running.proxy.call(
        "PUT", "/config/apps/http/servers/s/routes/0", {"handle": [reverse_proxy("127.0.0.1:9")]}
    ).raise_for_status()
    running.step()
    moved = [group for group in running.reconciler.groups if len(group.standings[0].original) == 3]
    running.reconciler.desire(moved[0].name, A, Wish(UpstreamState.SERVING, running.now))
    running.step()
    assert running.proxy.get("/config/apps/http/servers/s/routes/1/handle/0/upstreams").json() == [
        {"dial": A},
        {"dial": B},
        {"dial": C},
    ]


def test_two_controllers_do_not_fight(running: Running, tmp_path: Path) -> None:
    """The second one finds a mark that is not its own, leaves the pool alone and says so."""
    running.out(A)
    running.step()
    (tmp_path / "second").mkdir()
    second = Running(tmp_path / "second", running.proxy)
    try:
        step = second.step()
        assert [one.kind for one in step.conditions] == [Kind.UNACTIONABLE]
        assert "the mark of another tailhealth" in step.conditions[0].why
        second.out(B)
        second.step()
        assert running.listed() == [B, C]
    finally:
        second.close()


def test_a_generator_that_rewrites_the_list_is_left_alone(running: Running) -> None:
    """After more than three rewrites in ten minutes the pool is not acted on; ten minutes later it is again."""
    running.out(A)
    running.step()
    for number in range(4):
        running.proxy.load()
        step = running.step()
        assert running.listed() == ([B, C] if number < 3 else [A, B, C])
    assert [one.kind for one in step.conditions] == [Kind.GENERATOR]
    running.now += 600
    assert running.step().conditions == ()
    assert running.listed() == [B, C]


def test_a_change_that_breaks_the_proxy_is_taken_back(running: Running) -> None:
    """Requests begin to fail without an upstream right after: the last list goes back and the pool is left alone."""
    original = running.proxy.raw_config()
    running.out(A)
    running.step()
    for second in range(3):
        running.reconciler.note_aborted(running.now + 1 + second)
    step = running.step()
    assert [one.kind for one in step.conditions] == [Kind.STOPPED]
    assert running.proxy.raw_config() == original
    running.step()
    assert running.proxy.raw_config() == original
    running.reconciler.resume(step.conditions[0].pool or "")
    running.step()
    assert running.listed() == [B, C]
