"""What a journal tells of one upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailhealth.core.model import Action, Decision, Evidence, Pool, PoolMember, Pools, Reason, Source, Started
from tailhealth.service.account import Drift, telling
from tailhealth.service.journal import Journal, Reading

if TYPE_CHECKING:
    from pathlib import Path

A, B = "a:1", "b:1"


def pools(at: float, name: str = "p", members: tuple[str, ...] = (A, B)) -> Pools:
    """Name a pool."""
    return Pools(at, (Pool(name, tuple(map(PoolMember, members))),))


def ejected(at: float, upstream: str = A, pool: str = "p") -> Decision:
    """Eject for 30 seconds."""
    return Decision(
        at, pool, upstream, Action.EJECT, Reason.RATIO, Source.POLICY, enforced=True, until=at + 30, strikes=0,
        evidence=Evidence(8, 6, {"status": 6}),
    )  # fmt: skip


def change(pool: str = "p", out: tuple[str, ...] = (), limited: dict[str, int] | None = None) -> dict[str, Any]:
    """Make what is told of one place of a change."""
    return {"pool": pool, "place": "x", "out": list(out), "limited": limited or {}}


def test_a_life(tmp_path: Path) -> None:
    """Out, back with a limit, and free again; other upstreams' affairs are left out."""
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.input(Started(100.0))
        journal.input(pools(101.0))
        journal.decision(ejected(110.0, B))
        journal.decision(ejected(120.0))
        journal.note("apply", 120.5, answer="PATCH 200", seconds=0.012, changes=[change(out=(A, B)), change(out=(A, B))])
        journal.note("apply", 130.0, answer="PATCH 200", seconds=0.012, changes=[change(out=(A,))])
        journal.note("apply", 150.0, answer="PATCH 200", seconds=0.01, changes=[change(limited={A: 1})])
        journal.note("apply", 160.0, answer="unknown: reset", changes=[change()])
        journal.note("drift", 170.0, what="hand", pool="p", place="x", upstreams=[A])
        journal.note("drift", 171.0, what="gone", pool="p", place="", upstreams=[B])
        journal.note("drift", 172.0, what="loaded", pool="other", place="y", upstreams=[])
    told = telling(Reading(journal.path).records(), A)
    (account,) = told.accounts
    assert account.pool == "p"
    assert account.decisions == (ejected(120.0),)
    assert [(one.at, one.state, one.limit) for one in account.changes] == [
        (120.5, "out", None), (150.0, "limited", 1), (160.0, "in", None),
    ]  # fmt: skip
    assert (account.changes[0].answer, account.changes[0].seconds) == ("PATCH 200", 0.012)
    assert (account.changes[-1].answer, account.changes[-1].seconds) == ("unknown: reset", None)
    assert account.drifts == (Drift(170.0, "hand", concerns=True), Drift(171.0, "gone", concerns=False))
    assert (told.upstreams, told.began, told.stopped, told.restored, told.unreadable) == ((A, B), 100.0, None, None, 0)


def test_stopped_and_restored(tmp_path: Path) -> None:
    """A start makes `stopped` untrue again, a change `restored`; what could not be done was not done."""
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.stopped(10.0)
        journal.note("restored", 11.0, done=False, upstreams=[], why="refused", forget=False)
        assert telling(Reading(journal.path).records(), A).restored is None
        journal.note("restored", 12.0, done=True, upstreams=[A], why="", forget=False)
        told = telling(Reading(journal.path).records(), A)
        assert (told.stopped, told.restored) == (10.0, 12.0)
        journal.input(Started(20.0))
        journal.note("apply", 21.0, answer="PATCH 200", seconds=0.1, changes=[change(out=(A,))])
        told = telling(Reading(journal.path).records(), A)
        assert (told.stopped, told.restored) == (None, None)


def test_a_pool_that_got_another_name(tmp_path: Path) -> None:
    """What was told by its old name is told by the new one."""
    with Journal(tmp_path / "journal.jsonl") as journal:
        journal.input(pools(1.0, "a:1+b:1"))
        journal.decision(ejected(2.0, pool="a:1+b:1"))
        journal.input(pools(3.0, "chat"))
        journal.decision(ejected(40.0, pool="chat"))
    (account,) = telling(Reading(journal.path).records(), A).accounts
    assert account.pool == "chat"
    assert account.decisions == (ejected(2.0, pool="a:1+b:1"), ejected(40.0, pool="chat"))


def test_what_is_no_record(tmp_path: Path) -> None:
    """A record that lacks what it should have is counted and costs only itself."""
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.input(pools(1.0))
    with path.open("ab") as file:
        file.write(b'{"v":1,"type":"decision","at":2.0,"upstream":"a:1","pool":"p"}\n')
        file.write(b'{"v":1,"type":"apply","at":2.0,"answer":"x","changes":[{}]}\n')
        file.write(b'{"v":1,"type":"stopped"}\n')
    told = telling(Reading(path).records(), A)
    assert told.unreadable == 3
    assert told.accounts[0].decisions == ()
