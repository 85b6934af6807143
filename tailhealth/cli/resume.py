"""`tailhealth resume`: decide again after a pause."""

from __future__ import annotations

from pathlib import Path

import click

from tailhealth.cli._common import config_option, json_option, order
from tailhealth.cli._complete import complete_pool
from tailhealth.service.control import Request


@click.command(epilog="Example: tailhealth resume")
@click.argument("pool", required=False, shell_complete=complete_pool)
@config_option
@json_option
@click.option("--why", default="", help="Why; it goes into the journal.")
def command(*, pool: str | None, config_path: Path | None, why: str, as_json: bool) -> None:
    """End a pause of POOL, or of every pool.

    What is still bad is judged again, and may be ejected at once.
    """
    order(config_path, Request("resume", pool=pool, why=why), as_json=as_json)
