"""`tailhealth restore`: put every upstream back, with or without a running controller."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from tailhealth.cli._common import Failure, Wrong, config_option, json_option, read_config
from tailhealth.config import ConfigError
from tailhealth.service.change import restore
from tailhealth.service.journal import JournalError
from tailhealth.service.proxying import proxy_of
from tailhealth.service.running import journal_of
from tailhealth.service.state import State, StateError


@click.command(epilog="Example: tailhealth restore -c /etc/tailhealth.toml")
@config_option
@json_option
@click.option("--forget", is_flag=True, help="Drop the running ejections too; else the next start applies them again.")
def command(*, config_path: Path | None, as_json: bool, forget: bool) -> None:
    """Put the operator's own list back into the proxy, from the state file; the controller must have stopped.

    It is meant for after a crash: on a regular stop the controller does it by itself. Ejections whose time is not over stay in
    the state file, and the next start applies them again; with --forget it does not.
    """
    config = read_config(config_path)
    try:
        with State.open(config.state_dir()) as state, journal_of(config, state.folder) as journal:
            restored = restore(proxy_of(config, state), state, journal, time.time(), forget=forget)
    except (ConfigError, StateError, JournalError) as error:
        raise Wrong(str(error)) from None
    if as_json:
        click.echo(msgspec.json.encode({"v": 1, **msgspec.to_builtins(restored)}))
    elif restored.done:
        click.echo(f"put back: {', '.join(restored.upstreams) or 'nothing was out'}")
    if not restored.done:
        raise Failure(restored.why)
