"""Reads the configuration file, whole: either it is right, or every problem in it is named at once."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

from tailhealth.config import pools, resolve
from tailhealth.config.errors import DEFAULT_NAME, ConfigError, line
from tailhealth.config.merge import merged, reportable
from tailhealth.config.pools import Handler
from tailhealth.config.schema import Document, Log
from tailhealth.config.walk import Walk
from tailhealth.core.rules import Settings

SOCKET_NAME = "control.sock"
LONGEST_SOCKET_PATH = 107 if sys.platform == "linux" else 103
"""What the operating system takes for the path of a socket, in bytes."""

_UNQUOTED = re.compile(r"[=\[,]\s*[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d)\b")


class Config(Document, frozen=True, kw_only=True):
    """The configuration: the tables of the file, and what is worked out from them."""

    source: str = DEFAULT_NAME
    """The file's name, for messages; no key of the file."""

    def settings(self) -> Settings:
        """Return the settings of the core, with effective values."""
        return resolve.settings(self)

    def longest_within(self) -> float:
        """Return for how many seconds outcomes can matter, in whichever pool: so much of a log is read as history."""
        return max(self.window.within, *(table.window.within for table in self.pool.values()), 0.0)

    def pool_for(self, handler: Handler) -> str | None:
        """Name the `[pool]` table that means a handler of the proxy; None if there is none.

        Raises:
            ConfigError: Several tables do; it names them.
        """
        names = pools.matching(self.pool, handler)
        if len(names) > 1:
            raise ConfigError([f"{self.source}: {pools.clash_text(names, handler)}"])
        return names[0] if names else None

    def pool_name(self, handler: Handler) -> str:
        """Name a pool: the table's name, else the handler's `@id`, else its sorted upstreams joined by `+`.

        An `@id` that is the name of a table for another pool is passed over.

        Raises:
            ConfigError: Several tables mean the handler.
        """
        own = handler.id if handler.id not in self.pool else None
        return self.pool_for(handler) or own or pools.joined(handler.upstreams)

    def log_for(self, argument: str) -> Log:
        """Return the `[[log]]` entry for a LOG argument: that of its path, else the only one, else the defaults."""
        path = argument if argument == "-" else str(Path(argument).absolute())
        exact = (one for one in self.log if os.path.normpath(one.path) == os.path.normpath(path))
        by_glob = (one for one in self.log if PurePath(path).match(one.path))
        return next(chain(exact, by_glob), self.log[0] if len(self.log) == 1 else Log(path=path))

    def state_dir(self) -> Path:
        """Return the state directory: `[state] dir`, else the first of `$STATE_DIRECTORY`, else one in the home directory.

        Raises:
            ConfigError: None of them is set, and the user has no home directory.
        """
        if self.state.dir is not None:
            return Path(self.state.dir)
        given = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
        if given:
            return Path(given)
        try:
            return Path.home() / ".local/state/tailhealth"
        except RuntimeError as error:
            text = "is needed: this user has no home directory, and $STATE_DIRECTORY is not set"
            raise ConfigError([line(self.source, ("state", "dir"), text)]) from error

    def control_socket(self) -> Path:
        """Return the path of the control socket.

        Raises:
            ConfigError: It is too long for a socket.
        """
        path = self.state_dir() / SOCKET_NAME
        length = len(os.fsencode(path))
        if length > LONGEST_SOCKET_PATH:
            text = f"the control socket would be {path}, {length} bytes long; a socket's path has at most {LONGEST_SOCKET_PATH}"
            raise ConfigError([line(self.source, ("state", "dir"), f"{text}: choose a shorter directory")])
        return path

    def admin_headers(self) -> dict[str, str]:
        """Return the headers of `[proxy]` with their values, read from the environment and from files now.

        Raises:
            ConfigError: One cannot be read. It names the key and the place, never a value.
        """
        found: dict[str, str] = {}
        problems: list[str] = []
        for name, secret in self.proxy.headers.items():
            try:
                found[name] = secret.reveal()
            except LookupError as error:
                problems.append(line(self.source, ("proxy", "headers", name), str(error.args[0])))
        if problems:
            raise ConfigError(problems)
        return found


def load(path: Path | None) -> Config:
    """Read a configuration file; None gives the defaults.

    Raises:
        ConfigError: The file cannot be read, or something in it is wrong; all problems at once.
    """
    if path is None:
        return Config()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError([line(str(path), (), f"can't be read: {error.strerror}; `tailhealth init` writes one")]) from error
    return parse(data, str(path), path.absolute().parent)


def parse(data: bytes, name: str = DEFAULT_NAME, folder: Path | None = None) -> Config:
    """Read the bytes of a configuration file.

    Args:
        data: The file's content.
        name: How messages call it.
        folder: From where relative paths are meant; None: the working directory.

    Raises:
        ConfigError: Something in it is wrong; all problems at once.
    """
    raw = _toml(data, name)
    place = str((folder or Path()).absolute())
    first, second = Walk(place), Walk(place)
    first.document(raw)
    document = second.document(merged(raw))
    clashes = reportable(second.clashes, raw, {path for path, _ in first.problems})
    if problems := first.problems + clashes:
        raise ConfigError([line(name, path, text) for path, text in problems])
    config = Config(**{field: getattr(document, field) for field in document.__struct_fields__}, source=name)
    if config.state.dir is not None:
        config.control_socket()
    return config


def _toml(data: bytes, name: str) -> dict[str, Any]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise ConfigError([line(f"{name}:{row}", (), "is no UTF-8 text")]) from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([_syntax_error(str(error), text, name)]) from error


def _syntax_error(message: str, text: str, name: str) -> str:
    """Turn tomllib's `... (at line 3, column 5)` into `FILE:3: ...`, with a hint for the commonest slip."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    rows = text.splitlines()
    row = len(rows) if found is None or found[2] is None else int(found[2])
    what = message if found is None else found[1]
    column = f" (column {found[3]})" if found is not None and found[3] else ""
    unquoted = 0 < row <= len(rows) and _UNQUOTED.search(rows[row - 1])
    hint = '; a duration needs quotes, as in "30s"' if unquoted else ""
    return line(f"{name}:{row}", (), f"{what}{column}{hint}")
