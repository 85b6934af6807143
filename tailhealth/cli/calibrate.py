"""`tailhealth calibrate`: measure first, then set the threshold."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import click
import orjson

from tailhealth.cli._bar import Bar
from tailhealth.cli._common import Failure, Wrong, config_option, json_option, read_config
from tailhealth.cli._screen import console
from tailhealth.cli._zone import local_zone
from tailhealth.config import read_duration
from tailhealth.logs.stream import LogError
from tailhealth.service.calibrating import calibrate
from tailhealth.views.calibrate import calibration
from tailhealth.views.calibrate_out import calibration_record, fragment


def _durations(_: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[float]:
    try:
        found = [read_duration(one) for one in values]
    except ValueError as error:
        raise click.BadParameter(str(error), param=param) from None
    if 0.0 in found:
        raise click.BadParameter("must be more than 0", param=param)
    return found


@click.command(epilog="Example: tailhealth calibrate /var/log/caddy/access.log* --try 10s --write")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@config_option
@json_option
@click.option("--write", is_flag=True, help="Print the proposals as TOML for the configuration, with the figures as comments.")
@click.option(
    "--try",
    "values",
    multiple=True,
    callback=_durations,
    metavar="DURATION",
    help="Tell what this slower_than would have done too.",
)
def command(*, logs: tuple[str, ...], config_path: Path | None, as_json: bool, write: bool, values: list[float]) -> None:
    """Measure how long healthy answers take in LOG..., and propose `slower_than` from it.

    Per pool and route: how header times are spread, the longest healthy one, a threshold with its margin, and what that and
    other values would have done on this log. Healthy is what every rule but those of latency lets pass.
    """
    if as_json and write:
        raise Wrong("--json and --write print two different things: choose one")
    config = read_config(config_path)
    with ExitStack() as stack:
        try:
            found = calibrate(config, logs, values=values, progress=Bar(stack))
        except LogError as error:
            raise Wrong(str(error)) from None
    if not found.lines:
        raise Failure(f"{', '.join(logs)}: no lines: is this the access log?")
    zone = local_zone()
    if as_json:
        sys.stdout.buffer.write(orjson.dumps(calibration_record(found, zone), option=orjson.OPT_APPEND_NEWLINE))
        sys.stdout.buffer.flush()
    elif write:
        click.echo(fragment(found, config, zone), nl=False)
    else:
        console().print(calibration(found, zone))
    if not as_json:
        for note in found.notes:
            click.echo(f"note: {note}", err=True)
