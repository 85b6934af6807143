"""How much of a pool was left serving at the worst moment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tailhealth.core.model import Action, Decision, Reason
from tailhealth.views.serving import LeastServing, least_serving, never_fewer
from tests.views.build import T0, UTC_ZONE, A, B, decision, pool, upstream

C = "10.0.0.3:8080"
THREE = pool(upstream(A), upstream(B), upstream(C))


def out(address: str, at: float, **more: object) -> Decision:
    """Eject an upstream."""
    return decision(Action.EJECT, Reason.RATIO, upstream=address, at=T0 + at, **more)


def back(address: str, at: float) -> Decision:
    """Readmit an upstream."""
    return decision(Action.READMIT, Reason.TIMER, upstream=address, at=T0 + at)


def test_the_worst_moment_is_found() -> None:
    """Two at once are worse than three one after the other, and the first such moment is told."""
    story = [out(A, 1), back(A, 2), out(B, 3), out(C, 4), back(B, 5), out(A, 6)]

    assert least_serving(THREE, story) == LeastServing("log", 1, 3, T0 + 4)


def test_nothing_out_is_all_serving() -> None:
    """Withheld decisions, other pools and unknown upstreams take nothing out."""
    story = [decision(Action.WITHHELD, Reason.SETTLE), out(B, 1, pool="other"), out("10.9.9.9:1", 2)]

    assert least_serving(THREE, story) == LeastServing("log", 3, 3, None)


def test_backups_and_weightless_ones_do_not_serve() -> None:
    """Only what carries load counts."""
    some = pool(upstream(A), upstream(B, backup=True), upstream(C, weight=0))

    assert least_serving(some, [])[1:3] == (1, 1)


@given(st.lists(st.tuples(st.sampled_from([A, B, C]), st.booleans()), max_size=30))
def test_it_is_the_least_of_all_moments(steps: list[tuple[str, bool]]) -> None:
    """It equals a naive count after each decision."""
    story = [(out if leave else back)(name, at) for at, (name, leave) in enumerate(steps)]
    outs: set[str] = set()
    counts = [3]
    for name, leave in steps:
        outs = outs | {name} if leave else outs - {name}
        counts.append(3 - len(outs))

    assert least_serving(THREE, story).serving == min(counts)


def test_it_is_said_in_a_sentence() -> None:
    """With one pool without its name, with several with it."""
    assert never_fewer([THREE], [out(A, 5)], UTC_ZONE) == ["Never fewer than 2 of 3 serving (first at 10:00:05)."]
    assert never_fewer([THREE, pool(upstream(A), name="b\x07")], [], UTC_ZONE) == [
        "log: never fewer than 3 of 3 serving.",
        r"b\x07: never fewer than 1 of 1 serving.",
    ]
