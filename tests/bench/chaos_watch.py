"""What a bystander sees of the proxy's list during the chaos, and whether anybody was out without or beyond an ejection."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import requests

from tailhealth.core.model import Action, Decision

if TYPE_CHECKING:
    from tests.real.caddy import Caddy

EVERY = 0.05


class Out(NamedTuple):
    """A time in which an upstream was not in the list."""

    upstream: str
    begin: float
    end: float


class Watcher:
    """Reads the proxy's list again and again, past everything that stands between the controller and the proxy."""

    def __init__(self, proxy: Caddy, upstreams: Sequence[str]) -> None:
        self.strange: list[list[str]] = []
        """Lists that are not the operator's minus something."""
        self.outs: list[Out] = []
        self.looks = 0
        self._proxy = proxy
        self._upstreams = list(upstreams)
        self._since: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End; who is out now is out until now."""
        self._stop.set()
        self._thread.join()
        self._note(self._upstreams, time.time())

    def _watch(self) -> None:
        with requests.Session() as session:
            session.trust_env = False
            while not self._stop.wait(EVERY):
                listed = self._read(session)
                if listed is not None:
                    self.looks += 1
                    self._note(listed, time.time())

    def _read(self, session: requests.Session) -> list[str] | None:
        try:
            answer = session.get(f"{self._proxy.admin}/config/apps/http/servers/s/routes/0/handle", timeout=5)
            return [one["dial"] for one in answer.json()[-1]["upstreams"]]
        except (requests.RequestException, ValueError, TypeError, LookupError):
            return None  # it restarts, or its admin listener does

    def _note(self, listed: list[str], now: float) -> None:
        if listed != [one for one in self._upstreams if one in listed]:
            self.strange.append(listed)
        for upstream in self._upstreams:
            if upstream not in listed:
                self._since.setdefault(upstream, now)
            elif upstream in self._since:
                self.outs.append(Out(upstream, self._since.pop(upstream), now))


class Ejection(NamedTuple):
    """A time in which the decisions wanted an upstream to be out."""

    upstream: str
    since: float
    until: float


def ejections(decisions: Iterable[Decision], end: float) -> list[Ejection]:
    """Return what was decided, from each ejection to its readmission."""
    since: dict[str, float] = {}
    found = []
    for one in decisions:
        if one.action is Action.EJECT:
            since.setdefault(one.upstream, one.at)
        elif one.action is Action.READMIT and one.upstream in since:
            found.append(Ejection(one.upstream, since.pop(one.upstream), one.at))
    return [*found, *(Ejection(upstream, at, end) for upstream, at in since.items())]


def overdue(out: Out, wanted: Sequence[Ejection], troubles: Sequence[tuple[float, float]]) -> float:
    """Return for how many seconds an upstream was out beyond its ejections, troubles of the controller's way taken off."""
    spans = [(one.since, one.until) for one in wanted if one.upstream == out.upstream]
    return uncovered((out.begin, out.end), [*spans, *troubles])


def uncovered(span: tuple[float, float], covers: Iterable[tuple[float, float]]) -> float:
    """Return how many seconds of a span lie in none of the covers."""
    at, end = span
    rest = 0.0
    for begin, until in sorted(covers):
        if begin > at:
            rest += max(0.0, min(begin, end) - at)
        at = max(at, until)
        if at >= end:
            break
    return rest + max(0.0, end - at)
