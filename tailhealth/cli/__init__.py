"""The commands, one short file each. Adding a file here that defines `command` adds the command."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from pkgutil import iter_modules

import click

NAMES = {module.name.replace("_", "-"): module.name for module in iter_modules(__path__) if not module.name.startswith("_")}


class Commands(click.Group):
    """A group that imports a command's module only when that command is named: `--help` must start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in alphabetical order."""
        return sorted(NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import one command."""
        module = NAMES.get(cmd_name)
        if module is None:
            return None
        command: click.Command = import_module(f"{__name__}.{module}").command
        return command


@click.command(cls=Commands, epilog="Example: tailhealth top /var/log/caddy/traffic.log")
@click.version_option(package_name="tailhealth")
def main() -> None:
    """Passive health for the upstreams behind Caddy or nginx, judged from the access log.

    It never sends a request to an upstream, nor through the proxy. `init` writes a configuration, `check` says what is missing,
    `replay` and `top` show what would be decided, `run` does it.

    Exit code 0: fine; 1: findings of `check`, or work that failed; 2: the call or the configuration is wrong.
    """
    # A sign that the terminal's encoding lacks is a `?` of the same width. What scripts read is written as bytes.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
