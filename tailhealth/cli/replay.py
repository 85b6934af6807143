"""`tailhealth replay`: what would have been decided on yesterday's logs."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import click
import orjson

from tailhealth.cli._bar import Bar
from tailhealth.cli._common import Failure, Wrong, config_option, json_option, read_config
from tailhealth.cli._report import Page
from tailhealth.cli._screen import console, is_ascii
from tailhealth.cli._zone import local_zone
from tailhealth.config import Config
from tailhealth.core.model import Decision
from tailhealth.core.view import View, view
from tailhealth.logs.helpers import cores
from tailhealth.logs.stream import LogError
from tailhealth.service.inputs import log_rules
from tailhealth.service.journal import JournalError
from tailhealth.service.pipeline import Replay
from tailhealth.service.replaying import Past, Rules, configured_pools
from tailhealth.views.compare import LABELS, Missed, Side, comparison, comparison_record, judge_differently
from tailhealth.views.records import decision_record, replay_summary
from tailhealth.views.tables import Period, summary


@click.command(epilog="Example: tailhealth replay access.log.1.gz access.log -c tailhealth.toml")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@config_option
@json_option
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    help="The journal of the run that saw these logs: repeats it exactly, requests in flight, pools and commands included. "
    "A configuration that was reread under way is, too, where -c is the one that the run began with.",
)
@click.option(
    "--compare", "other_path", type=click.Path(path_type=Path), metavar="OTHER.toml", help="Set another policy beside this one."
)
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="OUT.html", help="Write a page with every attempt and every decision."
)
def command(
    *,
    logs: tuple[str, ...],
    config_path: Path | None,
    as_json: bool,
    journal: Path | None,
    other_path: Path | None,
    report: Path | None,
) -> None:
    """Decide about the lines of LOG... as `run` would have, and tell what came of it.

    A LOG may be compressed (.gz, .zst), a folder of rolled files, or `-` for standard input. Without `[pool.NAME] upstreams` in
    the configuration, and without --journal, the upstreams of the log are one pool.

    It shows what would have been decided on recorded traffic; a real ejection would have moved traffic.
    """
    config, name = read_config(config_path), "the defaults" if config_path is None else str(config_path)
    if other_path is not None and report is not None:
        raise Wrong("--compare and --report are two questions: ask them one after the other")
    try:
        if other_path is None:
            page = None if report is None else Page(report, config, logs, name)
            past = _replay(config, logs, journal, page, as_json=as_json)
        else:
            policies = (Policy(name, config), Policy(str(other_path), read_config(other_path)))
            past = _compare(policies, logs, journal, as_json=as_json)
    except (LogError, JournalError) as error:
        raise Wrong(str(error)) from None
    if not past.tally.lines:
        raise Failure(f"{', '.join(logs)}: no lines: is this the access log?")


def _replay(config: Config, logs: tuple[str, ...], journal: Path | None, page: Page | None, *, as_json: bool) -> Past:
    with ExitStack() as stack:
        past = Past(
            config,
            logs,
            journal=journal,
            observe=None if page is None else page.observe,
            progress=Bar(stack),
            processes=cores(),
        )
        decisions = []
        for decision in past.decisions():
            decisions.append(decision)
            if as_json:
                _print_json(decision_record(decision))
    shown = _view(past.replay)
    if as_json:
        _print_json(replay_summary(shown, past.tally, past.notes, decisions))
        sys.stdout.buffer.flush()
    else:
        out = console()
        out.print(summary(shown, decisions, _period(past), out.width, plain=is_ascii(out)))
        _print_notes(_notes(past))
    if page is not None and past.tally.lines:
        page.write(shown, decisions, _period(past), _notes(past))
    return past


class Policy(NamedTuple):
    """A configuration under the name that the user gave."""

    name: str
    config: Config


def _compare(policies: tuple[Policy, Policy], logs: tuple[str, ...], journal: Path | None, *, as_json: bool) -> Past:
    taken: tuple[list[Decision], list[Decision]] = ([], [])
    settings = [policy.config.settings() for policy in policies]
    missed = Missed(settings[0]) if judge_differently(*settings) else None
    rules = Rules(settings[1], configured_pools(policies[1].config), None if missed is None else missed.observe)
    with ExitStack() as stack:
        past = Past(policies[0].config, logs, journal=journal, others=[rules], progress=Bar(stack), processes=cores())
        for index, decision in past.compared():
            taken[index].append(decision)
    first = Side(policies[0].name, _view(past.replay), taken[0])
    second = Side(policies[1].name, _view(past.others[0]), taken[1], missed)
    notes = [*_notes(past), *_read_otherwise(policies, logs)]
    if as_json:
        _print_comparison((first, second), past, notes)
    else:
        out = console()
        out.print(comparison((first, second), _period(past), out.width, plain=is_ascii(out)))
        _print_notes(notes)
    return past


def _print_comparison(sides: tuple[Side, Side], past: Past, notes: list[str]) -> None:
    labelled = [(label, one) for label, side in zip(LABELS, sides, strict=True) for one in side.decisions]
    for label, one in sorted(labelled, key=lambda item: item[1].at):
        _print_json({**decision_record(one), "policy": label})
    for label, side in zip(LABELS, sides, strict=True):
        _print_json({**replay_summary(side.view, past.tally, notes, side.decisions), "policy": label})
    _print_json(comparison_record(sides))
    sys.stdout.buffer.flush()


def _read_otherwise(policies: tuple[Policy, Policy], logs: tuple[str, ...]) -> list[str]:
    """Say so if the other policy would read the lines in another way: they are read once."""
    rules = [[log_rules(policy.config.log_for(path)) for path in logs] for policy in policies]
    if rules[0] == rules[1]:
        return []
    return [f"lines are read as {policies[0].name} says; the [[log]] of {policies[1].name} says otherwise"]


def _view(replay: Replay) -> View:
    return view(replay.engine, replay.engine.now)


def _period(past: Past) -> Period:
    now = past.replay.engine.now
    return Period(min(past.started_at, now), now, local_zone())


def _notes(past: Past) -> list[str]:
    notes = [*past.notes, *past.tally.hints.values()]
    return notes + [f"{count} lines skipped ({reason}): see `tailhealth parse`" for reason, count in past.tally.skipped.items()]


def _print_notes(notes: list[str]) -> None:
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _print_json(record: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
