"""What the plots of the report are drawn from, as one JSON value.

Text in it is only ever shown as text: the page's script sets no HTML from it. Points are packed numbers in base64.
"""

from __future__ import annotations

import sys
from array import array
from base64 import b64encode
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, NamedTuple

import orjson

from tailhealth.core.model import Action, Decision, Verdict
from tailhealth.core.rules import BadRules, PoolRules, Route, Settings
from tailhealth.core.view import PoolView, UpstreamView, View
from tailhealth.views.points import Key, Points, Series
from tailhealth.views.tables import Period, Stage, stretches
from tailhealth.views.text import by_kind, duration, harmless, moment, statement

MOST_DRAWN = 96
"""So many upstreams are drawn at most: those with decisions first, then those with the most bad attempts."""
PER_FIGURE = 12
"""Upstreams in one figure; browsers hold only a few large ones at a time."""
MOST_LINES = 4
NAME = 60

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class Told(NamedTuple):
    """What a replay came to."""

    view: View
    """The engine's state at the end."""
    decisions: Sequence[Decision]
    """All of them, in order."""
    period: Period
    """From the first line to the last, with a zone of fixed offset: a plot's axis knows no summer time."""


def embedded(value: Any) -> str:
    """Write a value as JSON that can stand inside a script element: nothing in it can end the element."""
    text = orjson.dumps(value).decode()
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def report_data(told: Told, points: Points, settings: Settings) -> dict[str, Any]:
    """Put together what the page draws."""
    view, decisions, period = told
    offset = period.zone.utcoffset(None)
    by_upstream: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for key, series in sorted(points.series().items()):
        by_upstream.setdefault((key.pool, key.upstream), []).append(_series(key, series))
    drawn = set(_drawn(view, decisions))
    figures: list[dict[str, Any]] = []
    for pool in view.pools:
        rows = [_row(pool, one, decisions, period, by_upstream) for one in pool.upstreams if (pool.name, one.address) in drawn]
        lines = _lines(settings.rules(pool.name))
        name = harmless(pool.name, NAME)
        parts = (rows[place : place + PER_FIGURE] for place in range(0, len(rows), PER_FIGURE))
        figures += [{"pool": name, "lines": lines, "upstreams": part} for part in parts]
    return {
        "start": period.start,
        "end": period.end,
        "offset": 0.0 if offset is None else offset.total_seconds(),
        "routes": points.routes,
        "figures": figures,
    }


def _drawn(view: View, decisions: Sequence[Decision]) -> list[tuple[str, str]]:
    """Choose the upstreams that are drawn, the most interesting first."""
    decided = {(one.pool, one.upstream) for one in decisions}
    names = [(pool.name, one) for pool in view.pools for one in pool.upstreams]
    names.sort(key=lambda item: ((item[0], item[1].address) not in decided, -sum(item[1].bad_total.values())))
    return [(pool, one.address) for pool, one in names[:MOST_DRAWN]]


def _row(
    pool: PoolView,
    one: UpstreamView,
    decisions: Sequence[Decision],
    period: Period,
    series: dict[tuple[str, str], list[dict[str, Any]]],
) -> dict[str, Any]:
    own = [two for two in decisions if two.upstream == one.address and two.pool == pool.name]
    return {
        "name": harmless(one.address, NAME),
        "spans": [[part.stage, part.since, part.until] for part in stretches(own, period) if part.stage is not Stage.SERVING],
        "decisions": [_decision(two, period) for two in own],
        "series": series.get((pool.name, one.address), []),
    }


def _decision(decision: Decision, period: Period) -> dict[str, Any]:
    return {
        "at": decision.at,
        "action": decision.action,
        "title": f"{moment(decision.at, period.zone)} {_ACTIONS[decision.action]}",
        "text": statement(decision),
        "evidence": list(_evidence(decision, period)),
    }


_ACTIONS = {
    Action.EJECT: "ejected",
    Action.READMIT: "readmitted",
    Action.WITHHELD: "withheld",
    Action.RECOVERED: "recovered",
}


def _evidence(decision: Decision, period: Period) -> Iterator[str]:
    """Name what a decision was taken on, one figure per line."""
    proof = decision.evidence
    yield f"reason: {decision.reason} ({decision.source})"
    if proof.counted:
        kinds = f" ({by_kind(proof.kinds)})" if proof.kinds else ""
        yield f"window: {proof.bad} bad of {proof.counted} counted{kinds}"
    if proof.peers is not None:
        yield f"peers: {proof.peers.bad} bad of {proof.peers.counted} counted"
    if proof.p is not None:
        yield f"chance that its peers would show this too: {proof.p:.2g}"
    if decision.action is Action.EJECT:
        yield "until: " + ("readmitted" if decision.until is None else moment(decision.until, period.zone))
        yield f"strikes before: {decision.strikes}"


def _series(key: Key, series: Series) -> dict[str, Any]:
    bad = key.verdict is Verdict.BAD
    return {
        "verdict": key.verdict,
        "kind": key.kind,
        "aside": key.aside,
        "shown": key.shown,
        "seen": series.seen,
        "kept": len(series),
        "ended": _packed(series.endings),
        "seconds": _packed(series.seconds),
        "status": _packed(series.statuses),
        "route": _packed(series.routes) if bad else "",
    }


def _packed(numbers: array[Any]) -> str:
    """Pack numbers in the order of bytes that browsers use."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return b64encode(numbers.tobytes()).decode()


def _lines(rules: PoolRules) -> list[dict[str, Any]]:
    """Return the thresholds of a pool that stand in a plot of header times, the default's first."""
    found: dict[tuple[str, float], list[str]] = {}
    for name, seconds, route in _thresholds(rules.bad):
        found.setdefault((name, seconds), []).append(route)
    lines = []
    for (name, seconds), routes in list(found.items())[:MOST_LINES]:
        where = "" if "" in routes else f" ({harmless(', '.join(routes), 40)})"
        lines.append({"name": name, "seconds": seconds, "text": f"{name} {duration(seconds)}{where}"})
    return lines


def _thresholds(rules: BadRules) -> Iterator[tuple[str, float, str]]:
    named = [("", rules.default), *((route_name(route), route.yardstick) for route in rules.routes)]
    for name, yardstick in named:
        if yardstick.slower_than is not None and yardstick.slower_than < inf and not yardstick.ignore:
            yield "slower_than", yardstick.slower_than, name
    for name, yardstick in named:
        if yardstick.abandoned_after and not yardstick.ignore:
            yield "abandoned_after", yardstick.abandoned_after, name


def route_name(route: Route) -> str:
    """Name a route by its patterns: `POST /api/*`."""
    return " ".join(",".join(some) for some in (route.methods, route.hosts, route.paths) if some)
