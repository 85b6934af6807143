"""`tailhealth run`: the controller, next to a proxy."""

from __future__ import annotations

from pathlib import Path

import click

from tailhealth.cli._common import Failure, Wrong, config_option, read_config
from tailhealth.config import ConfigError
from tailhealth.service.journal import JournalError
from tailhealth.service.running import Run, stopped_by_signals
from tailhealth.service.state import StateError


@click.command(epilog="Example: tailhealth run -c /etc/tailhealth.toml --dry-run")
@config_option
@click.option("--dry-run", is_flag=True, help="Decide and write it down, and change nothing in the proxy.")
def command(*, config_path: Path | None, dry_run: bool) -> None:
    """Follow the logs, decide, and apply it through the proxy's admin interface, until SIGTERM or Ctrl-C.

    Sends no request to any upstream, nor through the proxy. On stop every upstream is put back (`on_stop = "restore"`).
    """
    config = read_config(config_path)
    if not config.log:
        raise Wrong(f"{config.source}: log: no log is named: add [[log]] with the path of the proxy's access log")
    try:
        run = Run(config, dry_run=dry_run)
    except (ConfigError, StateError, JournalError) as error:
        raise Wrong(str(error)) from None
    with run, stopped_by_signals(run):
        click.echo(
            f"tailhealth: following {', '.join(log.path for log in config.log)}; {config.proxy.kind} at {config.proxy.admin}"
        )
        run.loop()
    if run.problem:
        raise Failure(run.problem)
