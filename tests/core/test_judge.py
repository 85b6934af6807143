"""What counts as bad (DESIGN section 4): both sides of every limit, and which kind wins."""

from __future__ import annotations

import pytest

from tailhealth.core.judge import has_header, judge
from tailhealth.core.model import Attempt, End, Kind, Origin, Outcome, Verdict
from tailhealth.core.rules import BadRules, Route, Yardstick
from tests.core.harness import attempt, silent

MIB = 1 << 20
GOOD = Outcome(Verdict.GOOD)


def bad(kind: Kind) -> Outcome:
    """Return a bad outcome."""
    return Outcome(Verdict.BAD, kind)


def ignored(kind: Kind) -> Outcome:
    """Return an ignored outcome."""
    return Outcome(Verdict.IGNORED, kind)


def judged(one: Attempt, **yardstick: object) -> Outcome:
    """Judge by the default yardstick with some keys replaced."""
    return judge(one, BadRules(default=Yardstick(**yardstick)))  # type: ignore[arg-type]  # keywords of Yardstick


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (499, GOOD),
        (500, bad(Kind.STATUS)),
        (501, GOOD),
        (504, bad(Kind.STATUS)),
        (505, GOOD),
        (599, bad(Kind.STATUS)),
        (404, GOOD),
    ],
)
def test_status(status: int, expected: Outcome) -> None:
    """By default 5xx is bad but for the two that are the client's matter."""
    assert expected == judged(attempt("a", 1.0, status=status))


def test_grpc_status() -> None:
    """A gRPC failure is an HTTP 200; it counts only where the rule is on."""
    failed = attempt("a", 1.0, grpc_status=14)

    assert bad(Kind.GRPC) == judged(failed, grpc_status=frozenset({14}))
    assert judged(attempt("a", 1.0, grpc_status=5), grpc_status=frozenset({14})) == GOOD
    assert judged(failed) == GOOD


@pytest.mark.parametrize(("header", "expected"), [(119.9375, GOOD), (120.0, bad(Kind.SLOW))])
def test_slower_than_takes_the_header_time(header: float, expected: Outcome) -> None:
    """An answer is slow from exactly `slower_than` on."""
    assert expected == judged(attempt("a", 1.0, header=header))


def test_a_long_body_is_not_slow() -> None:
    """Only the header time is latency; the whole duration may be an hour."""
    assert judged(attempt("a", 1.0, header=1.0, took=3600.0)) == GOOD


@pytest.mark.parametrize(("own", "expected"), [(119.9375, GOOD), (120.0, bad(Kind.SLOW))])
def test_without_a_header_time_the_upstreams_own_duration_serves(own: float, expected: Outcome) -> None:
    """Where the log has no header time, the upstream's whole duration is judged instead."""
    one = attempt("a", 1.0, header=None, took=500.0, header_came=None, own_duration=own)

    assert expected == judged(one)


@pytest.mark.parametrize("one", [
    attempt("a", 1.0, header=None, took=500.0, header_came=None),
    attempt("a", 1.0, header=None, took=500.0, header_came=None, own_duration=500.0, stream=True),
    attempt("a", 1.0, header=None, took=500.0, header_came=None, own_duration=500.0, status=101),
])  # fmt: skip
def test_unknown_latency_is_not_judged(one: Attempt) -> None:
    """The proxy's duration, a stream's and a switched connection's say nothing about latency."""
    assert judged(one) == GOOD


def test_a_switched_connection_is_judged_by_its_header_time() -> None:
    """101 is good whatever its lifetime, and slow by its handshake."""
    assert judged(attempt("a", 1.0, status=101, header=0.5, took=9000.0), total_slower_than=60.0) == GOOD
    assert bad(Kind.SLOW) == judged(attempt("a", 1.0, status=101, header=120.0, took=9000.0))


@pytest.mark.parametrize(("size", "expected"), [(MIB - 1, bad(Kind.SLOW)), (MIB, GOOD)])
def test_uploads_are_not_slow(size: int, expected: Outcome) -> None:
    """From 1 MiB of request body on, the header time measures the client's upload."""
    assert expected == judged(attempt("a", 1.0, header=300.0, body_bytes=size))
    assert bad(Kind.SLOW) == judged(attempt("a", 1.0, header=300.0, body_bytes=size), uploads=True)


@pytest.mark.parametrize(("size", "expected"), [(MIB - 1, bad(Kind.ABANDONED)), (MIB, ignored(Kind.ABANDONED_EARLY))])
def test_abandoned_uploads_say_nothing(size: int, expected: Outcome) -> None:
    """From 1 MiB of request body on, a client that gives up may have been slow itself."""
    assert expected == judged(silent("a", 1.0, End.ABANDONED, 300.0, body_bytes=size))
    assert bad(Kind.ABANDONED) == judged(silent("a", 1.0, End.ABANDONED, 300.0, body_bytes=size), uploads=True)


@pytest.mark.parametrize(("waited", "expected"), [(59.9375, ignored(Kind.ABANDONED_EARLY)), (60.0, bad(Kind.ABANDONED))])
def test_abandoned_after(waited: float, expected: Outcome) -> None:
    """A client that waited long enough proves something, an impatient one does not."""
    assert expected == judged(silent("a", 1.0, End.ABANDONED, waited))


def test_abandoned_after_off() -> None:
    """With the rule off no abandoned request is bad."""
    assert ignored(Kind.ABANDONED_EARLY) == judged(silent("a", 1.0, End.ABANDONED, 9999.0), abandoned_after=None)


