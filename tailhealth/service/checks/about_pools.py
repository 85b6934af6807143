"""Findings about the pools: can they be acted on, and are they the ones that the configuration means?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tailhealth.service.checks.facts import Facts
from tailhealth.service.checks.finding import Finding
from tailhealth.service.misfits import Misfit, misfits
from tailhealth.service.pools import members

_SHOWN = 5
"""So many addresses are named; the log may hold any number of them."""


def nothing(facts: Facts) -> Iterator[Finding]:
    """Find a proxy without a pool."""
    if facts.proxy.trouble is None and not facts.proxy.groups and not facts.proxy.clashes:
        text = "its configuration has no load balancer with upstreams that could be ejected"
        remedy = "is this the right proxy? For nginx, name each upstream block in `include` of [proxy]"
        yield Finding("no_pools", "proxy", text, remedy)


def unactionable(facts: Facts) -> Iterator[Finding]:
    """Find places and upstreams that can't be acted on, with the reason: dynamic ones, placeholders, names, a strange mark."""
    proxy = facts.proxy
    for standing in proxy.standings:
        pool = proxy.pool_of(standing.place.key)
        if standing.problem:
            yield Finding("place_unmanaged", pool, standing.problem)
        for entry in standing.original:
            if entry.problem:
                remedy = "write its address, or let others judge it"
                yield Finding("upstream_unmanaged", pool, entry.problem, "" if ": move it" in entry.problem else remedy)
    for key, dial in proxy.portless:
        text = f"the dial address {dial!r} has no port: Caddy dials port 0, and every request to it fails"
        yield Finding("dial_without_port", proxy.pool_of(key), text, "write its port")


def ambiguous(facts: Facts) -> Iterator[Finding]:
    """Find addresses that several upstreams of a pool have: a line in the log does not tell which one is meant."""
    for group in facts.proxy.groups:
        entries = {entry.address: entry for entry in group.standings[0].original}
        owners = Counter(name for entry in entries.values() for name in {entry.address, *entry.names})
        for name, count in owners.items():
            if count > 1:
                text = (
                    f"{count} upstreams have the address {name}, so the log does not tell them apart: none of them is acted on"
                )
                yield Finding("ambiguous_address", group.name, text, "list each address once")


def unmarked(facts: Facts) -> Iterator[Finding]:
    """Find lists in which no mark of ours can stand (DESIGN section 8, drift)."""
    for group in facts.proxy.groups:
        for standing in group.standings:
            entries = standing.place.entries
            if standing.place.removes and entries and all(entry.own_id for entry in entries):
                text = (
                    "every upstream has an `@id` of its own, so no mark can stand there: whether the operator loaded a"
                    " configuration or changed the list by hand can't be recognised"
                )
                yield Finding("no_mark", group.name, text, "take the `@id` off one upstream")


def tables(facts: Facts) -> Iterator[Finding]:
    """Find `[pool]` tables that mean the same pool, or none."""
    proxy = facts.proxy
    for pool, text in proxy.clashes.items():
        yield Finding("pool_tables_clash", pool, text)
    clashing = " ".join(proxy.clashes.values())
    for one in _misfits(facts):
        if one.is_table and one.key not in clashing:
            yield Finding("pool_table_unmatched", one.key, one.text, "correct its `upstreams`, `host`, `path` or `id`")


def protected(facts: Facts) -> Iterator[Finding]:
    """Find protected patterns that protect nothing (DESIGN section 7, guard 2; incident C)."""
    for one in _misfits(facts):
        if not one.is_table:
            yield Finding("protected_unmatched", one.key, one.text, "correct or remove it")


def _misfits(facts: Facts) -> Iterator[Misfit]:
    return misfits(facts.config, members(facts.proxy.groups))


def strangers(facts: Facts) -> Iterator[Finding]:
    """Find upstreams that the logs name and no pool has."""
    listed = {name for one in facts.proxy.standings for entry in one.original for name in (entry.address, *entry.names)}
    strange = [one.address for one in facts.strangers if one.address not in listed]
    if facts.proxy.trouble is None and strange:
        shown = ", ".join(strange[:_SHOWN]) + (", ..." if len(strange) > _SHOWN else "")
        text = f"the logs name upstreams that no pool of the proxy has: {shown}; they are never acted on"
        yield Finding(
            "unmanaged", "log", text, "is this the log of that proxy? For nginx, name their blocks in `include` of [proxy]"
        )
