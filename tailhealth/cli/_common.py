"""What the commands share: options, errors with their exit codes, and the way to a running controller."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

import click
import msgspec

from tailhealth.cli._complete import complete_pool
from tailhealth.cli._zone import local_zone
from tailhealth.config import Config, ConfigError, load, read_duration
from tailhealth.core.model import Decision
from tailhealth.service.control import ControlError, Reply, Request, ask
from tailhealth.service.status import Status, ask_status
from tailhealth.views.text import harmless, sentence

Function = TypeVar("Function", bound=Callable[..., Any])


class Failure(click.ClickException):
    """Work that failed: exit code 1, one line on standard error."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, each line with the program's name."""
        for line in self.message.splitlines():
            click.echo(f"tailhealth: {line}", file=file or sys.stderr)


class Wrong(Failure):
    """Wrong usage or configuration: exit code 2."""

    exit_code = 2


def duration(_: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Read an option such as `--for 90s` as seconds."""
    if value is None:
        return None
    try:
        return read_duration(value)
    except ValueError as error:
        raise click.BadParameter(str(error), param=param) from None


def config_option(function: Function) -> Function:
    """Add `-c FILE`."""
    option = click.option(
        "-c", "--config", "config_path", type=click.Path(path_type=Path), help="Configuration file; without it, the defaults."
    )
    return option(function)


def json_option(function: Function) -> Function:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")(function)


def order_options(function: Function) -> Function:
    """Add what every order to a controller takes."""
    why = click.option("--why", default="", help="Why; it goes into the journal.")
    return config_option(json_option(why(pool_option(function))))


def pool_option(function: Function) -> Function:
    """Add `--pool POOL`."""
    text = "Only in this pool; without it, in every pool that has the upstream."
    return click.option("--pool", help=text, metavar="POOL", shell_complete=complete_pool)(function)


def for_option(function: Function) -> Function:
    """Add `--for DURATION`."""
    return click.option(
        "--for",
        "duration",
        callback=duration,
        metavar="DURATION",
        help="End by itself after this time, such as 90s, 30m or 1h30m.",
    )(function)


def read_config(path: Path | None) -> Config:
    """Read the configuration, or say everything that is wrong with it.

    Raises:
        Wrong: It can't be read or something in it is wrong.
    """
    try:
        return load(path)
    except ConfigError as error:
        raise Wrong(str(error)) from None


def order(config_path: Path | None, request: Request, *, as_json: bool) -> None:
    """Send an order to the running controller and print what came of it.

    Raises:
        Failure: There is no controller, or it refused.
    """
    reply = reach(config_path, request)
    if as_json:
        click.echo(msgspec.json.encode({"v": 1, **reply.data}))
        return
    decisions = msgspec.convert(reply.data["decisions"], list[Decision])
    for decision in decisions:
        click.echo(f"{harmless(decision.pool)}: {sentence(decision, local_zone())}")
    if not decisions:
        click.echo(f"{reply.data['command']}: done in {', '.join(map(harmless, reply.data['pools'])) or 'no pool'}")


def status_of(config_path: Path | None) -> Status:
    """Ask the running controller, or else a dry run with the same configuration, for its state.

    Raises:
        Failure: There is none, or it is of another version.
    """
    try:
        return ask_status(read_config(config_path))
    except ControlError as error:
        raise Failure(str(error)) from None


def reach(config_path: Path | None, request: Request) -> Reply:
    """Ask the running controller.

    Raises:
        Failure: There is no controller, or it refused.
    """
    try:
        reply = ask(read_config(config_path).state_dir(), request)
    except ControlError as error:
        raise Failure(str(error)) from None
    if not reply.ok:
        raise Failure(reply.error)
    return reply
