"""`tailhealth parse`: how each line is read."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import orjson

from tailhealth.cli._common import Failure, Wrong, config_option, json_option, read_config
from tailhealth.cli._follow import follow as follow_logs
from tailhealth.cli._screen import console
from tailhealth.config import Config
from tailhealth.logs.stream import LogError
from tailhealth.service.parsing import Parsing
from tailhealth.views.parsed import Outcomes, attempt_record, parse_summary, summary


@click.command(epilog="Example: tailhealth parse --json /var/log/caddy/access.log | tail -1")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@config_option
@json_option
@click.option("--follow", is_flag=True, help="Read what is there, then go on as lines are written, until SIGTERM or Ctrl-C.")
@click.option(
    "--state",
    "state",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With --follow: go on where the last one left off, and keep there how far this one is.",
)
def command(*, logs: tuple[str, ...], config_path: Path | None, as_json: bool, follow: bool, state: Path | None) -> None:
    """Show how the lines of LOG... are read, how each attempt is judged by itself, and what is wrong with the setup.

    A LOG may be compressed (.gz, .zst), a folder of rolled files, or `-` for standard input; it is read as the `[[log]]` of its
    path says, else as the only one, else by the defaults. With --json, one object per attempt, and a summary as the last one.

    With --follow each log is followed through its rotations, and an attempt is printed as soon as it is known. With --state
    nothing is lost or repeated over SIGTERM; after SIGKILL what was printed in the last second may come again, with the same
    `generation` and `offset`.
    """
    if follow:
        follow_logs(read_config(config_path), logs, state, as_json=as_json)
        return
    if state is not None:
        raise Wrong("--state goes with --follow: give both")
    try:
        parsing = _read(read_config(config_path), logs, as_json=as_json)
    except LogError as error:
        raise Wrong(str(error)) from None
    if not parsing.tally.lines:
        raise Failure(f"{', '.join(logs)}: no lines: is this the access log?")


def _read(config: Config, logs: tuple[str, ...], *, as_json: bool) -> Parsing:
    parsing = Parsing(config, logs)
    outcomes = Outcomes()
    write = sys.stdout.buffer.write
    for attempt, outcome, path, line in parsing.attempts():
        if as_json:
            write(orjson.dumps(attempt_record(attempt, outcome, path, line), option=orjson.OPT_APPEND_NEWLINE))
        else:
            outcomes.add(attempt.upstream, outcome)
    if as_json:
        write(orjson.dumps(parse_summary(parsing.tally, parsing.notes), option=orjson.OPT_APPEND_NEWLINE))
        sys.stdout.buffer.flush()
    else:
        console().print(summary(parsing.tally, outcomes, parsing.notes))
    return parsing
