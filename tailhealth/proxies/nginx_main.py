"""What nginx's main configuration tells of upstream blocks: their kind, and which hosts and paths lead there. Never changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import crossplane
import msgspec

from tailhealth.proxies.nginx_logs import AccessLog, access_logs

STICKY = frozenset({"ip_hash", "hash", "sticky", "sticky_cookie_insert"})
"""Directives that bind clients to servers."""
PASSES = frozenset({"proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass"})
_GROUP = re.compile(r"(?:[a-z]+://)?([^/:?]+)(?:[/?].*)?")
_PROBLEMS = 3


class Stray(msgspec.Struct, frozen=True):
    """A `server` line of a block that stands outside of the file that tailhealth owns."""

    words: tuple[str, ...]
    file: str
    line: int


class Block(msgspec.Struct, frozen=True):
    """An upstream block."""

    includes: frozenset[str]
    """Files that it includes, with links followed."""
    zone: bool = False
    """Its workers share their counters: without it `max_conns` holds for each worker by itself."""
    sticky: bool = False
    strays: tuple[Stray, ...] = ()
    hosts: tuple[str, ...] = ()
    """Hosts that lead to it; empty: any, or not to be told."""
    paths: tuple[str, ...] = ()
    """Paths that lead to it, as globs; empty: any, or not to be told."""
    logged: bool = True


class Main(msgspec.Struct, frozen=True):
    """The main configuration."""

    blocks: dict[str, Block]
    digest: str
    """Tells two states of its files apart."""
    problem: str = ""
    """Why not all of it could be read."""
    logs: tuple[AccessLog, ...] = ()


class _Place(msgspec.Struct, frozen=True):
    """Where a directive stands."""

    hosts: tuple[str, ...] = ()
    path: str | None = None
    """The glob of the innermost location; None: any, or not to be told."""
    logged: bool = True


class _Way(msgspec.Struct, frozen=True):
    block: str
    place: _Place


def read(path: str | None, owned: frozenset[str]) -> Main:
    """Read the main configuration with all that it includes.

    Args:
        path: The main configuration file; None: it is not known.
        owned: Files that tailhealth owns, with links followed.
    """
    if path is None:
        return Main({}, "", "the `test` command of [proxy] does not name nginx's configuration file")
    payload = crossplane.parse(path, catch_errors=True, comments=False, check_ctx=False, check_args=False)
    files = payload["config"]
    top = list(_expand(files, files[0]["parsed"], files[0]["file"])) if files else []
    blocks: dict[str, Block] = {}
    ways: list[_Way] = []
    for one, _ in top:
        if one["directive"] != "http" or "block" not in one:
            continue
        inside = list(_expand(files, one["block"], files[0]["file"]))
        logged = _logged(inside, default=True)
        for statement, file in inside:
            if statement["directive"] == "upstream" and statement["args"]:
                blocks[statement["args"][0]] = _block(files, statement, file, owned)
            elif statement["directive"] == "server" and "block" in statement:
                ways += _ways(files, statement, file, _Place(logged=logged))
    problem = "; ".join(str(one["error"]) for one in payload["errors"][:_PROBLEMS])
    led = {name: _led(name, block, ways) for name, block in blocks.items()}
    return Main(led, _digest(files, owned), problem, access_logs(files))


def _expand(files: list[dict[str, Any]], statements: list[dict[str, Any]], file: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Go through statements with those of included files in their place; the `include` itself comes first."""
    for one in statements:
        yield one, file
        for index in one.get("includes", ()):
            yield from _expand(files, files[index]["parsed"], files[index]["file"])


def _block(files: list[dict[str, Any]], statement: dict[str, Any], file: str, owned: frozenset[str]) -> Block:
    inside = list(_expand(files, statement["block"], file))
    names = {one["directive"] for one, _ in inside}
    includes = {os.path.realpath(files[index]["file"]) for one, _ in inside for index in one.get("includes", ())}
    strays = tuple(
        Stray(tuple(one["args"]), where, one["line"])
        for one, where in inside
        if one["directive"] == "server" and one["args"] and os.path.realpath(where) not in owned
    )
    return Block(frozenset(includes), zone="zone" in names, sticky=bool(names & STICKY), strays=strays)


def _ways(files: list[dict[str, Any]], statement: dict[str, Any], file: str, above: _Place) -> Iterator[_Way]:
    """Find what passes requests on, anywhere in a server or location."""
    inside = list(_expand(files, statement["block"], file))
    here = msgspec.structs.replace(above, logged=_logged(inside, default=above.logged))
    if statement["directive"] == "server":
        here = msgspec.structs.replace(here, hosts=_hosts(inside))
    elif statement["directive"] == "location":
        here = msgspec.structs.replace(here, path=_glob(statement["args"]))
    for one, where in inside:
        if one["directive"] in PASSES and one["args"] and (group := _GROUP.fullmatch(one["args"][0])):
            yield _Way(group[1], here)
        if "block" in one:
            yield from _ways(files, one, where, here)


def _logged(inside: list[tuple[dict[str, Any], str]], *, default: bool) -> bool:
    logs = [one["args"] for one, _ in inside if one["directive"] == "access_log"]
    return any(args and args[0] != "off" for args in logs) if logs else default


def _hosts(inside: list[tuple[dict[str, Any], str]]) -> tuple[str, ...]:
    """Read the names of a server; a pattern that is no glob, or none at all, is not to be told."""
    names = [name for one, _ in inside if one["directive"] == "server_name" for name in one["args"] if name not in {"", "_"}]
    if any(name.startswith("~") for name in names):
        return ()
    globs = [[name[1:], f"*{name}"] if name.startswith(".") else [name] for name in names]
    return tuple(name.lower() for each in globs for name in each)


def _glob(args: list[str]) -> str | None:
    """Make a glob of a location."""
    if len(args) == 1 and args[0].startswith("/"):
        return None if args[0] == "/" else f"{args[0]}*"
    if len(args) == len(["^~", "/path"]) and args[0] in {"=", "^~"}:
        return args[1] + ("*" if args[0] == "^~" else "")
    return None


def _led(name: str, block: Block, ways: list[_Way]) -> Block:
    """Add which hosts and paths lead to a block: none, if a single way to it is open to all."""
    mine = [way.place for way in ways if way.block == name]
    if not mine:
        return block
    paths = [place.path for place in mine if place.path is not None]
    return msgspec.structs.replace(
        block,
        hosts=tuple(dict.fromkeys(host for place in mine for host in place.hosts)) if all(p.hosts for p in mine) else (),
        paths=tuple(dict.fromkeys(paths)) if len(paths) == len(mine) else (),
        logged=any(place.logged for place in mine),
    )


def _digest(files: list[dict[str, Any]], owned: frozenset[str]) -> str:
    """Tell two states of the operator's files apart; those that tailhealth owns are told apart by themselves."""
    digest = blake2b(digest_size=16)
    for one in files:
        if os.path.realpath(one["file"]) not in owned:
            digest.update(f"{one['file']}\n".encode("utf-8", "surrogateescape"))
            try:
                digest.update(Path(one["file"]).read_bytes())
            except OSError:
                continue
    return digest.hexdigest()
