"""The rules as functions of values: when a window trips, how long an ejection lasts, what a guard says (DESIGN 5 to 7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from hashlib import blake2b
from math import exp, lgamma
from typing import NamedTuple

from tailhealth.core.model import Reason
from tailhealth.core.rows import Rows, Stretch
from tailhealth.core.rules import EjectRules, GuardRules, WindowRules
from tailhealth.core.window import Seen

_NEGLIGIBLE = 1e-18
HOPELESS = 0.9
"""A peer with at least this share of bad outcomes says nothing about what is normal."""


def trips(seen: Seen, rows: Rows, rules: WindowRules, clients: int) -> tuple[Reason, ...]:
    """Name the rules by which an upstream should leave; none: it stays.

    `clients` is how many distinct clients the bad outcomes must come from (DESIGN section 5).
    """
    found = []
    if _is_long(rows.refused, rules.consecutive_refused, clients):
        found.append(Reason.CONSECUTIVE_REFUSED)
    if rules.ratio is not None and seen.counted >= rules.min_requests and seen.share >= rules.ratio and seen.clients >= clients:
        found.append(Reason.RATIO)
    if _is_long(rows.unanswered, rules.consecutive_unanswered, clients):
        found.append(Reason.CONSECUTIVE_UNANSWERED)
    return tuple(found)


def _is_long(row: Stretch, limit: int | None, clients: int) -> bool:
    return limit is not None and row.attempts >= limit and row.clients >= clients


def base_time(strikes: int, rules: EjectRules) -> float:
    """Return for how many seconds an upstream goes out, before jitter."""
    grown = min(rules.base, rules.cap)
    for _ in range(strikes):
        if grown >= rules.cap:
            break
        grown = min(grown * rules.backoff, rules.cap)
    return grown


def time_out(upstream: str, strikes: int, at: float, rules: EjectRules) -> float:
    """Return for how many seconds an upstream goes out: longer with each strike, up to the cap, then jitter.

    The jitter comes from the arguments alone, so that the same log always gives the same times.
    """
    digest = blake2b(f"{upstream}\0{strikes}\0{at!r}".encode(), digest_size=8).digest()
    return base_time(strikes, rules) * (1 + rules.jitter * (int.from_bytes(digest) / 2**64))


def matches_any(address: str, patterns: Iterable[str]) -> bool:
    """Tell whether an address is named by one of the addresses or globs. An IPv6 literal's brackets are no glob."""
    return any(address == pattern or fnmatchcase(address, pattern.replace("[", "[[]")) for pattern in patterns)


def fisher(bad: int, good: int, peers_bad: int, peers_good: int) -> float:
    """Return the chance to see at least `bad` bad outcomes here if it were no worse than its peers.

    One-sided Fisher's exact test: the tail of the hypergeometric distribution with these margins.
    """
    here, total_bad, total_good = bad + good, bad + peers_bad, good + peers_good
    total = total_bad + total_good
    least, most = max(0, here - total_good), min(here, total_bad)
    if bad <= least:
        return 1.0
    upper = bad * total > here * total_bad
    # Summed away from the middle of the distribution, each term is smaller than the one before: a few hundred terms are enough.
    k = bad if upper else bad - 1
    term = exp(_log_choose(total_bad, k) + _log_choose(total_good, here - k) - _log_choose(total, here))
    tail = 0.0
    while term > tail * _NEGLIGIBLE:
        tail += term
        rest = total_good - here
        if upper:
            term *= (total_bad - k) * (here - k) / ((k + 1) * (rest + k + 1)) if k < most else 0.0
            k += 1
        else:
            term *= k * (rest + k) / ((total_bad - k + 1) * (here - k + 1)) if k > least else 0.0
            k -= 1
    return min(1.0, tail) if upper else max(0.0, 1.0 - tail)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


class Peer(NamedTuple):
    """Another serving upstream of the pool, over the same time as the suspect's window."""

    counted: int
    bad: int
    answered: int
    """Attempts with a header."""
    unanswered: int
    latest_bad: bool
    latest_refused: bool


class Comparison(NamedTuple):
    """The suspect against its peers."""

    holds: bool
    """True: the whole pool is like that, ejecting helps nobody."""
    counted: int
    bad: int
    p: float | None


def common_cause(reason: Reason, suspect: Peer, peers: Sequence[Peer], window: WindowRules, guard: GuardRules) -> Comparison:
    """Is it worse than its peers, or is the whole pool like that? (DESIGN section 7, guard 4)."""
    witnesses = [peer for peer in peers if _speaks(peer, reason)]
    if not witnesses:
        alone = suspect.unanswered if reason is Reason.CONSECUTIVE_UNANSWERED else suspect.bad
        return Comparison(alone < window.last, 0, 0, None)
    if reason is Reason.PROBATION:
        return _by_latest(sum(peer.latest_bad for peer in witnesses), witnesses)
    if reason is Reason.CONSECUTIVE_REFUSED:
        return _by_latest(sum(peer.latest_refused for peer in witnesses), witnesses)
    useful = [peer for peer in witnesses if not _hopeless(peer, reason, window)]
    chance = guard.chance
    if len(useful) < len(witnesses):
        if len(useful) * 2 >= len(witnesses):
            chance = guard.chance / 10
        else:
            useful = witnesses
    if reason is Reason.CONSECUTIVE_UNANSWERED:
        bad, good = sum(peer.unanswered for peer in useful), sum(peer.answered for peer in useful)
        p = fisher(suspect.unanswered, suspect.answered, bad, good)
    else:
        bad = sum(peer.bad for peer in useful)
        good = sum(peer.counted for peer in useful) - bad
        p = fisher(suspect.bad, suspect.counted - suspect.bad, bad, good)
    return Comparison(p > chance, bad + good, bad, p)


def _speaks(peer: Peer, reason: Reason) -> bool:
    if reason is Reason.CONSECUTIVE_UNANSWERED:
        return peer.answered + peer.unanswered > 0
    return peer.counted > 0


def _hopeless(peer: Peer, reason: Reason, window: WindowRules) -> bool:
    counted, bad = peer.counted, peer.bad
    if reason is Reason.CONSECUTIVE_UNANSWERED:
        counted, bad = peer.answered + peer.unanswered, peer.unanswered
    return counted >= window.min_requests and bad / counted >= HOPELESS


def _by_latest(alike: int, witnesses: Sequence[Peer]) -> Comparison:
    counted = sum(peer.counted for peer in witnesses)
    return Comparison(alike * 2 >= len(witnesses), counted, sum(peer.bad for peer in witnesses), None)


class Others(NamedTuple):
    """The rest of a pool, without the upstream that tripped."""

    primaries: int
    """All primaries of the pool, the one that tripped among them."""
    out: int
    """Of the others: ejected, or held down by the proxy itself."""
    serving: int
    """Of the others: in rotation with a weight above 0."""


def too_few_left(others: Others, rules: GuardRules) -> Reason | None:
    """Say why one more ejection would leave too little of a pool; None: it would not (DESIGN section 7, guard 3)."""
    if rules.max_ejected is not None and (others.out + 1) / others.primaries > rules.max_ejected:
        return Reason.MAX_EJECTED
    if others.serving < rules.min_serving:
        return Reason.MIN_SERVING
    return None
