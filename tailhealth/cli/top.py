"""`tailhealth top`: what every upstream does, live."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click
import msgspec

from tailhealth.cli._common import Failure, Wrong, config_option, read_config
from tailhealth.cli._played import Played
from tailhealth.cli._scenes import Attached, Followed
from tailhealth.cli._screen import Scene, console, print_still, watch
from tailhealth.cli._zone import local_zone
from tailhealth.config import Config, Log
from tailhealth.logs.stream import LogError
from tailhealth.service.control import ControlError
from tailhealth.views.frame import Look


@click.command(epilog="Example: tailhealth top /var/log/caddy/traffic.log")
@click.argument("logs", nargs=-1, metavar="[LOG]...")
@config_option
@click.option("--attach", is_flag=True, help="Show the controller that runs, instead of a log.")
@click.option(
    "--speed", type=click.FloatRange(min=0, min_open=True), metavar="N", help="Play LOG from its beginning, N times as fast."
)
@click.option("--once", is_flag=True, help="Print one picture and end; for pipes and scripts.")
def command(*, logs: tuple[str, ...], config_path: Path | None, attach: bool, speed: float | None, once: bool) -> None:
    """Show live what every upstream does, what would be decided about it, and why. Nothing is applied.

    Follows LOG..., or the logs of the configuration, from the last five minutes on. `-` is standard input. With --attach it
    shows the running controller and what it did decide. Keys: q quit, p pause, s sort, f filter, ? help.
    """
    config = read_config(config_path)
    if attach and (logs or speed is not None):
        raise Wrong("--attach shows the running controller: leave LOG and --speed out")
    if speed is not None and not logs:
        raise Wrong("--speed plays a log: name it")
    try:
        if attach:
            _show(Attached(config.state_dir()), once=once)
        elif speed is not None:
            _play(config, logs, speed, once=once)
        else:
            _follow(config, logs, once=once)
    except (ControlError, LogError) as error:
        raise Failure(str(error)) from None


def _play(config: Config, logs: tuple[str, ...], speed: float, *, once: bool) -> None:
    with closing(Played(config, logs, speed)) as scene:
        if once:
            scene.read_all()
        _show(scene, once=once)


def _follow(config: Config, logs: tuple[str, ...], *, once: bool) -> None:
    tables = [_table(config, name) for name in logs] or list(config.log)
    if not tables:
        raise Wrong("nothing to look at: name a LOG, a configuration with -c, or --attach to a running controller")
    with closing(Followed(config, tables)) as scene:
        if once:
            scene.read_all()
        _show(scene, once=once)


def _table(config: Config, name: str) -> Log:
    path = name if name == "-" else str(Path(name).absolute())
    return msgspec.structs.replace(config.log_for(name), path=path)


def _show(scene: Scene, *, once: bool) -> None:
    look = Look(zone=local_zone())
    try:
        (print_still if once else watch)(scene, look, console())
    except KeyboardInterrupt:
        return  # Ctrl-C is a way to quit
