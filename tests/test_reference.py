"""The reference can't lie: it is what the program says now, it leaves no key out, and its defaults are those that hold."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tests.reference
from tailhealth.cli import SUMMARIES
from tailhealth.config import parse, rules, schema
from tests.reference import PATH, SECTIONS, Key, help_of, is_value, reference, sections

HEADERS = {
    "Document": "",
    "Log": '[[log]]\npath = "/log"\n',
    "BadRoute": '[[bad.route]]\npath = "/p"\n',
    "PoolTable": '[pool.a]\nid = "h"\n',
}
"""What stands before the keys of a table, where that is more than its title: keys that it needs."""
ONLY = {"include": "nginx", "test": "nginx", "reload": "nginx", "pid": "nginx", "drain": "nginx-plus"}
"""Keys of `[proxy]` that one kind alone has."""


WORDS = {"withheld", "relief", "avoided_bad", "lost_good", "log_append", "stream_close_delay"}
"""What the answers name besides: words of decisions and of a replay's summary, and directives of Caddy."""


def struct(name: str) -> Any:
    """Return a table of the schema."""
    return getattr(schema, name, None) or getattr(rules, name)


@cache
def documented() -> tuple[tuple[str, Key], ...]:
    """Return every key with the name of its table in the schema."""
    return tuple((name, key) for name, section in zip(SECTIONS, sections(), strict=True) for key in section.keys)


def test_it_is_not_stale() -> None:
    """`python -m tests.reference --write` after a change of a key, an option or a metric."""
    assert PATH.read_text(encoding="utf-8") == reference()


@pytest.mark.parametrize("name", SECTIONS)
def test_no_key_is_left_out(name: str) -> None:
    """Each key of a table has a row with a meaning; tables at the top have sections of their own."""
    own = {key.name for table, key in documented() if table == name}
    keys = {field.encode_name for field in msgspec.structs.fields(struct(name))} - {"note"}
    if name == "Document":
        keys -= {"proxy", "log", "bad", "window", "eject", "probation", "guard", "state", "journal", "listen", "notify", "pool"}

    assert own == keys
    assert all(key.meaning and key.value for table, key in documented() if table == name)


def test_no_table_is_left_out() -> None:
    """Each table of the schema has a section; a single field of a log is told of in those of `fields`."""
    tables = {
        node.name
        for module in (schema, rules)
        for node in ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and issubclass(struct(node.name), rules.Table)
    }

    assert tables - {"Table", "Field", "TimedField"} == set(SECTIONS)


@pytest.mark.parametrize(
    ("name", "key"),
    [pytest.param(*one, id=f"{one[0]} {one[1].name}") for one in documented() if is_value(one[1].default)],
)
def test_a_default_is_the_one_that_holds(name: str, key: Key) -> None:
    """A file that writes the documented default means the same as one that leaves the key out."""
    title = SECTIONS[name]
    head = HEADERS.get(name, f"{title}\n")
    if name == "Proxy" and key.name in ONLY:
        head += f'kind = "{ONLY[key.name]}"\n' + ('admin = "http://127.0.0.1:8080"\n' if key.name == "drain" else "")
    without = parse(head.encode(), "x.toml", Path("/"))
    written = parse(f"{head}{key.name} = {key.default.strip('`')}\n".encode(), "x.toml", Path("/"))

    assert written == without


def test_every_command_is_in_it() -> None:
    """With its help, as it is printed."""
    text = PATH.read_text(encoding="utf-8")

    assert all(f"```text\n{help_of(name)}\n```" in text for name in SUMMARIES)


QUESTIONS = (PATH.parent / "QUESTIONS.md").read_text(encoding="utf-8")


def test_every_question_has_its_answer() -> None:
    """All are there, in order, each with where it was asked, in a row of four."""
    rows = [line.strip("| ").split(" | ") for line in QUESTIONS.splitlines() if line.startswith("| ")][1:]

    assert [int(row[0]) for row in rows] == list(range(1, 34))
    assert all(len(row) == 4 and all(row) for row in rows)


def test_what_the_answers_name_exists() -> None:
    """Keys with their tables, words that look like a key, and commands."""
    keys = {(SECTIONS[table].strip("[]"), key.name) for table, key in documented()}
    with_table = re.findall(r"`\[+([a-z]+)\]+ ([a-z_]+)", QUESTIONS)
    assert len(with_table) > 10
    assert set(with_table) <= keys

    known = {name for _, name in keys} | set(SUMMARIES) | WORDS
    for text in re.findall(r"`([^`]+)`", QUESTIONS):
        first = re.match(r"(?:tailhealth )?([a-z_]+)(?: = .*| --[a-z-]+.*)?$", text)
        if first is not None:
            assert first[1] in known, text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('Duration: how long. Default: "2s", for nginx "10s".', ("How long.", '"2s", for nginx "10s"', "")),
        ("One. Default: 2.0. `1`: always\nthe same.", ("One.", "2.0", "`1`: always the same.")),
        ("One. Default: 0.5. `0`: nothing. Off: `false`.", ("One.", "0.5", "`0`: nothing. Off: `false`.")),
        ("One. Default of each key: that of it. Off: `false`.", ("One.", "that of it", "Off: `false`.")),
        ("Needed.", ("Needed.", "", "")),
    ],
)
def test_how_a_docstring_is_taken_apart(text: str, parts: tuple[str, str, str]) -> None:
    """Meaning, default, and what else may stand there."""
    assert tests.reference.key("a", "bool", text)[2:] == parts
