"""`tailhealth status`: how everything stands in the running controller."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from rich.text import Text

from tailhealth.cli._common import config_option, json_option, status_of
from tailhealth.cli._screen import console, is_ascii
from tailhealth.cli._zone import local_zone
from tailhealth.service.status import Status
from tailhealth.views.frame import Frame, Look
from tailhealth.views.status import hints, stalled_off, too_little_traffic, troubles
from tailhealth.views.text import harmless, moment
from tailhealth.views.top import still


@click.command(epilog="Example: tailhealth status -c /etc/tailhealth.toml --json")
@config_option
@json_option
def command(*, config_path: Path | None, as_json: bool) -> None:
    """Show the running controller's state: every upstream, the latest decisions, and all that is not as it should be.

    With --json it is the whole state as one object, the same as `/status` of `[listen] http`.
    """
    status = status_of(config_path)
    if as_json:
        click.echo(msgspec.json.encode(status))
        return
    out = console()
    look = Look(zone=local_zone(), mode="dry run" if status.dry_run else "running", plain=is_ascii(out))
    # What stands beneath the picture in full is not needed in it in short.
    inputs = [msgspec.structs.replace(one, hints={}) for one in status.inputs]
    frame = Frame(status.view, status.stats, inputs, status.decisions, status.at)
    out.print(still(frame, look, out.width), soft_wrap=False)
    for line, style in _remarks(status):
        out.print(Text(line, style=style))


def _remarks(status: Status) -> list[tuple[str, str]]:
    zone = local_zone()
    wrong = troubles(status.conditions, zone)
    if status.journal:
        wrong.append(f"journal: {harmless(status.journal)}")
    if status.configuration.refused:
        wrong += [f"configuration not taken: {harmless(line)}" for line in status.configuration.refused.splitlines()]
    notes = [
        *hints((one.path, one.hints) for one in status.inputs),
        *too_little_traffic(status.too_little_traffic),
        *stalled_off(status.view.pools),
    ]
    read_at = moment(status.configuration.read_at, zone)
    known = f"{harmless(status.configuration.source)}, read {read_at}; running since {moment(status.started, zone)}"
    return [
        *((f"! {line}", "red") for line in wrong),
        *((f"- {line}", "yellow") for line in notes),
        (f"configuration {known}", "dim"),
    ]
