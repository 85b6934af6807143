"""`tailhealth eject`: take an upstream out by hand."""

from __future__ import annotations

from pathlib import Path

import click

from tailhealth.cli._common import for_option, order, order_options
from tailhealth.cli._complete import complete_upstream
from tailhealth.service.control import Request


@click.command(epilog='Example: tailhealth eject 10.0.0.2:11434 --for 30m --why "new driver"')
@click.argument("upstream", shell_complete=complete_upstream)
@order_options
@for_option
@click.option("--force", is_flag=True, help="Even if that leaves nobody to serve.")
def command(
    *,
    upstream: str,
    config_path: Path | None,
    pool: str | None,
    duration: float | None,
    why: str,
    as_json: bool,
    force: bool,
) -> None:
    """Take UPSTREAM out of rotation until `readmit`, or for the time given with --for.

    Requests that it has in flight may finish. It adds no strike, and counts as out when the rules ask how many may be. It is
    refused where it would leave a pool without anybody to serve.
    """
    request = Request("eject", upstream=upstream, pool=pool, duration=duration, why=why, force=force)
    order(config_path, request, as_json=as_json)
