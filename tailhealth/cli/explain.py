"""`tailhealth explain`: why an upstream is in or out."""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from tailhealth.cli._common import Failure, Wrong, config_option, json_option, pool_option, read_config
from tailhealth.cli._complete import complete_upstream
from tailhealth.cli._zone import local_zone
from tailhealth.config import Config
from tailhealth.config.notes import notes_for
from tailhealth.core.address import canonical
from tailhealth.service.account import Account, Change, Telling, telling
from tailhealth.service.control import ControlError
from tailhealth.service.journal import JournalError, Reading
from tailhealth.service.running import JOURNAL
from tailhealth.service.state import DRY_RUN
from tailhealth.service.status import Status, ask_status
from tailhealth.views.explain import Event, Explanation, Facts, Live, explain
from tailhealth.views.text import duration, harmless


@click.command(epilog="Example: tailhealth explain 10.0.0.2:11434 -c /etc/tailhealth.toml")
@click.argument("upstream", shell_complete=complete_upstream)
@pool_option
@config_option
@json_option
def command(*, upstream: str, pool: str | None, config_path: Path | None, as_json: bool) -> None:
    """Tell why UPSTREAM is in or out: what was counted, what the guards said, until when, and what would change it.

    Works from the journal, and with the running controller where there is one; nothing is changed.
    """
    config = read_config(config_path)
    try:
        address = canonical(upstream)
    except ValueError as error:
        raise Wrong(f"{upstream}: {error}") from None
    status = _status(config)
    told = _telling(config, address, status)
    found = _explanations(config, address, told, status, pool)
    if not found:
        raise Failure(_unknown(address, pool, told, status))
    if as_json:
        record = {"v": 1, "upstream": address, "running": status is not None, "pools": msgspec.to_builtins(found)}
        click.echo(msgspec.json.encode(record))
        return
    for number, one in enumerate(found):
        click.echo("\n" * bool(number) + "\n".join(one.lines()))
    if told.unreadable:
        click.echo(f"note: {told.unreadable} records of the journal can't be read", err=True)


def _status(config: Config) -> Status | None:
    try:
        return ask_status(config)
    except ControlError:
        return None  # none runs: the journal tells what it can


def _telling(config: Config, address: str, status: Status | None) -> Telling:
    folder = config.state_dir()
    if status is not None and status.dry_run:
        folder /= DRY_RUN
    try:
        return telling(Reading(folder / JOURNAL).records(), address)
    except JournalError as error:
        if status is None:
            raise Failure(f"no controller runs, and {error}") from None
        return Telling((), (), None, None, None)


def _explanations(config: Config, address: str, told: Telling, status: Status | None, pool: str | None) -> list[Explanation]:
    accounts = {one.pool: one for one in told.accounts}
    views = {} if status is None else {one.name: one for one in status.view.pools}
    here = [name for name, one in views.items() if any(up.address == address for up in one.upstreams)]
    # With a controller, pools that have the upstream no longer are history, and told only when asked for.
    names = here if here and pool is None else list(dict.fromkeys([*here, *accounts]))
    facts = [
        Facts(
            upstream=address,
            pool=name,
            now=time.time() if status is None else status.at,
            rules=config.settings().rules(name),
            decisions=accounts[name].decisions if name in accounts else (),
            events=_events(accounts[name]) if name in accounts else (),
            notes=[f"{note.table}: {note.text}" if note.table else note.text for note in notes_for(config, name)],
            live=None if status is None or name not in here else _live(status, name, address),
            stopped=told.stopped,
            restored=told.restored,
        )
        for name in names
        if pool in (None, name)
    ]
    return [explain(one, local_zone()) for one in facts]


def _live(status: Status, name: str, address: str) -> Live:
    pool = next(one for one in status.view.pools if one.name == name)
    upstream = next(one for one in pool.upstreams if one.address == address)
    return Live(pool, upstream, tuple(one.why for one in status.conditions if one.pool in (None, name)))


def _events(account: Account) -> list[Event]:
    events = [Event(one.at, _change(one)) for one in account.changes]
    events += [Event(one.at, (_DRIFT if one.concerns else _OTHERS).get(one.what, one.what)) for one in account.drifts]
    return sorted(events, key=lambda one: one.at)


_DRIFT = {
    "loaded": "the operator loaded a configuration",
    "hand": "the operator changed the list by hand: what was decided about it ended",
    "gone": "it is no longer in the operator's list: it is not put back",
}
_OTHERS = _DRIFT | {"hand": "the operator changed the list by hand", "gone": "another upstream left the operator's list"}


def _change(change: Change) -> str:
    took = "" if change.seconds is None else f" in {duration(change.seconds)}"
    what = {
        "out": "taken out of the list",
        "limited": f"limited to {change.limit} in flight",
        "in": "in the list like the others",
    }[change.state]
    return f"{what}: {change.answer}{took}"


def _unknown(address: str, pool: str | None, told: Telling, status: Status | None) -> str:
    live = [] if status is None else [up.address for one in status.view.pools for up in one.upstreams]
    known = sorted({*told.upstreams, *live})
    where = f" in pool {pool}" if pool else ""
    return f"{address}: no such upstream{where}; there are: {', '.join(map(harmless, known)) or 'none yet'}"
