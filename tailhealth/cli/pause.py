"""`tailhealth pause`: stop ejecting."""

from __future__ import annotations

from pathlib import Path

import click

from tailhealth.cli._common import config_option, for_option, json_option, order
from tailhealth.cli._complete import complete_pool
from tailhealth.service.control import Request


@click.command(epilog='Example: tailhealth pause --for 1h --why "failover test"')
@click.argument("pool", required=False, shell_complete=complete_pool)
@config_option
@json_option
@for_option
@click.option("--why", default="", help="Why; it goes into the journal.")
def command(*, pool: str | None, config_path: Path | None, duration: float | None, why: str, as_json: bool) -> None:
    """Eject nothing in POOL, or in any pool, until `resume` or for the time given with --for. Readmissions go on.

    Everything is judged as before, and what would have been ejected is written down as withheld.
    """
    order(config_path, Request("pause", pool=pool, duration=duration, why=why), as_json=as_json)
