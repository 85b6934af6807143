"""`tailhealth check`: is everything set up as it must be?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.text import Text

from tailhealth.cli._common import Wrong, config_option, json_option, read_config
from tailhealth.cli._screen import console
from tailhealth.config import Config, ConfigError
from tailhealth.service.checks.every import findings, notes
from tailhealth.service.checks.facts import Facts
from tailhealth.service.checks.finding import Finding, Note
from tailhealth.service.checks.gathering import gather
from tailhealth.service.reloading import check_runnable
from tailhealth.views.text import harmless


@click.command(epilog="Example: tailhealth check -c /etc/tailhealth.toml")
@config_option
@json_option
def command(*, config_path: Path | None, as_json: bool) -> None:
    """Check the configuration, the proxy and its logs together, and say of all that is wrong how it is mended.

    Reads the configuration of the running proxy and the newest 32 MiB of each log, and changes nothing; run it as the user
    that runs tailhealth. Exit code 0: all is well; 1: there are findings; 2: the configuration file is wrong.
    """
    facts = _gathered(read_config(config_path))
    found, known = findings(facts), notes(facts)
    if as_json:
        record = {"v": 1, "findings": found, "notes": known, "pools": facts.view.pools, "logs": facts.logs}
        click.echo(msgspec.json.encode(record))
    else:
        _show(console(), found, known)
    click.get_current_context().exit(1 if found else 0)


def _gathered(config: Config) -> Facts:
    try:
        check_runnable(config)
        return gather(config, time.time())
    except ConfigError as error:
        raise Wrong(str(error)) from None


def _show(out: Console, found: Sequence[Finding], known: Sequence[Note]) -> None:
    for one in found:
        out.print(Text(f"! {harmless(one.about)}: {harmless(one.text)} [{one.code}]", style="red"), soft_wrap=True)
        if one.remedy:
            out.print(Text(f"  {harmless(one.remedy)}"), soft_wrap=True)
    for note in known:
        out.print(Text(f"- {harmless(note.about)}: {harmless(note.text)}", style="dim"), soft_wrap=True)
    count = len(found)
    out.print(Text("all well" if not count else f"{count} finding{'s' if count > 1 else ''}", style="bold"))
