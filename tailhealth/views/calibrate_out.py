"""What `calibrate` hands to scripts and to the configuration file: a JSON object, a TOML fragment. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from typing import Any

import msgspec

from tailhealth.config import Config, format_duration
from tailhealth.core.measure import Place
from tailhealth.core.quiet import TooQuiet
from tailhealth.core.rules import Route
from tailhealth.core.spread import Spread
from tailhealth.views.calibrate import done, heading, longest, own_route, reason, tried
from tailhealth.views.calibration import Calibration, own_routes, warnings
from tailhealth.views.records import VERSION
from tailhealth.views.report_data import route_name
from tailhealth.views.text import harmless, short


def calibration_record(found: Calibration, zone: tzinfo) -> dict[str, Any]:
    """Return the object of `calibrate --json`; all durations are seconds."""
    return {
        "v": VERSION,
        "calibration": {
            "lines": found.lines,
            "start": found.start if found.places else None,
            "end": found.end if found.places else None,
            "places": [_place_record(found, place) for place in found.places],
            "proposed_would": msgspec.to_builtins(found.done),
            "too_little_traffic": msgspec.to_builtins(found.too_quiet),
            "warnings": warnings(found, zone),
            "notes": list(found.notes),
        },
    }


def _place_record(found: Calibration, place: Place) -> dict[str, Any]:
    measure = found.places[place]
    route = None if place.route is None else found.settings.rules(place.pool).bad.routes[place.route]
    proposed = found.proposed.get(place)
    return {
        "pool": place.pool,
        "route": None if route is None else route_name(route),
        "uploads": place.upload,
        "healthy": _spread_record(measure.spread),
        "longest": msgspec.to_builtins(measure.longest._asdict()) if measure.spread.count else None,
        "without_header_time": measure.unknown,
        "abandoned": measure.abandoned.count,
        "slower_than": found.yardstick(place).slower_than,
        "proposed": proposed,
        "margin": None if proposed is None else round(proposed / measure.spread.longest, 3),
        "tried": [
            {"slower_than": one.seconds, "removed": one.removed, "of": one.of, "healthy_share": round(share, 4)}
            for one in found.tried.get(place, ())
            for share in [measure.spread.share_from(one.seconds)]
        ],
        "upstreams": {name: _spread_record(spread) for name, spread in sorted(measure.upstreams.items())},
        "paths": {harmless(name): _spread_record(spread) for name, spread in sorted(measure.paths.items())},
        "own_routes": [{"path": harmless(one.path), "slower_than": one.slower_than} for one in own_routes(found, place)],
    }


def _spread_record(spread: Spread) -> dict[str, Any]:
    figures = {f"p{share}": round(spread.percentile(share / 100), 6) if spread.count else None for share in (50, 95, 99)}
    return {"answers": spread.count, **figures, "longest": round(spread.longest, 6) if spread.count else None}


# TOML


def fragment(found: Calibration, config: Config, zone: tzinfo) -> str:
    """Write the proposals as a part of a configuration file, with what was measured as comments.

    It is a valid configuration by itself: a pool with a table has what that table is matched by.
    """
    lines = [f"# {heading(found, zone)}", *(f"# {line}" for line in _comments(done(found)))]
    lines += [f"# Mind: {line}" for line in warnings(found, zone)]
    for pool in dict.fromkeys([*(place.pool for place in found.places), *(one.pool for one in found.too_quiet)]):
        places = [place for place in found.places if place.pool == pool and not place.upload]
        lines += _pool(found, config, pool, places, zone)
    return "\n".join(lines) + "\n"


def _comments(text: str) -> list[str]:
    return [text] if text else []


def _pool(found: Calibration, config: Config, pool: str, places: Sequence[Place], zone: tzinfo) -> Iterator[str]:
    """Write the tables of one pool: at the top of the file, unless the configuration has a table for it."""
    quiet = next((one for one in found.too_quiet if one.pool == pool and one.proposed is not None), None)
    by_route = {place.route: place for place in places if place in found.proposed}
    if not by_route and quiet is None:
        return
    prefix = ""
    if pool in config.pool:
        prefix = f"pool.{_quoted(pool)}."
        yield from ["", f"[{prefix[:-1]}]", *_matched_by(config, pool)]
    if by_route:
        yield from ["", f"[{prefix}bad]"]
        yield from _value(found, by_route[None], zone) if None in by_route else ()
        yield from _routes(found, pool, by_route, prefix, zone)
    yield from _within(quiet, prefix)


def _matched_by(config: Config, pool: str) -> Iterator[str]:
    table = config.pool[pool]
    for key in ("upstreams", "host", "path"):
        values = getattr(table, key)
        if values:
            yield f"{key} = [{', '.join(map(_quoted, values))}]"
    if table.id is not None:
        yield f"id = {_quoted(table.id)}"


def _value(found: Calibration, place: Place, zone: tzinfo) -> Iterator[str]:
    """Write one `slower_than` with its figures."""
    spread = found.places[place].spread
    figures = ", ".join(f"p{share} {short(spread.percentile(share / 100))}" for share in (50, 95, 99))
    yield f"# Measured: {figures}; the longest {longest(found, place, zone)}."
    for one in found.tried.get(place, ()):
        if one.seconds <= spread.longest:
            yield f"# Rejected: {tried(one, spread).strip()}."
    yield f"# {reason(found, place)}."
    yield f"slower_than = {_quoted(format_duration(found.proposed[place]))}"
    for own in own_routes(found, place):
        yield f"# {own_route(own)}."


def _routes(found: Calibration, pool: str, by_route: dict[int | None, Place], prefix: str, zone: tzinfo) -> Iterator[str]:
    """Write the routes in their order: the first that matches wins, so none of them may be left out."""
    routes = found.settings.rules(pool).bad.routes
    if not any(index in by_route for index in range(len(routes))):
        return
    for index, route in enumerate(routes):
        yield from ["", f"[[{prefix}bad.route]]", *_patterns(route)]
        if route.yardstick.ignore:
            yield "ignore = true"
        elif index in by_route:
            yield from _value(found, by_route[index], zone)


def _patterns(route: Route) -> Iterator[str]:
    for key, values in (("method", route.methods), ("host", route.hosts), ("path", route.paths)):
        if values:
            yield f"{key} = [{', '.join(map(_quoted, values))}]"


def _within(quiet: TooQuiet | None, prefix: str) -> Iterator[str]:
    if quiet is None or quiet.proposed is None:
        return
    names = ", ".join(map(harmless, quiet.upstreams))
    yield from ["", f"[{prefix}window]"]
    yield f"# Fewer than {quiet.min_requests} requests counted within {format_duration(quiet.within)} at {names}."
    yield f"within = {_quoted(format_duration(quiet.proposed))}"


def _quoted(text: str) -> str:
    """Write a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
