"""`tailhealth replay`: what would have been decided on yesterday's logs."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import click
import orjson
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

from tailhealth.cli._common import Failure, Wrong, config_option, json_option, read_config
from tailhealth.cli._screen import console
from tailhealth.cli._zone import local_zone
from tailhealth.core.model import Decision
from tailhealth.core.view import View, view
from tailhealth.logs.stream import LogError
from tailhealth.service.journal import JournalError
from tailhealth.service.replaying import Past
from tailhealth.views.records import decision_record, replay_summary
from tailhealth.views.tables import Period, summary

_LONG = 32 << 20
"""Bytes from which on a progress bar is shown."""


@click.command(epilog="Example: tailhealth replay access.log.1.gz access.log -c tailhealth.toml")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@config_option
@json_option
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    help="The journal of the run that saw these logs: repeats it exactly, requests in flight, pools and commands included.",
)
def command(*, logs: tuple[str, ...], config_path: Path | None, as_json: bool, journal: Path | None) -> None:
    """Decide about the lines of LOG... as `run` would have, and tell what came of it.

    A LOG may be compressed (.gz, .zst), a folder of rolled files, or `-` for standard input. It shows what would have been
    decided on recorded traffic; a real ejection would have moved traffic.
    """
    config = read_config(config_path)
    with ExitStack() as stack:
        try:
            past = Past(config, logs, journal=journal, progress=_Bar(stack))
            decisions = []
            for decision in past.decisions():
                decisions.append(decision)
                if as_json:
                    sys.stdout.buffer.write(orjson.dumps(decision_record(decision), option=orjson.OPT_APPEND_NEWLINE))
        except (LogError, JournalError) as error:
            raise Wrong(str(error)) from None
    shown = view(past.replay.engine, past.replay.engine.now)
    if as_json:
        record = replay_summary(shown, past.tally, past.notes)
        sys.stdout.buffer.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
        sys.stdout.buffer.flush()
    else:
        _print(past, shown, decisions)
    if not past.tally.lines:
        raise Failure(f"{', '.join(logs)}: no lines: is this the access log?")


def _print(past: Past, shown: View, decisions: list[Decision]) -> None:
    out = console()
    zone = local_zone()
    period = Period(min(past.started_at, shown.at), shown.at, zone)
    out.print(summary(shown, decisions, period, out.width, plain=not out.encoding.lower().startswith("utf")))
    notes = [*past.notes, *past.tally.hints.values()]
    notes += [f"{count} lines skipped ({reason}): see `tailhealth parse`" for reason, count in past.tally.skipped.items()]
    for note in notes:
        click.echo(f"note: {note}", err=True)


class _Bar:
    """Shows on standard error how far a long input is read, if that is a terminal."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._progress: Progress | None = None

    def __call__(self, done: int, total: int | None) -> None:
        """Bytes were read."""
        if self._progress is None:
            if not sys.stderr.isatty() or (total or 0) < _LONG:
                return
            columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._progress = self._stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
            self._progress.add_task("", total=total)
        self._progress.update(self._progress.task_ids[0], completed=done)
