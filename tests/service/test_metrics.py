"""The state in Prometheus' words: names by convention, honest histograms, bounded labels, names that forge nothing."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from tailhealth.core.view import Standing
from tailhealth.service.header_times import BOUNDS
from tailhealth.service.inputs import InputView
from tailhealth.service.metrics import exposition, families
from tailhealth.service.status import Status
from tests.service.told import LOG, status, two_nodes
from tests.views.build import A, B, pool, upstream

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
PROMTOOL = shutil.which("promtool")


def samples(of: Status) -> Samples:
    """Return what a scraper reads: value by name and labels."""
    text = exposition(of).decode()
    found = [one for family in text_string_to_metric_families(text) for one in family.samples]
    keyed = {(one.name, frozenset(one.labels.items())): one.value for one in found}
    assert len(keyed) == len(found), "a series stands there twice"
    return keyed


def value(of: Samples, name: str, **labels: str) -> float:
    """Return one sample."""
    return of[f"tailhealth_{name}", frozenset(labels.items())]


def test_counters() -> None:
    """Counters end in `_total` and hold what the state holds, by outcome and kind."""
    found = samples(status())

    assert value(found, "attempts_total", pool="chat", upstream=B, outcome="good", kind="") == 100
    assert value(found, "attempts_total", pool="chat", upstream=B, outcome="bad", kind="abandoned") == 5
    assert value(found, "attempts_total", pool="chat", upstream=B, outcome="ignored", kind="busy") == 2
    assert value(found, "ejections_total", pool="chat", upstream=B) == 2
    assert value(found, "out_seconds_total", pool="chat", upstream=B) == 61.5
    assert value(found, "decisions_total", pool="chat", action="eject", reason="ratio", enforced="true") == 2
    assert value(found, "applies_total", result="failed") == 1
    assert value(found, "late_lines_total") == 7
    assert value(found, "unmanaged_attempts_total") == 4
    assert value(found, "log_lines_total", log=LOG) == 1234
    assert value(found, "log_skipped_lines_total", log=LOG, reason="not_json") == 3
    assert value(found, "log_gaps_total", log=LOG) == 1
    assert value(found, "journal_lost_records_total") == 2


def test_states() -> None:
    """Exactly one state of an upstream is 1, and a guard that keeps one in is named."""
    found = samples(status())

    states = {state: value(found, "upstream_state", pool="chat", upstream=B, state=state) for state in Standing}
    assert states == {state: float(state is Standing.OUT) for state in Standing}
    assert value(found, "withheld", pool="chat", upstream=A, reason="max_ejected") == 1
    assert [key for key in found if key[0] == "tailhealth_withheld"] == [
        ("tailhealth_withheld", frozenset({"pool": "chat", "upstream": A, "reason": "max_ejected"}.items()))
    ]
    assert value(found, "stalled", pool="chat", upstream=B) == 3
    assert value(found, "strikes", pool="chat", upstream=B) == 1
    assert value(found, "pool_blind", pool="chat") == 1
    assert value(found, "pool_paused", pool="chat") == 0
    assert value(found, "pool_enforced", pool="chat") == 1
    assert value(found, "condition", kind="generator", pool="chat") == 1
    assert value(found, "condition", kind="no_proxy", pool="") == 1


def test_what_is_not_known_is_absent() -> None:
    """A proxy that does not tell its requests in flight has no such series: 0 would be a lie. So has a log without a line."""
    found = samples(status(inputs=(InputView(LOG, "waiting", "there is no such file", 0, {}, None, None, 0, {}),)))

    assert value(found, "in_flight", pool="chat", upstream=B) == 3
    assert ("tailhealth_in_flight", frozenset({("pool", "chat"), ("upstream", A)})) not in found
    assert not [key for key in found if key[0] == "tailhealth_log_lag_seconds"]
    assert value(found, "log_readable", log=LOG) == 0
    assert value(samples(status()), "log_readable", log=LOG) == 1


def test_the_histogram_is_cumulated() -> None:
    """Each bucket counts all that took no longer; the last is the count, and the sum is that of the times."""
    found = samples(status())

    buckets = [value(found, "header_seconds_bucket", pool="chat", upstream=A, le=str(le)) for le in (*BOUNDS, "+Inf")]
    assert buckets == [0.0, 2.0, *[3.0] * (len(BOUNDS) - 2), 7.0]
    assert value(found, "header_seconds_count", pool="chat", upstream=A) == 7
    assert value(found, "header_seconds_sum", pool="chat", upstream=A) == 2650.5


def test_names_follow_the_convention() -> None:
    """One prefix, lower case, base units; counters and only they end in `_total`; each help text is a sentence."""
    for family in families(status()):
        assert re.fullmatch(r"tailhealth_[a-z]+(_[a-z]+)*", family.name)
        assert family.documentation[0].isupper() or family.documentation[0].isdigit()
        assert family.documentation.endswith(".")
        assert not re.search(r"_(ms|milliseconds|count|sum|bucket|total)$", family.name)
        assert {one.name for one in family.samples if one.name.endswith("_total")} == (
            {f"{family.name}_total"} if family.type == "counter" and family.samples else set()
        )
        assert not any(label.startswith("__") for one in family.samples for label in one.labels)


@pytest.mark.outside
@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_promtool_finds_nothing_to_say() -> None:
    """Prometheus' own linter takes the exposition."""
    assert PROMTOOL is not None
    done = subprocess.run(
        [PROMTOOL, "check", "metrics"], input=exposition(status()), capture_output=True, timeout=30, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_series_are_bounded_by_the_pools() -> None:
    """No client, path or stranger makes a series: their number depends on pools, upstreams, logs and closed sets alone."""
    quiet = status()
    busy = status(
        view=quiet.view.__class__(
            at=quiet.view.at,
            attempts=10**9,
            late_lines=10**6,
            unmanaged_attempts=10**6,
            unmanaged=tuple(f"203.0.113.{number}:80" for number in range(20)),
            pools=quiet.view.pools,
        )
    )
    kinds = {f"{kind}": 1 for kind in ("status", "slow", "refused", "timed_out", "no_answer", "abandoned", "truncated")}
    worst = upstream(bad_total=kinds, ignored_total={"busy": 1})

    assert samples(busy).keys() == samples(quiet).keys()
    assert b"203.0.113" not in exposition(busy)
    one, ten = (
        len(samples(status(pool(*(upstream(f"10.0.0.{n}:1") for n in range(many))), header_times=()))) for many in (1, 10)
    )
    assert (ten - one) % 9 == 0
    assert len(samples(status(pool(worst), header_times=()))) - one == len(kinds) + 1


hostile = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)


