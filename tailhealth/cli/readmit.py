"""`tailhealth readmit`: put an upstream back by hand."""

from __future__ import annotations

from pathlib import Path

import click

from tailhealth.cli._common import order, order_options
from tailhealth.cli._complete import complete_upstream
from tailhealth.service.control import Request


@click.command(epilog='Example: tailhealth readmit 10.0.0.2:11434 --why "driver is in"')
@click.argument("upstream", shell_complete=complete_upstream)
@order_options
def command(*, upstream: str, config_path: Path | None, pool: str | None, why: str, as_json: bool) -> None:
    """Put UPSTREAM back into rotation at once, without probation, and forget its strikes.

    It ends an ejection, or a pin `out`, whoever ordered it. On one that is in, it ends the probation and empties the window.
    """
    order(config_path, Request("readmit", upstream=upstream, pool=pool, why=why), as_json=as_json)
