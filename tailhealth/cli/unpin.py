"""`tailhealth unpin`: let the rules decide about an upstream again."""

from __future__ import annotations

from pathlib import Path

import click

from tailhealth.cli._common import order, order_options
from tailhealth.cli._complete import complete_upstream
from tailhealth.service.control import Request


@click.command(epilog="Example: tailhealth unpin 10.0.0.2:11434")
@click.argument("upstream", shell_complete=complete_upstream)
@order_options
def command(*, upstream: str, config_path: Path | None, pool: str | None, why: str, as_json: bool) -> None:
    """Let the rules decide about UPSTREAM again.

    One that was pinned or ejected by hand comes back at once.
    """
    order(config_path, Request("unpin", upstream=upstream, pool=pool, why=why), as_json=as_json)