@settings(max_examples=50)
@given(hostile, hostile)
def test_a_hostile_name_forges_nothing(name: str, address: str) -> None:
    """Quotes, backslashes and line feeds in a name stay in its label: the series are those of a harmless one."""
    harmless = samples(status(pool(upstream(A), name="chat"), header_times=(), conditions=(), decided=()))
    found = samples(status(pool(upstream(address), name=name), header_times=(), conditions=(), decided=()))

    def plain(labels: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        read = dict(labels)
        if "pool" in read:
            assert read["pool"] == name
            read["pool"] = "chat"
        if "upstream" in read:
            assert read["upstream"] == address
            read["upstream"] = A
        return frozenset(read.items())

    assert {(key, plain(labels)): one for (key, labels), one in found.items()} == harmless


def test_a_name_that_looks_like_samples() -> None:
    """The text of an exposition in a pool's name is a label and nothing else."""
    name = 'x"} 1\ntailhealth_ejections_total{pool="chat",upstream="forged"} 9\n# HELP evil \\'
    text = exposition(status(two_nodes(name))).decode()

    assert "forged" not in {
        one.labels.get("upstream") for family in text_string_to_metric_families(text) for one in family.samples
    }
    assert not [line for line in text.splitlines() if line.startswith('tailhealth_ejections_total{pool="chat"')]
    assert "# HELP evil" not in [line[:11] for line in text.splitlines()]
