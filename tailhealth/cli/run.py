"""`tailhealth run`: the controller, next to a proxy."""

from __future__ import annotations

from pathlib import Path

import click

from tailhealth.cli._common import Failure, Wrong, config_option, read_config
from tailhealth.config import ConfigError, load
from tailhealth.service.journal import JournalError
from tailhealth.service.listener import ListenError
from tailhealth.service.running import Run, following, led_by_signals
from tailhealth.service.state import StateError
from tailhealth.service.systemd import Notices


@click.command(epilog="Example: tailhealth run -c /etc/tailhealth.toml --dry-run")
@config_option
@click.option("--dry-run", is_flag=True, help="Decide and write it down, and change nothing in the proxy.")
def command(*, config_path: Path | None, dry_run: bool) -> None:
    """Follow the logs, decide, and apply it through the proxy's admin interface, until SIGTERM or Ctrl-C.

    Sends no request to any upstream, nor through the proxy. On stop every upstream is put back (`on_stop = "restore"`).
    SIGHUP rereads the configuration; a wrong one is refused and the old one stays.
    """
    config = read_config(config_path)
    try:
        run = Run(config, dry_run=dry_run, reread=lambda: load(config_path), warn=_warn, notices=Notices())
    except (ConfigError, StateError, JournalError, ListenError) as error:
        raise Wrong(str(error)) from None
    with run, led_by_signals(run):
        click.echo(f"tailhealth: {following(config)}")
        run.loop()
    if run.problem:
        raise Failure(run.problem)


def _warn(line: str) -> None:
    click.echo(f"tailhealth: {line}", err=True)
