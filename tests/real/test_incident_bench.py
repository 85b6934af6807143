"""The parts of the incident bench: its rows run, and it sees who was taken out by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bench.incident import HEAD, MAX_FAILS, NODES, PASSIVE, ROWS, Figures, Mark, cells, figures, lines, measure
from tests.bench.incident_nodes import ASKED, InferenceNode
from tests.bench.incident_watch import Fails, Removal, found_down
from tests.real.caddy import caddy, reverse_proxy, until
from tests.real.clients import asking

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.real

BY_NAME = {row.name: row for row in ROWS}
SICK, WELL = "127.0.0.1:2", "127.0.0.1:1"
MARKS = (Mark(10, 1), Mark(110, 1), Mark(150, 11), Mark(250, 13))


def test_an_active_check_of_the_inference_path_takes_every_healthy_node_out() -> None:
    """As in incident A: no request is answered, before the wedge and after it, and nobody but the check did that."""
    seen = measure(BY_NAME["active"], 5)

    assert len({one.upstream for one in seen.healthy_removed}) == NODES
    assert seen.before.share > 0.9
    assert seen.after.share > 0.9
    assert seen.hits == 0
    assert not seen.is_kept


def test_tailhealth_leaves_the_healthy_in() -> None:
    """Requests are answered until the node wedges, those that it gets then are counted, and no other node leaves."""
    seen = measure(BY_NAME["tailhealth"], 5)

    assert seen.healthy_removed == ()
    assert seen.before.requests > 0
    assert seen.before.failed == 0
    assert seen.hits > 0


def test_what_the_passive_check_takes_out_is_seen(tmp_path: Path) -> None:
    """A node that answers 500 is held down by Caddy for a moment, and the bench notices, or its "never" would prove nothing."""
    node = InferenceNode(1)
    node.status = 500
    try:
        with (
            caddy(tmp_path, [reverse_proxy(node.address, health_checks=PASSIVE)]) as proxy,
            asking(proxy.url + ASKED, count=4),
        ):
            watch = Fails(proxy.admin, MAX_FAILS)
            watch.start()
            try:
                until(lambda: bool(watch.removals), "the removal")
            finally:
                watch.stop()
    finally:
        node.stop()
    assert {one.upstream for one in watch.removals} == {node.address}


def test_a_check_that_a_change_of_the_configuration_ends_takes_nobody_out(tmp_path: Path) -> None:
    """Caddy calls its node unhealthy, as it does after a check that failed, but only the latter counts."""
    failed = '{{"logger": "checks", "msg": "HTTP request failed", "host": "{}", "error": "Get \\"x\\": {}"}}\n'
    event = '{{"ts": {}, "logger": "events", "msg": "event", "name": "unhealthy", "data": {{"host": "{}"}}}}\n'
    log = tmp_path / "caddy.log"
    log.write_text(
        failed.format(WELL, "stopping apps")
        + failed.format(SICK, "connection refused")
        + event.format(1.5, WELL)
        + event.format(2.5, SICK)
        + failed.format(WELL, "connection refused")
        + event.format(3.5, WELL)
        + '{"logger": "other", "msg": "unhealthy"}\n'
    )

    assert found_down(log) == [Removal(SICK, 2.5), Removal(WELL, 3.5)]


def test_a_removal_of_the_wedged_node_is_right_from_the_wedge_on() -> None:
    """What is removed before it wedged was healthy; of those after it the first counts, in seconds of the incident."""
    removals = [Removal(SICK, 99.9), Removal(WELL, 100.5), Removal(SICK, 102.0), Removal(SICK, 104.0)]

    seen = figures(MARKS, removals, SICK, 100.0, 7)

    assert seen == Figures(Mark(100, 0), Mark(140, 12), Mark(100, 2), 7, (removals[0], removals[1]), 200.0)
    assert figures(MARKS, [Removal(SICK, 100.0)], SICK, 100.0, 7).out_after == 0.0
    assert figures(MARKS, [], SICK, 100.0, 7).out_after is None


@pytest.mark.parametrize(("failed", "removals", "kept"), [(2, 0, True), (3, 0, False), (2, 1, False)])
def test_the_promise(failed: int, removals: int, kept: bool) -> None:
    """At most 2 % fail in the last third, and no healthy node ever leaves."""
    marks = (*MARKS[:3], Mark(250, 11 + failed))

    assert figures(marks, [Removal(WELL, 101.0)] * removals, SICK, 100.0, 7).is_kept is kept


def test_the_table() -> None:
    """A row says in words what was measured, and the same as Markdown."""
    seen = figures(MARKS, [Removal(WELL, 101.0), Removal(WELL, 103.0)], SICK, 100.0, 1234)
    row = cells(BY_NAME["none"], seen)

    assert row == ("no checks", "240", "0", "12 (8.6%)", "2.0%", "1,234", "1 of 4, 2 times", "never")
    assert cells(BY_NAME["none"], figures(MARKS, [Removal(SICK, 102.5)], SICK, 100.0, 9))[-1] == "250 s"
    assert cells(BY_NAME["none"], figures(MARKS, [Removal(SICK, 99.0)], SICK, 100.0, 0))[-1] == "out already"
    written = "".join(lines([HEAD, row], markdown=True)).splitlines()
    assert written[0].count("|") == written[1].count("|") == written[2].count("|") == len(HEAD) + 1
    assert "".join(lines([row], markdown=False)).split("  ")[0] == "no checks"
