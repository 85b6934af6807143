"""The commands, one short file each, which defines `command`. A new one gets its line in `SUMMARIES`."""

from __future__ import annotations

import io
import sys
from importlib import import_module

import click
from click.shell_completion import CompletionItem

SUMMARIES = {
    "calibrate": "Measure healthy answers, propose slower_than.",
    "check": "Say what is wrong with the setup, and its remedy.",
    "demo": "Watch a stuck node be found on a real Caddy.",
    "eject": "Take an upstream out of rotation by hand.",
    "explain": "Tell why an upstream is in or out.",
    "init": "Write a configuration to begin with.",
    "parse": "Show how the lines of a log are read.",
    "pause": "Eject nothing for a while.",
    "pin": "Keep an upstream in, or out.",
    "readmit": "Put an upstream back into rotation by hand.",
    "replay": "Tell what would have been decided on a log.",
    "restore": "Put everything back into the proxy.",
    "resume": "End a pause.",
    "run": "Follow the logs, decide, and act.",
    "status": "Show how everything stands.",
    "top": "Show live what every upstream does.",
    "unpin": "Let the rules decide again.",
}
"""Each command in a sentence. It stands here because the list of all commands must not import what they work with."""


class Commands(click.Group):
    """A group that imports a command's module only when that command is called: `--help` and completion must start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in alphabetical order."""
        return sorted(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import one command."""
        if cmd_name not in SUMMARIES:
            return None
        command: click.Command = import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its sentence."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, SUMMARIES[name]) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offer the commands that begin so, and what any command offers."""
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        # Not by the base class, which would import every command that it names.
        return [
            *(CompletionItem(name, help=SUMMARIES[name]) for name in names),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]


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
