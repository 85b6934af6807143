"""Several engines on one pass over the lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path

import pytest

from tailhealth.config import Config, load, parse
from tailhealth.core.bulk import Bulk
from tailhealth.core.model import Decision
from tailhealth.core.order import one_by_one
from tailhealth.core.view import view
from tailhealth.service.replaying import Past, Rules, configured_pools
from tests.bench.lines import caddy_lines, nginx_lines, write

SAMPLE = Path(__file__).resolve().parents[2] / "samples/a-wedged-node"
LOG = str(SAMPLE / "access.jsonl")
OTHER = b'[bad]\nslower_than = "10s"\n[guard]\ncommon_cause = false\n'


def alone(config: Config, journal: Path | None) -> tuple[list[Decision], object]:
    """Replay by one configuration."""
    past = Past(config, [LOG], journal=journal)
    decisions = list(past.decisions())
    return decisions, view(past.replay.engine, past.replay.engine.now)


@pytest.mark.parametrize("journal", [None, SAMPLE / "journal.jsonl"])
def test_two_policies_in_one_pass_decide_as_each_alone(journal: Path | None) -> None:
    """What stands beside an engine changes nothing for it, with a journal and without."""
    first, second = load(SAMPLE / "tailhealth.toml"), parse(OTHER)
    past = Past(first, [LOG], journal=journal, others=[Rules(second.settings(), configured_pools(second))])
    decisions: list[list[Decision]] = [[], []]
    for index, decision in past.compared():
        decisions[index].append(decision)
    shown = [view(replay.engine, replay.engine.now) for replay in (past.replay, *past.others)]

    assert decisions[0]
    assert decisions[0] != decisions[1]
    assert [(own, end) for own, end in zip(decisions, shown, strict=True)] == [alone(first, journal), alone(second, journal)]


def test_lines_are_counted_once() -> None:
    """The second engine reads no line of its own."""
    config = Config()
    past = Past(config, [LOG], others=[Rules(config.settings(), None)] * 2)
    for _ in past.compared():
        pass

    assert past.tally.lines == len(Path(LOG).read_bytes().splitlines())


def test_other_rules_replace_those_of_the_configuration() -> None:
    """`settings` judge, the configuration only says how lines are read."""
    past = Past(Config(), [LOG], settings=parse(OTHER).settings())

    assert list(past.decisions()) == alone(parse(OTHER), None)[0]


@pytest.mark.parametrize("failing", [0.0, 0.02, 0.3, 1.0])
@pytest.mark.parametrize("lines", [caddy_lines, nginx_lines])
def test_attempts_in_bulk_lead_where_single_ones_lead(
    tmp_path: Path, lines: Callable[..., Iterator[str]], failing: float
) -> None:
    """Plain attempts are summed up by the readers: decisions, windows and totals are those of the attempts one by one."""
    log = write(tmp_path / "access.jsonl", lines(3000, failing=failing, rate=20.0))
    past, single = Past(Config(), [str(log)]), Past(Config(), [str(log)])
    groups = list(single.batches())
    assert any(isinstance(entry, Bulk) for group in groups for entry in group) is (failing < 1.0)

    assert list(past.decisions()) == list(single.replay.decisions(map(one_by_one, groups)))
    assert view(past.replay.engine, inf) == view(single.replay.engine, inf)
    assert (past.tally, past.replay.engine.attempts) == (single.tally, 3000)


@pytest.mark.parametrize("lines", [caddy_lines, nginx_lines])
def test_a_healthy_file_comes_in_bulks(tmp_path: Path, lines: Callable[..., Iterator[str]]) -> None:
    """Nearly all attempts of a healthy day are summed up, hundreds at a time."""
    log = write(tmp_path / "access.jsonl", lines(3000))
    entries = [entry for group in Past(Config(), [str(log)]).batches() for entry in group]
    bulks = [entry for entry in entries if isinstance(entry, Bulk)]

    assert sum(bulk.count for bulk in bulks) > 2900
    assert len(entries) < 100
