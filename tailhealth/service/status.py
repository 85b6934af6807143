"""The whole state of a running controller as one value: what `status`, `top --attach` and `explain` ask for."""

from __future__ import annotations

import msgspec

from tailhealth.config import Config
from tailhealth.core.model import Decision
from tailhealth.core.quiet import TooQuiet
from tailhealth.core.view import View
from tailhealth.service.conditions import Condition
from tailhealth.service.control import PATIENCE, ControlError, Handler, Request, ask, is_there
from tailhealth.service.header_times import HeaderTimes
from tailhealth.service.inputs import InputView
from tailhealth.service.numbers import Decided
from tailhealth.service.state import DRY_RUN
from tailhealth.views.stats import StatsView

VERSION = 1


class Configuration(msgspec.Struct, frozen=True):
    """Which configuration holds."""

    source: str
    read_at: float
    """When it was read: at the start, or at the latest SIGHUP that brought a right one."""
    refused: str = ""
    """What was wrong with the one that a later SIGHUP brought; empty: nothing."""


class Status(msgspec.Struct, frozen=True):
    """The state at one moment; `status --json` is this object."""

    at: float
    started: float
    """When this run of the controller began."""
    dry_run: bool
    configuration: Configuration
    view: View
    stats: StatsView
    inputs: tuple[InputView, ...]
    decisions: tuple[Decision, ...]
    """The latest, the oldest of them first."""
    conditions: tuple[Condition, ...]
    journal: str
    """Why the journal can't be written; empty: it can."""
    too_little_traffic: tuple[TooQuiet, ...]
    decided: tuple[Decided, ...] = ()
    header_times: tuple[HeaderTimes, ...] = ()
    applies: dict[str, int] = {}
    """Changes sent to the proxy, by result: `done` or `failed`."""
    journal_lost: int = 0
    """Records that could not be written to the journal."""
    v: int = VERSION


def ask_status(config: Config, patience: float = PATIENCE) -> Status:
    """Ask the controller of a configuration for its state; a dry run is asked where no other runs.

    Raises:
        ControlError: None runs, it does not answer, or it is of another version.
    """
    folder = config.state_dir()
    if not is_there(folder) and is_there(folder / DRY_RUN):
        folder /= DRY_RUN
    reply = ask(folder, Request("status"), patience)
    try:
        return msgspec.convert(reply.data, Status)
    except msgspec.ValidationError as error:
        text = f"the controller speaks another version: {error}; restart it after an upgrade"
        raise ControlError(reply.error or text) from None


def status_by(submit: Handler) -> Status:
    """Ask the controller of this process for its state, from another thread than its own.

    Raises:
        ControlError: It does not answer.
    """
    try:
        reply = submit(Request("status")).result(PATIENCE)
    except TimeoutError:
        raise ControlError("the controller does not answer") from None
    return msgspec.convert(reply.data, Status)
