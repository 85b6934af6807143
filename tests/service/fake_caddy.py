"""A Caddy in memory: the real reading and editing of its configuration, without the network, with faults on order."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import orjson

from tailhealth.proxies.base import Applied, Load, Snapshot
from tailhealth.proxies.caddy_change import edited
from tailhealth.proxies.caddy_config import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailhealth.proxies.base import Change


class Killed(BaseException):
    """The controller dies here, as by SIGKILL: nobody catches it."""


class FakeCaddy:
    """Holds a configuration. `before` and `after` are raised once, before and after the next change is made."""

    def __init__(self, *handlers: dict[str, Any]) -> None:
        self.config: Any = {"apps": {"http": {"servers": {"s": {"logs": {}, "routes": [{"handle": list(handlers)}]}}}}}
        self.applied: list[int] = []
        """How many places each change changed."""
        self.unreadable: BaseException | None = None
        """Raised by the next reading."""
        self.before: BaseException | None = None
        self.after: BaseException | None = None
        self.held_down: frozenset[str] = frozenset()

    @property
    def handlers(self) -> list[Any]:
        """The handlers of the only route."""
        handle: list[Any] = self.config["apps"]["http"]["servers"]["s"]["routes"][0]["handle"]
        return handle

    def load_config(self, *handlers: dict[str, Any]) -> None:
        """The operator loads a configuration."""
        self.handlers[:] = copy.deepcopy(list(handlers))

    def text(self) -> bytes:
        """The configuration byte for byte."""
        return orjson.dumps(self.config, option=orjson.OPT_SORT_KEYS)

    def listed(self, handler: int = 0) -> list[str]:
        """Dials that a handler lists."""
        return [one["dial"] for one in self.handlers[handler]["upstreams"]]

    def read(self) -> Snapshot:
        """Read as from the admin interface."""
        error, self.unreadable = self.unreadable, None
        if error is not None:
            raise error
        return snapshot(copy.deepcopy(self.config))

    def load(self) -> Load:
        """Nothing is in flight."""
        return Load({}, "1", self.held_down)

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Change as by one PATCH."""
        error, self.before = self.before, None
        if error is not None:
            raise error
        self.config = edited(copy.deepcopy(self.config), (), changes)
        self.applied.append(len(changes))
        error, self.after = self.after, None
        if error is not None:
            raise error
        return Applied("PATCH 200", 0.01)


def handler(*dials: str, weights: Sequence[int] = (), **fields: Any) -> dict[str, Any]:
    """Build a handler, with weights if they are given."""
    if weights:
        fields["load_balancing"] = {"selection_policy": {"policy": "weighted_round_robin", "weights": list(weights)}}
    return {"handler": "reverse_proxy", "upstreams": [{"dial": dial} for dial in dials], **fields}
