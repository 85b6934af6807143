"""`tailhealth pin`: keep an upstream in, or out, whatever the log shows."""

from __future__ import annotations

from pathlib import Path

import click

from tailhealth.cli._common import for_option, order, order_options
from tailhealth.cli._complete import complete_upstream
from tailhealth.service.control import Request


@click.command(epilog='Example: tailhealth pin in 10.0.0.2:11434 --for 2h --why "load test"')
@click.argument("side", type=click.Choice(["in", "out"]))
@click.argument("upstream", shell_complete=complete_upstream)
@order_options
@for_option
def command(
    *, side: str, upstream: str, config_path: Path | None, pool: str | None, duration: float | None, why: str, as_json: bool
) -> None:
    """Keep UPSTREAM in rotation, or out of it, until `unpin` or for the time given with --for.

    Pinned `in`, it comes back if it is out, and is not ejected: a trip is withheld, with the reason `pinned`.
    """
    request = Request(f"pin_{side}", upstream=upstream, pool=pool, duration=duration, why=why)
    order(config_path, request, as_json=as_json)
