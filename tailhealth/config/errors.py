"""What is wrong with a configuration: every problem, each in one line that names the key and the remedy."""

from __future__ import annotations

import json
import re
from typing import Any, TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""Where a key stands: names of tables and positions in arrays of tables, from the top of the file."""

DEFAULT_NAME = "tailhealth.toml"
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN = 60


class ConfigError(Exception):
    """The configuration cannot be used. `problems` holds all that was found, one line each; exit code 2 on the command line."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class UnfitError(ValueError):
    """A value of the file that its key cannot have. The message says what is expected."""


def dotted(path: KeyPath) -> str:
    """Write a key as the operator would: `pool."my pool".bad.route[0].slower_than` (positions count from 0)."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE.fullmatch(part) else json.dumps(part)
            text += f".{name}" if text else name
    return text


def line(name: str, path: KeyPath, text: str) -> str:
    """Make the one line of a problem: `tailhealth.toml: guard.max_ejcted: unknown key; did you mean max_ejected?`."""
    where = dotted(path)
    return f"{name}: {where}: {text}" if where else f"{name}: {text}"


def show(value: Any) -> str:
    """Show a value from the file, short and harmless to a terminal."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        text = "[" + ", ".join(show(one) for one in value) + "]"
    elif isinstance(value, str | int | float):
        text = json.dumps(value)
    else:
        text = str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
