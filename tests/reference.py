"""Writes `contrib/REFERENCE.md` from the schema of the configuration, the commands' own help, and the metrics.

Run it as `python -m tests.reference --write` after a change of a key, an option or a metric; a test fails until then.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click

ROOT = Path(__file__).resolve().parents[1]
if not __package__:
    # Started by its path: what it imports is found all the same.
    sys.path.insert(0, str(ROOT))

from tailhealth.cli import SUMMARIES  # noqa: E402 - the path comes first
from tailhealth.cli import main as program  # noqa: E402 - the path comes first
from tailhealth.config import rules, schema  # noqa: E402 - the path comes first
from tailhealth.service.metrics import families  # noqa: E402 - the path comes first
from tests.service.told import status  # noqa: E402 - the path comes first

PATH = ROOT / "contrib" / "REFERENCE.md"
WIDTH = 100

HEAD = """\
# Reference

Written by `python -m tests.reference --write` from the program itself; a test fails when it is stale.

- [Configuration](#configuration)
- [Commands](#commands)
- [Shell completion](#shell-completion)
- [Metrics](#metrics)

## Configuration

One TOML file, named with `-c`. Each key has a default; an unknown key, a wrong type or a contradiction is an error that names
the key. A duration is a string such as `"250ms"`, `"30s"` or `"1m30s"`, or a number of seconds. `false` turns a rule off where
the last column says so. `note = "..."` may stand in every table: free text, which `explain` shows. A relative path is meant
from the folder of the file. `tailhealth init` writes a file to begin with.
"""

COMPLETION = """\
## Shell completion

Commands and options, and the upstreams and pools of the running controller: of the one that `-c` names, none where none runs.

| shell | line | file |
|---|---|---|
| bash | `eval "$(_TAILHEALTH_COMPLETE=bash_source tailhealth)"` | `~/.bashrc` |
| zsh | `eval "$(_TAILHEALTH_COMPLETE=zsh_source tailhealth)"` | `~/.zshrc` |
| fish | `_TAILHEALTH_COMPLETE=fish_source tailhealth \\| source` | `~/.config/fish/completions/tailhealth.fish` |

bash takes a colon for the end of a word, and upstreams have one. To complete behind it too, add
`COMP_WORDBREAKS=${COMP_WORDBREAKS//:}` there.
"""

_TEXT = re.compile(r"(.*?)(?: ?Default(?: of each key)?: (.*?)\.?)?(?: ((?:Off|`[0-9.]+`):.*))?")

COLUMNS = "| key | value | | default | off, and others |\n|---|---|---|---|---|\n"

METRICS = """\
## Metrics

Served at `/metrics` of `[listen] http`; the same state is there as JSON at `/status`, and `/healthz` answers 503 while the
controller can't do its work. Labels are bounded by the pools, the logs and closed sets of words.
[prometheus/rules.yml](prometheus/rules.yml) has alerts, [grafana/dashboard.json](grafana/dashboard.json) a dashboard.

| metric | kind | labels | |
|---|---|---|---|
"""


class Key(NamedTuple):
    """One key of a table."""

    name: str
    value: str
    """What may stand there."""
    meaning: str
    default: str
    special: str
    """How it is turned off, and values with a meaning of their own."""


class Section(NamedTuple):
    """One table of the file."""

    title: str
    text: str
    keys: tuple[Key, ...]


SECTIONS = {
    "Document": "At the top",
    "Proxy": "[proxy]",
    "Log": "[[log]]",
    "Fields": "`fields` of a [[log]]",
    "Bad": "[bad]",
    "BadRoute": "[[bad.route]]",
    "Window": "[window]",
    "Eject": "[eject]",
    "Probation": "[probation]",
    "Guard": "[guard]",
    "PoolTable": "[pool.NAME]",
    "State": "[state]",
    "Journal": "[journal]",
    "Listener": "[listen]",
    "Notify": "[[notify]]",
}
"""The tables of the schema in the order of the reference, with their titles."""

VALUES = (
    (r"\bTimedField\b", "string, or `{ key, unit }`"),
    (r"\bField\b", "string"),
    (r"\bBadRoute\b", "list of tables"),
    (r"\bdict\b", "table"),
    (r"Seconds\b", "duration"),
    (r"Statuses\b", "list"),
    (r"\b(Hosts|Methods|Paths|Upstreams|Protected)\b", "string or list"),
    (r"\bCommand\b", "list of strings"),
    (r"\bFilePath\b", "path"),
    (r"\bbool\b", "true or false"),
    (r"\b(Positive|int)\b", "whole number"),
    (r"\bfloat\b", "number"),
    (r"\b(Admin|Header|Listen|Webhook|Zone|Literal|str)\b", "string"),
    (r"\b(Fields|Bad|Window|Eject|Probation|Guard)\b", "table"),
)
"""What a type of the schema is called; the first that is found in an annotation holds."""


def sections() -> list[Section]:
    """Read the schema: its tables, their keys, and the docstring below each."""
    classes = {node.name: node for module in (rules, schema) for node in _classes(module)}
    return [
        Section(title, ast.get_docstring(classes[name]) or "", tuple(_keys(classes[name]))) for name, title in SECTIONS.items()
    ]


def _classes(module: ModuleType) -> Iterator[ast.ClassDef]:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    return (node for node in tree.body if isinstance(node, ast.ClassDef))


def _keys(table: ast.ClassDef) -> Iterator[Key]:
    for node, below in zip(table.body, table.body[1:], strict=False):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        annotation = ast.unparse(node.annotation)
        if "ClassVar" in annotation or (table.name == "Document" and node.target.id not in ("mode", "lateness", "on_stop")):
            continue  # the tables of the document have sections of their own
        assert isinstance(below, ast.Expr)
        assert isinstance(below.value, ast.Constant)
        yield key(node.target.id.removesuffix("_"), annotation, cleandoc(str(below.value.value)))


def key(name: str, annotation: str, text: str) -> Key:
    """Take a docstring apart: meaning, default, and what turns it off."""
    found = _TEXT.fullmatch(" ".join(text.split()))
    assert found is not None
    meaning, default, special = (part or "" for part in found.groups())
    value = next(word for pattern, word in VALUES if re.search(pattern, annotation))
    unit, _, rest = meaning.partition("Duration: ")
    return Key(name, value, meaning if unit or not rest else rest[:1].upper() + rest[1:], default, special)


def is_value(text: str) -> bool:
    """Tell whether a default is a value as it is written in TOML."""
    try:
        tomllib.loads(f"x = {text.strip('`')}")
    except tomllib.TOMLDecodeError:
        return False
    return True


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _configuration() -> Iterator[str]:
    for section in sections():
        title = f"`{section.title}`" if section.title.startswith("[") else section.title
        text = re.sub(r"^`\[\[?[^`]*`: ", "", " ".join(section.text.split()))
        text = text.removeprefix("`fields` of a `[[log]]`: ").replace(
            "The whole file.", "Keys that stand before the first table."
        )
        yield f"\n### {title}\n\n{text[:1].upper()}{text[1:]}\n\n{COLUMNS}"
        for one in section.keys:
            default = f"`{one.default.strip('`')}`" if is_value(one.default) else one.default
            cells = (f"`{one.name}`", one.value, one.meaning, default, one.special)
            yield "| " + " | ".join(map(_cell, cells)) + " |\n"


def help_of(*words: str) -> str:
    """Return the help of a command as it is printed, or of the program itself."""
    context = click.Context(program, info_name="tailhealth", terminal_width=WIDTH)
    command: click.Command | None = program
    for word in words:
        command = program.get_command(context, word)
        context = click.Context(command or program, info_name=word, parent=context, terminal_width=WIDTH)
    assert command is not None
    return command.get_help(context)


def _commands() -> Iterator[str]:
    yield f"\n## Commands\n\n```text\n{help_of()}\n```\n"
    for name in sorted(SUMMARIES):
        yield f"\n### {name}\n\n```text\n{help_of(name)}\n```\n"


def _metrics() -> Iterator[str]:
    for family in families(status()):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = dict.fromkeys(label for one in family.samples for label in one.labels if label != "le")
        yield f"| `{name}` | {family.type} | {', '.join(labels)} | {_cell(family.documentation)} |\n"


def reference() -> str:
    """Return the whole text."""
    return "".join([HEAD, *_configuration(), *_commands(), "\n", COMPLETION, "\n", METRICS, *_metrics()])


@click.command()
@click.option("--write", is_flag=True, help="Write the file; without it, only tell whether it is stale.")
def main(*, write: bool) -> None:
    """Write the reference anew."""
    text = reference()
    if PATH.exists() and PATH.read_text(encoding="utf-8") == text:
        return
    click.echo(f"{PATH.relative_to(ROOT)} {'written' if write else 'is stale'}")
    if not write:
        raise SystemExit(1)
    PATH.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
