"""The state of a running controller in Prometheus' words. A pure function of `Status`; labels are bounded by the pools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from tailhealth import __version__
from tailhealth.core.view import PoolView, Standing, UpstreamView
from tailhealth.service.header_times import BOUNDS
from tailhealth.service.status import Status

PREFIX = "tailhealth_"
_UPSTREAM = ("pool", "upstream")


def exposition(status: Status) -> bytes:
    """Write the state in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Collected(status))
    return generate_latest(registry)


def families(status: Status) -> Iterator[Metric]:
    """Return every metric with its samples."""
    yield _gauge("build_info", "The version that runs.", ("version",), [((__version__,), 1)])
    yield _gauge("start_time_seconds", "When this run began, in epoch seconds.", (), [((), status.started)])
    yield from _of_upstreams(status)
    yield from _of_pools(status)
    yield from _of_logs(status)
    decided = [((one.pool, one.action, one.reason, str(one.enforced).lower()), one.count) for one in status.decided]
    yield _counter("decisions", "Decisions taken.", ("pool", "action", "reason", "enforced"), decided)
    applies = [((result,), count) for result, count in sorted(status.applies.items())]
    yield _counter("applies", "Changes sent to the proxy, by result.", ("result",), applies)
    conditions = [((one.kind.value, one.pool or ""), 1) for one in status.conditions]
    yield _gauge("condition", "1 for each thing that is not as it should be.", ("kind", "pool"), conditions)
    yield _counter("journal_lost_records", "Records that could not be written to the journal.", (), [((), status.journal_lost)])


def _of_upstreams(status: Status) -> Iterator[Metric]:
    pairs = [(pool, one) for pool in status.view.pools for one in pool.upstreams]
    attempts = [(key, count) for pool, one in pairs for key, count in _attempts(pool, one)]
    yield _counter("attempts", "Attempts by outcome and kind.", (*_UPSTREAM, "outcome", "kind"), attempts)
    states = [((pool.name, one.address, state.value), int(one.standing is state)) for pool, one in pairs for state in Standing]
    yield _gauge("upstream_state", "1 for where the upstream stands, 0 for the other states.", (*_UPSTREAM, "state"), states)
    withheld = [((pool.name, one.address, one.withheld), 1) for pool, one in pairs if one.withheld is not None]
    yield _gauge("withheld", "1 while a guard keeps an upstream in that tripped.", (*_UPSTREAM, "reason"), withheld)
    in_flight = [(_names(pool, one), one.in_flight) for pool, one in pairs if one.in_flight is not None]
    yield _gauge("in_flight", "Requests in flight as the proxy counts them.", _UPSTREAM, in_flight)
    yield _gauge(
        "stalled", "Requests in flight that are stuck.", _UPSTREAM, [(_names(pool, one), one.stalled) for pool, one in pairs]
    )
    yield _gauge("strikes", "Ejections in memory.", _UPSTREAM, [(_names(pool, one), one.strikes) for pool, one in pairs])
    ejections = [(_names(pool, one), one.ejections) for pool, one in pairs]
    yield _counter("ejections", "Ejections, observed ones included.", _UPSTREAM, ejections)
    out = [(_names(pool, one), one.out_seconds) for pool, one in pairs]
    yield _counter("out_seconds", "Time out of rotation.", _UPSTREAM, out)
    yield _header_times(status)


def _attempts(pool: PoolView, one: UpstreamView) -> Iterator[tuple[tuple[str, ...], float]]:
    yield (*_names(pool, one), "good", ""), one.good_total
    for kind, count in sorted(one.bad_total.items()):
        yield (*_names(pool, one), "bad", kind), count
    for kind, count in sorted(one.ignored_total.items()):
        yield (*_names(pool, one), "ignored", kind), count


def _names(pool: PoolView, one: UpstreamView) -> tuple[str, str]:
    return pool.name, one.address


def _header_times(status: Status) -> Metric:
    family = HistogramMetricFamily(
        f"{PREFIX}header_seconds", "Time to the response header, of counted attempts.", labels=_UPSTREAM
    )
    bounds = [*map(str, BOUNDS), "+Inf"]
    for one in status.header_times:
        buckets = list(zip(bounds, map(float, accumulate(one.counts)), strict=True))
        family.add_metric((one.pool, one.upstream), buckets, one.total)
    return family


def _of_pools(status: Status) -> Iterator[Metric]:
    pools = status.view.pools
    yield _gauge(
        "pool_enforced", "1 where decisions are applied, 0 where they are only observed.", ("pool",), _each(pools, "enforced")
    )
    yield _gauge("pool_paused", "1 while the operator paused ejections.", ("pool",), _each(pools, "paused"))
    blind = [((pool.name,), int(bool(pool.blind))) for pool in pools]
    yield _gauge("pool_blind", "1 while the input of the pool can't be trusted.", ("pool",), blind)
    yield _counter("late_lines", "Lines that came later than `lateness`.", (), [((), status.view.late_lines)])
    unmanaged = [((), status.view.unmanaged_attempts)]
    yield _counter("unmanaged_attempts", "Attempts at addresses that no pool has.", (), unmanaged)


def _each(pools: Iterable[PoolView], name: str) -> list[tuple[tuple[str, ...], float]]:
    return [((pool.name,), int(getattr(pool, name))) for pool in pools]


def _of_logs(status: Status) -> Iterator[Metric]:
    inputs = status.inputs
    yield _counter("log_lines", "Lines read.", ("log",), [((one.path,), one.lines) for one in inputs])
    skipped = [((one.path, reason), count) for one in inputs for reason, count in sorted(one.skipped.items())]
    yield _counter("log_skipped_lines", "Lines that could not be used.", ("log", "reason"), skipped)
    yield _counter("log_gaps", "Places where lines were lost.", ("log",), [((one.path,), one.gaps) for one in inputs])
    late = [((one.path,), one.late_by) for one in inputs if one.late_by is not None]
    yield _gauge("log_lag_seconds", "Age of the newest line when it was read.", ("log",), late)
    readable = [((one.path,), int(one.state == "following")) for one in inputs]
    yield _gauge("log_readable", "1 while the log is being followed.", ("log",), readable)


_Samples = Iterable[tuple[tuple[str, ...], float]]


def _gauge(name: str, text: str, labels: tuple[str, ...], samples: _Samples) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def _counter(name: str, text: str, labels: tuple[str, ...], samples: _Samples) -> Metric:
    family = CounterMetricFamily(PREFIX + name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


class _Collected(Collector):
    def __init__(self, status: Status) -> None:
        self._status = status

    def collect(self) -> Iterable[Metric]:
        return families(self._status)
