"""nginx (open source) through an include file and a reload (DESIGN section 8, nginx).

How a change keeps nginx with a working file at every moment is in `nginx_change`; here is what is read, and what is to change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TypeAlias

import msgspec

from tailhealth.proxies import nginx_main
from tailhealth.proxies.base import Applied, Change, Conflict, Entry, Load, Place, Retryable, Snapshot
from tailhealth.proxies.nginx_change import Rewrite, heal, parsed, rewritten
from tailhealth.proxies.nginx_files import File, held
from tailhealth.proxies.nginx_include import ENCODING, Include, Server, entry, own_limit, render
from tailhealth.proxies.nginx_main import Block, Main, Stray
from tailhealth.proxies.nginx_names import LookUp, Names, look_up
from tailhealth.proxies.nginx_process import master, workers
from tailhealth.proxies.nginx_reload import Setup, asked

Why: TypeAlias = Callable[[str, str], str]
"""Says in one line why an upstream of a block is out or limited, and until when: (block, canonical address)."""

NO_COUNTS = "nginx (open source) does not count requests in flight for each upstream"


class Nginx:
    """An nginx, changed through the include files that tailhealth owns.

    Args:
        setup: Its files and commands.
        why: What the comments in the files shall say.
        find: Looks up names of servers.
        heals: Reading brings a change that was cut off to an end. False: it writes and reloads nothing.
    """

    def __init__(
        self, setup: Setup, why: Why = lambda _block, _address: "", find: LookUp = look_up, *, heals: bool = True
    ) -> None:
        self._setup = setup
        self._heals = heals
        self._why = why
        self._names = Names(find)
        self._files = {block: File.at(path) for block, path in setup.include.items()}
        self._path: str | None = None
        self._good: Main | None = None

    def main(self) -> Main:
        """Read the main configuration, for those who look at more than servers.

        While it can't be read as a whole, its blocks are those of before: nginx runs with them.

        Raises:
            Retryable, Fatal: nginx's test command says nothing.
        """
        owned = frozenset(str(file.path) for file in self._files.values())
        found = nginx_main.read(self._path, owned) if self._path is not None else None
        if found is None or found.problem:
            self._path = asked(self._setup).path
            found = nginx_main.read(self._path, owned)
        if not found.problem:
            self._good = found
        elif self._good is not None:
            return msgspec.structs.replace(self._good, digest=found.digest, problem=found.problem)
        return found

    def leaving(self) -> int:
        """Count old workers that still finish requests after reloads (case 113)."""
        running = master(self._setup.pid)
        return 0 if running is None else len(workers(running).leaving)

    def read(self) -> Snapshot:
        """Read all include files. A change that was cut off is first brought to an end or taken back.

        Raises:
            Retryable: A file is not there, or is being written.
            Unloadable: A change was cut off, and can't be brought to an end.
            Forbidden, Fatal: As they say.
        """
        if self._heals:
            with held(self._files.values()) as alone:
                if alone:
                    heal(self._setup, self._files.values())
        return self.look()

    def look(self) -> Snapshot:
        """Read all include files as they are, and change nothing: not even what was cut off.

        Raises:
            Retryable, Forbidden, Fatal: As for `read`.
        """
        main = self.main()
        places = tuple(self._place(block, main) for block in self._files)
        return Snapshot(places, _digest("".join(f"{one.key} {one.version} " for one in places).encode()))

    def load(self) -> Load:
        """Tell the identity of the process; nginx counts nothing that would help."""
        running = master(self._setup.pid)
        return Load(None, "" if running is None else f"{running.pid}-{running.started}", problem=NO_COUNTS)

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Rewrite the files of all changes and reload once.

        Raises:
            Conflict: Someone else changed a file, or the main configuration, meanwhile.
            Refused: nginx would not take it, in its own words; the old file is back.
            Unloadable: It would not take its configuration without the change either.
            Retryable: Not known to be done; the next read brings it to an end.
            Forbidden, Fatal: As they say.
        """
        began = time.monotonic()
        with held(self._files.values()) as alone:
            if not alone:
                raise Retryable(
                    "another tailhealth changes the include files, or their folder can't be read: stop the other one"
                )
            said = self._applied(changes)
        return Applied(said, time.monotonic() - began)

    def _applied(self, changes: Sequence[Change]) -> str:
        heal(self._setup, self._files.values())
        rewrites = [one for one in self._rewrites(changes) if one.old != one.new]
        if not rewrites:
            return "nothing to change"
        said = rewritten(self._setup, rewrites)
        files = ", ".join(str(one.file.path) for one in rewrites)
        return f"{files}: {said}"

    def _place(self, block: str, main: Main) -> Place:
        file = self._files[block]
        text = file.read()
        include = parsed(file, text)
        if not include.servers:
            raise Retryable(f"{file.path}: it holds no `server` line: move those of the upstream block {block!r} there")
        known = main.blocks.get(block, Block(frozenset()))
        entries = [entry(one) for one in include.servers]
        found = [msgspec.structs.replace(one, names=self._names.of(one.address)) if not one.problem else one for one in entries]
        return Place(
            key=block,
            entries=(*found, *map(_stray, known.strays)),
            version=_version(text, main),
            handler_id=block,
            hosts=known.hosts,
            paths=known.paths,
            sticky=known.sticky,
            removes=False,
            logged=known.logged,
            problem=self._problem(block, main),
        )

    def _problem(self, block: str, main: Main) -> str:
        path = self._setup.include[block]
        first = next(one for one, file in self._files.items() if file == self._files[block])
        if first != block:
            return f"the upstream blocks {first!r} and {block!r} can't own the same file, {path}: give each a file of its own"
        if main.problem and block not in main.blocks:
            return ""
        if block not in main.blocks:
            return f"nginx's configuration has no upstream block {block!r}: check `include` of [proxy]"
        if str(self._files[block].path) not in main.blocks[block].includes:
            return f"the upstream block {block!r} does not include its file: put `include {path};` there for its `server` lines"
        return ""

    def _rewrites(self, changes: Sequence[Change]) -> list[Rewrite]:
        main = self.main()
        found = []
        for change in changes:
            block = change.place.key
            file = self._files.get(block)
            if file is None:
                raise Conflict(f"tailhealth does not own a file of the upstream block {block!r}")
            old = file.read()
            include = parsed(file, old)
            if _version(old, main) != change.place.version or not _same_servers(include, change.wanted):
                raise Conflict(f"{file.path} or nginx's main configuration is not what it was when the change was planned")
            wanted = {
                index: (one.out, _limit(one.limit, own_limit(include.servers[index])))
                for index, one in enumerate(change.wanted[: len(include.servers)])
            }
            said = {include.servers[index].address: self._why(block, change.wanted[index].address) for index in wanted}
            found.append(Rewrite(file, old, render(include, wanted, said.__getitem__).encode(ENCODING)))
        return found


def _same_servers(include: Include, wanted: Sequence[Entry]) -> bool:
    return [entry(one).raw for one in include.servers] == [one.raw for one in wanted[: len(include.servers)]]


def _limit(limit: int | None, own: int | None) -> int | None:
    """Choose our `max_conns`: none where it would not be less than the operator's."""
    return None if limit is None or limit == own or (own and limit >= own) else limit


def _stray(one: Stray) -> Entry:
    """Read a server that the block has outside of the file: it serves, and can't be acted on."""
    server = Server(" ".join(one.words), one.words[0], one.words[1:], 0, 0)
    problem = f"it stands in {one.file}, line {one.line}: move it to the file that `include` of [proxy] names for its block"
    return msgspec.structs.replace(entry(server), problem=problem)


def _version(text: bytes, main: Main) -> str:
    return _digest(text + b"\0" + main.digest.encode())


def _digest(text: bytes) -> str:
    return blake2b(text, digest_size=16).hexdigest()
