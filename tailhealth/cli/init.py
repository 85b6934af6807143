"""`tailhealth init`: a configuration to begin with, and what the proxy needs."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import click

from tailhealth.cli._common import Failure, Wrong
from tailhealth.views.snippets import parts
from tailhealth.views.starter import starter

DEFAULT = "tailhealth.toml"
STDOUT = "-"


@click.command(epilog="Example: tailhealth init --kind nginx --output /etc/tailhealth.toml")
@click.option(
    "--kind",
    type=click.Choice(["caddy", "nginx", "nginx-plus"]),
    default="caddy",
    show_default=True,
    help="The proxy that it is for.",
)
@click.option(
    "-o",
    "--output",
    "-c",
    "--config",
    default=DEFAULT,
    show_default=True,
    metavar="FILE",
    help="Where it goes; `-` for standard output.",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def command(*, kind: str, output: str, force: bool) -> None:
    """Write a commented configuration for a proxy, and print what the proxy's own configuration needs.

    The file can be read by its owner alone. `tailhealth check` tells when both parts fit together.
    """
    text = starter(kind)
    if output == STDOUT:
        sys.stdout.write(text)
        return
    path = Path(output)
    _write(path, text.encode(), force=force)
    click.echo(f"# wrote {path}. The proxy's part:")
    for what, snippet in parts(kind):
        click.echo(f"\n# --- {what}\n\n{snippet}", nl=False)
    click.echo(f"\n# --- then: tailhealth check -c {path}")


def _write(path: Path, text: bytes, *, force: bool) -> None:
    """Write a file that its owner alone can read.

    Raises:
        Wrong: It is there already.
        Failure: It can't be written.
    """
    target = path.with_name(f".{path.name}.{secrets.token_hex(4)}") if force else path
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
        if force:
            target.replace(path)
    except FileExistsError:
        raise Wrong(f"{path}: it is there already: choose another --output, or --force to write over it") from None
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}: choose another --output") from None
