"""The include file that tailhealth owns: the `server` lines of one upstream block, read and rewritten (DESIGN section 8).

What is ours in it is only ever inserted, never put in the place of something: a comment before the directive, and parameters
right before its `;`. nginx takes the last of two `max_conns`, so the operator's own stays where it stands. Taking out what was
inserted gives the operator's file back byte for byte. The comment says what was inserted, so that the file explains itself to
people and to a tailhealth that lost its state:

    # tailhealth-set down: ejected until 2026-11-30T00:53:20Z: 6 of 8 bad
    server 10.0.0.1:11434 weight=5 down;
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from tailhealth.core.address import canonical
from tailhealth.proxies.base import MARK, Entry
from tailhealth.proxies.nginx_words import Directive, directives

ENCODING = "latin-1"
"""Every byte is a character and comes back as it was."""

_COMMENT = re.compile(rf"# {MARK}set((?: max_conns=[0-9]+)?(?: down)?):[^\n]*\n[ \t]*")
_HARMLESS = re.compile(r"[^\x20-\x7e]")
_LONGEST_WHY = 300


class Server(msgspec.Struct, frozen=True):
    """One `server` directive of the file."""

    text: str
    """The operator's parameters, joined by blanks: what identifies it."""
    address: str
    """As the directive spells it."""
    parameters: tuple[str, ...]
    """The operator's, in order."""
    start: int
    """Where the directive begins, in the operator's text."""
    end: int
    """Where its `;` stands, in the operator's text."""
    down: bool = False
    """Ours: marked down."""
    limit: int | None = None
    """Ours: `max_conns`."""

    def value(self, name: str) -> str | None:
        """Return the value of a parameter, the last if it stands there twice, as nginx does."""
        prefix = f"{name}="
        return next((one[len(prefix) :] for one in reversed(self.parameters) if one.startswith(prefix)), None)

    def number(self, name: str) -> int | None:
        """Return the value of a parameter that is a number; None: it is absent, or no number."""
        value = self.value(name)
        return int(value) if value is not None and re.fullmatch("[0-9]{1,9}", value) else None


class Include(msgspec.Struct, frozen=True):
    """What the file says."""

    own: str
    """The operator's text: the file without what is ours."""
    servers: tuple[Server, ...]


def parse(text: str) -> Include:
    """Read the file.

    Raises:
        Broken: nginx would not read it, or it holds a block.
    """
    own, claims = _stripped(text)
    servers = []
    for one in directives(own):
        if one.name == "server" and len(one.words) > 1:
            address, *parameters = (word.value for word in one.words[1:])
            down, limit = claims.get(one.start, (False, None))
            servers.append(
                Server(" ".join([address, *parameters]), address, tuple(parameters), one.start, one.end, down, limit)
            )
    return Include(own, tuple(servers))


def _stripped(text: str) -> tuple[str, dict[int, tuple[bool, int | None]]]:
    """Take out what is ours; tell for each directive, by its start in what is left, whether we marked it down or limited it.

    A comment of ours whose parameters are gone is taken out and claims nothing: the operator's hand was there.
    """
    parts: list[str] = []
    claims: dict[int, tuple[bool, int | None]] = {}
    kept, length = 0, 0

    def keep(until: int, after: int) -> None:
        nonlocal kept, length
        parts.append(text[kept:until])
        length += until - kept
        kept = after

    for one in (*directives(text), None):
        begin = len(text) if one is None else one.start
        for comment in _COMMENT.finditer(text, kept, begin):
            if not _is_comment(text, kept, comment.start()):
                continue
            keep(comment.start(), comment.end())
            if one is not None and comment.end() == begin and comment[1] and _holds(text, one, comment[1]):
                claims[length] = ("down" in comment[1], _number(comment[1]))
                keep(one.end - len(comment[1]), one.end)
        keep(*((len(text),) * 2 if one is None else (one.end + 1,) * 2))
    return "".join(parts), claims


def _is_comment(text: str, begin: int, position: int) -> bool:
    """Tell whether the sign at a position between two directives begins a comment, rather than stands in one."""
    return "#" not in text[max(begin, text.rfind("\n", 0, position) + 1) : position]


def _holds(text: str, one: Directive, inserted: str) -> bool:
    """Tell whether the inserted parameters stand as words of their own before the `;`."""
    count = len(inserted.split())
    return (
        one.name == "server"
        and text.endswith(inserted, 0, one.end)
        and tuple(word.value for word in one.words[-count:]) == tuple(inserted.split())
        and one.words[-count].start == one.end - len(inserted) + 1
    )


def _number(inserted: str) -> int | None:
    found = re.search("max_conns=([0-9]+)", inserted)
    return int(found[1]) if found else None


def render(include: Include, wanted: Mapping[int, tuple[bool, int | None]], why: Callable[[str], str]) -> str:
    """Write the file.

    Args:
        include: The file as it was read.
        wanted: By the index of a server: whether it is down, and its `max_conns` by us.
        why: What to say about an address: for people, one line.
    """
    text, parts, kept = include.own, [], 0
    for index, server in enumerate(include.servers):
        down, limit = wanted.get(index, (False, None))
        inserted = (f" max_conns={limit}" if limit is not None else "") + (" down" if down else "")
        if not inserted:
            continue
        line = text[text.rfind("\n", 0, server.start) + 1 : server.start]
        indent = "" if line.strip() else line
        said = _HARMLESS.sub("?", why(server.address))[:_LONGEST_WHY] or "by its requests"
        parts += [
            text[kept : server.start],
            f"# {MARK}set{inserted}: {said}\n{indent}",
            text[server.start : server.end],
            inserted,
        ]
        kept = server.end
    return "".join([*parts, text[kept:]])


def entry(server: Server) -> Entry:
    """Read one server as an entry of a place. The operator's own `down` is not ours to lift: the server counts as held down."""
    address, problem = server.address, ""
    try:
        address = canonical(server.address)
    except ValueError as error:
        problem = f"the server {server.address!r} can't be acted on: {error}"
    if server.value("service") is not None:
        problem = f"the server {server.address!r} is found by SRV records (`service`), which the log does not show"
    own = server.number("max_conns")
    return Entry(
        address=address,
        raw={"server": server.text},
        limit=own if server.limit is None else server.limit,
        weights=(server.number("weight") or 1,),
        out=server.down,
        backup="backup" in server.parameters,
        held_down="down" in server.parameters or "drain" in server.parameters,
        problem=problem,
        own_limit=own,
    )


def own_limit(server: Server) -> int | None:
    """Return the operator's `max_conns`; None: there is none."""
    return server.number("max_conns")
