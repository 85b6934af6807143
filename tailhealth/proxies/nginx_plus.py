"""NGINX Plus through its API (DESIGN section 8, NGINX Plus).

Built from the published reference; it has met only a double of that reference, never an NGINX Plus.

The API has no place for a mark: that a server is down by us, and not by the operator, is known from what we remember. So the
adapter is told what the state file remembers (`ours`), and adds what it did itself since. A server that is down by anyone else
counts as held down and is never lifted. Ids change when the configuration is loaded: servers are looked up by address each
time. A load drops what the API changed, unless the block has a `state` file: what was out is then read as serving again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from tailhealth.core.address import canonical
from tailhealth.proxies.admin import Access
from tailhealth.proxies.base import Applied, Change, Conflict, Entry, Load, Place, ProxyError, Refused, Snapshot
from tailhealth.proxies.caddy_config import digest
from tailhealth.proxies.plus_api import Peer, PlusApi, Server, StaticUpstreamError, Upstream

Ours: TypeAlias = Callable[[str, str], bool]
"""Tells whether the state file says that we took an upstream of a block out: (block, canonical address)."""

UNFIT = frozenset({"unavail", "unhealthy", "checking"})
"""States in which NGINX Plus itself sends a server no requests."""
CHANGING = frozenset({"id", "max_conns", "down", "drain"})
"""Fields of a server that say nothing of which server it is."""


class Row(msgspec.Struct, frozen=True):
    """A server with all that is known of it."""

    server: Server
    entry: Entry


class Todo(msgspec.Struct, frozen=True):
    """One request that changes a server."""

    block: str
    server: Server
    wanted: Entry
    settings: dict[str, Any]
    block_before: dict[str, Server]
    """All servers of the block by the API's spelling of their address."""


