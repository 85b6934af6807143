"""Shell completion of what only a running controller knows: upstreams and pools. Whatever is amiss, it stays silent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from click.shell_completion import CompletionItem

from tailhealth.config import ConfigError, load
from tailhealth.core.view import PoolView
from tailhealth.service.control import ControlError, Request, ask
from tailhealth.service.state import DRY_RUN

PATIENCE = 1.0
"""Seconds that the answer may take: somebody waits at a prompt."""


def complete_upstream(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Name the upstreams that begin so, of the pool that `--pool` names or of all, each with where it stands."""
    pool = ctx.params.get("pool")
    found = {
        one.address: one.standing.value.replace("_", " ")
        for view in _pools(ctx)
        if pool in (None, view.name)
        for one in view.upstreams
    }
    return _items(found, incomplete)


def complete_pool(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Name the pools that begin so."""
    return _items({view.name: f"{len(view.upstreams)} upstreams" for view in _pools(ctx)}, incomplete)


def _items(found: dict[str, str], incomplete: str) -> list[CompletionItem]:
    # A name is a line of what the shell reads: one that has spaces or control characters would be several.
    fit = {name: text for name, text in found.items() if name.isprintable() and " " not in name}
    return [CompletionItem(name, help=text) for name, text in fit.items() if name.startswith(incomplete)]


def _pools(ctx: click.Context) -> list[PoolView]:
    try:
        folder = load(ctx.params.get("config_path")).state_dir()
    except ConfigError:
        return []
    return next(_answers(folder), [])


def _answers(folder: Path) -> Iterator[list[PoolView]]:
    """Ask the controller that runs, then a dry run."""
    for place in (folder, folder / DRY_RUN):
        try:
            reply = ask(place, Request("status"), PATIENCE)
            yield msgspec.convert(reply.data["view"]["pools"], list[PoolView])
        except (ControlError, LookupError, msgspec.ValidationError, OSError):
            continue  # nobody is there, or it is of another version: there is nothing to offer
