"""Measures a log, proposes thresholds, and asks the same log what they would have done (DESIGN section 9, `calibrate`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tailhealth.config import STDIN, Config
from tailhealth.core.measure import Measuring, Place
from tailhealth.core.model import Action, Decision
from tailhealth.core.propose import candidates, propose
from tailhealth.core.quiet import too_quiet
from tailhealth.core.rules import Settings
from tailhealth.core.variants import neutral, unguarded, with_slower_than
from tailhealth.core.view import view
from tailhealth.logs.stream import Progress
from tailhealth.service.pipeline import Replay
from tailhealth.service.replaying import Past, Rules, configured_pools
from tailhealth.views.calibration import Calibration, Done, Tried
from tailhealth.views.serving import least_serving

MOST_PLACES = 6
"""For so many places, those with the most healthy answers, other values are tried too."""


def calibrate(
    config: Config, paths: Sequence[str], *, values: Sequence[float] = (), progress: Progress | None = None
) -> Calibration:
    """Measure logs of the past, and replay them with what follows from it.

    Args:
        config: How lines are read, the routes, and the rules for the replay.
        paths: Files and folders; `-` is standard input, which can't be replayed.
        values: More values of `slower_than` to try, in seconds.
        progress: Told of bytes read and bytes in all.

    Raises:
        LogError: A log can't be read.
    """
    settings = config.settings()
    measuring = Measuring(settings)
    past = Past(config, paths, observe=measuring.observe, settings=neutral(settings), progress=progress)
    for _ in past.decisions():
        pass  # the neutral rules eject nothing; what counts are the attempts
    engine = past.replay.engine
    proposed = propose(measuring.places)
    again = bool(measuring.places) and STDIN not in paths
    trials = list(_trials(measuring, proposed, values)) if again else []
    done, tried = _replay(_Log(config, paths, progress), proposed, trials) if again else (None, {})
    hints = [*past.notes, *past.tally.hints.values()]
    if STDIN in paths:
        hints.append("standard input can't be read twice: what the proposed values would have done is not known")
    return Calibration(
        start=min(past.started_at, engine.now),
        end=engine.now,
        places=measuring.places,
        settings=settings,
        proposed=proposed,
        too_quiet=too_quiet(engine.pools.values(), engine.now, past.started_at),
        done=done,
        tried=tried,
        lines=past.tally.lines,
        notes=tuple(hints),
        upstreams={pool.name: tuple(pool.members) for pool in engine.pools.values()},
    )


class _Log(NamedTuple):
    """What is replayed."""

    config: Config
    paths: Sequence[str]
    progress: Progress | None


def _replay(
    log: _Log, proposed: dict[Place, float], trials: Sequence[tuple[Place, float]]
) -> tuple[Done | None, dict[Place, tuple[Tried, ...]]]:
    """Replay the log once, with an engine for the proposed values and one for each value that is tried."""
    config, paths, progress = log
    settings, pools = config.settings(), configured_pools(config)
    limits = {(place.pool, place.route): seconds for place, seconds in proposed.items()}
    others = [Rules(_trial(settings, place, seconds), pools) for place, seconds in trials]
    past = Past(config, paths, settings=with_slower_than(settings, limits), others=others, progress=progress)
    decisions: list[list[Decision]] = [[] for _ in range(1 + len(trials))]
    for index, decision in past.compared():
        decisions[index].append(decision)
    tried: dict[Place, tuple[Tried, ...]] = {}
    for (place, seconds), replay, own in zip(trials, past.others, decisions[1:], strict=True):
        tried[place] = (*tried.get(place, ()), _tried(replay, place, seconds, own))
    return (_done(past.replay, decisions[0]) if proposed else None), tried


def _trial(settings: Settings, place: Place, seconds: float) -> Settings:
    return unguarded(with_slower_than(settings, {(place.pool, place.route): seconds}))


def _trials(measuring: Measuring, proposed: dict[Place, float], values: Sequence[float]) -> Iterator[tuple[Place, float]]:
    places = [place for place in measuring.places if not place.upload and measuring.places[place].spread.count]
    places.sort(key=lambda place: -measuring.places[place].spread.count)
    for place in places[:MOST_PLACES]:
        found = {*candidates(measuring.places[place].spread), *values}
        if place in proposed:
            found.add(proposed[place])
        yield from ((place, seconds) for seconds in sorted(found))


def _done(replay: Replay, decisions: Sequence[Decision]) -> Done:
    ejected = [one for one in decisions if one.action is Action.EJECT]
    shown = view(replay.engine, replay.engine.now)
    upstreams = [one for pool in shown.pools for one in pool.upstreams]
    return Done(
        ejections=len(ejected),
        upstreams=tuple(dict.fromkeys(one.upstream for one in ejected)),
        avoided_bad=sum(one.avoided_bad for one in upstreams),
        lost_good=sum(one.lost_good for one in upstreams),
    )


def _tried(replay: Replay, place: Place, seconds: float, decisions: Sequence[Decision]) -> Tried:
    shown = view(replay.engine, replay.engine.now)
    pool = next(one for one in shown.pools if one.name == place.pool)
    least = least_serving(pool, decisions)
    return Tried(seconds, least.of - least.serving, least.of)