@pytest.mark.parametrize(("took", "expected"), [(59.9375, GOOD), (60.0, bad(Kind.TOTAL_SLOW))])
def test_total_slower_than(took: float, expected: Outcome) -> None:
    """The whole duration counts where the rule is on, from exactly its limit."""
    assert expected == judged(attempt("a", 1.0, took=took), total_slower_than=60.0)
    assert expected == judged(attempt("a", 1.0, took=took, end=End.CUT), total_slower_than=60.0)


def test_total_slower_than_holds_for_whoever_ended_it() -> None:
    """An attempt that reached the limit is bad even if its client gave up sooner than `abandoned_after`."""
    assert bad(Kind.TOTAL_SLOW) == judged(silent("a", 1.0, End.ABANDONED, 40.0), total_slower_than=40.0)
    assert ignored(Kind.ABANDONED_EARLY) == judged(silent("a", 1.0, End.ABANDONED, 39.5), total_slower_than=40.0)


@pytest.mark.parametrize(
    ("end", "kind", "key"),
    [(End.REFUSED, Kind.REFUSED, "refused"), (End.TIMED_OUT, Kind.TIMED_OUT, "timed_out")],
)
def test_refused_and_timed_out(end: End, kind: Kind, key: str) -> None:
    """Both are bad while their rule is on; off, they are no outcome: nothing shows that the node is well."""
    assert bad(kind) == judged(silent("a", 1.0, end, 2.0))
    assert Verdict.IGNORED is judged(silent("a", 1.0, end, 2.0), **{key: False}).verdict


def test_truncated() -> None:
    """A body that the upstream broke off is bad; with the rule off its header makes it good."""
    broken = attempt("a", 1.0, end=End.TRUNCATED)

    assert bad(Kind.TRUNCATED) == judged(broken)
    assert judged(broken, truncated=False) == GOOD


def test_no_answer_whatever_the_client_got() -> None:
    """`handle_errors` can serve a 200 for a dead node: no header came, so it is bad."""
    assert bad(Kind.NO_ANSWER) == judged(attempt("a", 1.0, status=None, header=None, took=0.5))
    assert bad(Kind.NO_ANSWER) == judged(attempt("a", 1.0, status=200, header=None, took=0.5))


def test_a_client_that_leaves_after_the_header() -> None:
    """Cut: good by its header; known only from the broken body's line, it is the client's doing."""
    assert judged(attempt("a", 1.0, end=End.CUT)) == GOOD
    assert ignored(Kind.CLIENT_LEFT) == judged(attempt("a", 1.0, end=End.CUT, header=None, origin=Origin.BROKEN_BODY))


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (attempt("a", 1.0, status=429), ignored(Kind.BUSY)),
        (attempt("a", 1.0, status=429, header=300.0), ignored(Kind.BUSY)),
        (attempt("a", 1.0, status=503, retry_after=True), ignored(Kind.BUSY)),
        (attempt("a", 1.0, status=503), bad(Kind.STATUS)),
    ],
)
def test_busy_is_neither_good_nor_bad(one: Attempt, expected: Outcome) -> None:
    """429 says busy always, 503 only with Retry-After; a slow one is busy too."""
    assert expected == judged(one)


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (attempt("a", 1.0, status=500, grpc_status=14, header=300.0, took=400.0), Kind.STATUS),
        (attempt("a", 1.0, grpc_status=14, header=300.0, took=400.0), Kind.GRPC),
        (attempt("a", 1.0, header=300.0, took=400.0, end=End.TRUNCATED), Kind.SLOW),
        (attempt("a", 1.0, header=1.0, took=400.0, end=End.TRUNCATED), Kind.TOTAL_SLOW),
        (silent("a", 1.0, End.TIMED_OUT, 400.0), Kind.TOTAL_SLOW),
        (silent("a", 1.0, End.TIMED_OUT, 100.0), Kind.TIMED_OUT),
    ],
)
def test_the_first_kind_wins(one: Attempt, kind: Kind) -> None:
    """Where several rules are broken, the first of the closed set names the outcome."""
    assert bad(kind) == judged(one, grpc_status=frozenset({14}), total_slower_than=200.0)


def test_the_first_route_that_matches_judges() -> None:
    """Routes are asked in order, by method, host and path without its query; the rest falls to the default."""
    chat = Route(Yardstick(slower_than=10.0), methods=("POST",), hosts=("*.example.com",), paths=("/api/*",))
    probes = Route(Yardstick(ignore=True), paths=("/api/version",))
    routes = BadRules(routes=(chat, probes))
    slow = attempt("a", 1.0, header=10.0, method="POST", host="LLM.example.com", uri="/api/chat?key=secret")

    assert bad(Kind.SLOW) == judge(slow, routes)
    assert judge(attempt("a", 1.0, header=10.0, method="GET", host="llm.example.com", uri="/api/chat"), routes) == GOOD
    assert judge(attempt("a", 1.0, header=10.0, method="POST", host="example.com", uri="/api/chat"), routes) == GOOD
    assert ignored(Kind.ROUTE) == judge(attempt("a", 1.0, status=500, uri="/api/version?x"), routes)
    assert bad(Kind.STATUS) == judge(attempt("a", 1.0, status=500, uri="/other"), routes)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (attempt("a", 1.0, header=None, header_came=None), True),
        (attempt("a", 1.0, header=None, header_came=False), False),
        (attempt("a", 1.0, header=None, header_came=None, end=End.ABANDONED), False),
        (attempt("a", 1.0, header=None, header_came=None, end=End.REFUSED), False),
        (attempt("a", 1.0, header=None, header_came=None, end=End.TIMED_OUT), False),
        (attempt("a", 1.0, header=None, header_came=None, end=End.CUT), True),
        (attempt("a", 1.0, header=None, header_came=None, end=End.TRUNCATED), True),
    ],
)
def test_has_header(one: Attempt, expected: bool) -> None:
    """What the log proves counts; where it can't tell, the end does."""
    assert expected is has_header(one)