class NginxPlus:
    """An NGINX Plus, read and changed through its API.

    Args:
        access: Where the API is, without its `/api`, and the headers it wants, such as `Authorization`.
        how: What takes a server out: `down` sends it nothing, `drain` still sends it the clients that are bound to it.
        ours: What the state file remembers.
    """

    def __init__(
        self, access: Access, how: Literal["down", "drain"] = "down", ours: Ours = lambda _block, _address: False
    ) -> None:
        self._api = PlusApi(access)
        self._how = how
        self._ours = ours
        self._done: dict[tuple[str, str], bool] = {}
        self._seen: set[tuple[str, str]] = set()

    def read(self) -> Snapshot:
        """Read all upstream blocks with a `zone`; the API does not know others.

        Raises:
            Retryable: The API does not answer.
            Forbidden: It turns us away, in its own words.
            Conflict: The configuration was loaded in this moment.
            Fatal: What answers there is not the API, or speaks no version that we know.
        """
        generation = self._api.process().identity
        places = tuple(self._place(name, upstream, generation) for name, upstream in sorted(self._api.upstreams().items()))
        if self._api.process().identity != generation:
            raise Conflict("NGINX Plus loaded its configuration while that was read")
        return Snapshot(places, digest([(one.key, one.version) for one in places]))

    def load(self) -> Load:
        """Read requests in flight, the process's identity and the servers that NGINX Plus itself holds down."""
        try:
            upstreams = self._api.upstreams()
            return Load(_in_flight(upstreams), self._api.process().identity, self._held_down(upstreams))
        except ProxyError as error:
            return Load(None, "", problem=str(error))

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Change the servers, each with a request of its own: those that come back first.

        What was done before an error stays, and is read back.

        Raises:
            Conflict: Someone else changed a block meanwhile.
            Forbidden: The API is read-only.
            Retryable, Refused: The API's own words say why.
        """
        began = time.monotonic()
        todo = sorted((one for change in changes for one in self._todo(change)), key=lambda one: one.wanted.out)
        for one in todo:
            self._change(one)
        return Applied(f"PATCH {len(todo)} servers 200", time.monotonic() - began)

    def _todo(self, change: Change) -> list[Todo]:
        block = change.place.key
        rows = self._rows(block, {})
        if _version(rows) != change.place.version or len(rows) != len(change.wanted):
            raise Conflict(f"the upstream block {block!r} is not what it was when the change was planned")
        found = []
        for row, wanted in zip(rows, change.wanted, strict=True):
            settings: dict[str, Any] = {}
            if wanted.out != row.entry.out:
                settings |= self._switch(row.server, out=wanted.out)
            if (wanted.limit or 0) != row.server.max_conns:
                settings["max_conns"] = wanted.limit or 0
            if settings:
                found.append(Todo(block, row.server, wanted, settings, {one.server.server: one.server for one in rows}))
        return found

    def _switch(self, server: Server, *, out: bool) -> dict[str, Any]:
        """Put a server out in the way that is set, or back in from either."""
        if out:
            return {self._how: True}
        return {name: False for name, on in (("down", server.down), ("drain", server.drain)) if on}

    def _change(self, todo: Todo) -> None:
        # Before the request: what is not known to have failed may have been done.
        self._done[todo.block, todo.wanted.address] = todo.wanted.out
        after = self._api.change(todo.block, todo.server.id, todo.settings)
        if after.server != todo.server.server:
            self._take_back(todo, after)
        if any(getattr(after, name) != value for name, value in todo.settings.items()):
            raise Refused(f"the API answered success, and yet {after.server} of {todo.block!r} is not {todo.settings}")

    def _take_back(self, todo: Todo, wrong: Server) -> None:
        """Undo what hit another server: the configuration was loaded in this moment, and the id means another one now."""
        before = todo.block_before.get(wrong.server)
        if before is not None:
            self._api.change(todo.block, wrong.id, {name: getattr(before, name) for name in todo.settings})
        self._done.pop((todo.block, todo.wanted.address))
        raise Conflict(
            f"id {todo.server.id} of {todo.block!r} was {todo.server.server} and is {wrong.server}: it was left as it was"
        )

    def _place(self, block: str, upstream: Upstream, generation: str) -> Place:
        peers = {one.id: one for one in upstream.peers}
        problem = ""
        try:
            rows = self._rows(block, peers)
        except StaticUpstreamError as error:
            rows = [self._row(block, _static(one), {"server": one.server}, peers) for one in upstream.peers]
            problem = str(error)
        return Place(
            key=block,
            entries=tuple(row.entry for row in rows),
            version=_version(rows),
            handler_id=block,
            removes=False,
            problem=problem,
            generation=generation,
        )

    def _rows(self, block: str, peers: Mapping[int, Peer]) -> list[Row]:
        """Read the servers that get requests: a name that is looked up again and again stands for those found under it."""
        found = self._api.servers(block)
        parents = {server.parent for server, _ in found}
        return [self._row(block, server, raw, peers) for server, raw in found if server.id not in parents]

    def _row(self, block: str, server: Server, raw: Mapping[str, Any], peers: Mapping[int, Peer]) -> Row:
        address, problem = server.server, ""
        try:
            address = canonical(server.server)
        except ValueError as error:
            problem = f"the server {server.server!r} can't be acted on: {error}"
        peer = peers.get(server.id)
        off = server.down or server.drain
        out = off and self._is_ours(block, address)
        down = off and not out
        self._note(block, address, off=off, out=out)
        return Row(
            server,
            Entry(
                address=address,
                raw={name: value for name, value in raw.items() if name not in CHANGING} | ({"down": True} if down else {}),
                limit=server.max_conns or None,
                weights=(server.weight,),
                out=out,
                names=_names(address, peer),
                backup=server.backup,
                held_down=down or (not out and peer is not None and peer.state in UNFIT),
                problem=problem,
            ),
        )

    def _note(self, block: str, address: str, *, off: bool, out: bool) -> None:
        """Forget that we took a server out once it was seen to be out and is in again: the next to take it out may be others.

        Until it is seen, a change may still be on its way.
        """
        if out:
            self._seen.add((block, address))
        elif not off and (block, address) in self._seen:
            self._seen.discard((block, address))
            self._done[block, address] = False

    def _is_ours(self, block: str, address: str) -> bool:
        known = self._done.get((block, address))
        return self._ours(block, address) if known is None else known

    def _held_down(self, upstreams: Mapping[str, Upstream]) -> frozenset[str]:
        """Name the addresses that get nothing in any block, by NGINX Plus or by the operator."""
        fit: set[str] = set()
        unfit: set[str] = set()
        for block, upstream in upstreams.items():
            for peer in upstream.peers:
                address = _address(peer.server)
                off = peer.state in {"down", "draining"} and not self._is_ours(block, address)
                (unfit if off or peer.state in UNFIT else fit).add(address)
        return frozenset(unfit - fit)


def _static(peer: Peer) -> Server:
    """Make up the server that can't be asked for."""
    return Server(peer.id, peer.server, peer.weight, peer.max_conns, peer.backup, down=peer.state == "down")


def _in_flight(upstreams: Mapping[str, Upstream]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for upstream in upstreams.values():
        for peer in upstream.peers:
            address = _address(peer.server)
            counts[address] = counts.get(address, 0) + peer.active
    return counts


def _address(text: str) -> str:
    try:
        return canonical(text)
    except ValueError:
        return text


def _names(address: str, peer: Peer | None) -> tuple[str, ...]:
    """Name the address that the log shows, where it is another."""
    shown = _address(peer.name) if peer is not None and peer.name else address
    return () if shown == address else (shown,)


def _version(rows: Sequence[Row]) -> str:
    """Tell two states of a block apart, whatever its ids: they change by themselves."""
    return digest([(row.entry.raw, row.server.max_conns, row.server.down, row.server.drain) for row in rows])
