"""The shape of the package (DESIGN section 2): who may import whom, and what the core never touches."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tailhealth

ROOT = Path(tailhealth.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("*.py"))
LONGEST = 300
"""Lines of a file; past that, a value hides in the middle."""
LONGER: dict[str, str] = {}
"""Files that may be longer, each with the reason."""

MAY_IMPORT = {
    "core": {"core"},
    "logs": {"core", "logs"},
    "proxies": {"core", "proxies"},
    "config": {"core", "config"},
    "service": {"core", "logs", "proxies", "config", "service", "views"},
    "views": {"core", "logs", "proxies", "config", "views"},
    "cli": {"core", "logs", "proxies", "config", "service", "views", "cli"},
    "": {"", "cli"},
}
"""Imports go one way: core <- logs, proxies, config <- service, views <- cli. The views know nothing of the service."""

PURE = {
    "__future__", "array", "bisect", "collections", "dataclasses", "enum", "fnmatch", "functools", "hashlib", "heapq",
    "ipaddress", "itertools", "math", "msgspec", "operator", "re", "typing",
}  # fmt: skip
"""What the core may import: the standard library's pure parts and msgspec."""
IMPURE_CALLS = {"open", "print", "input", "eval", "exec", "__import__", "breakpoint", "id", "hash", "globals", "vars"}
"""`hash` and `id` differ from run to run."""


def part(file: Path) -> str:
    """Return the part of the package that a file belongs to, `` for its top."""
    names = file.relative_to(ROOT).parts
    return names[0] if len(names) > 1 else ""


@cache
def tree(file: Path) -> ast.Module:
    """Parse a file once for all rules."""
    return ast.parse(file.read_text())


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """Return all that a file consists of."""
    return tuple(ast.walk(tree(file)))


def imports(file: Path) -> Iterator[str]:
    """Yield the full name of every module that a file imports, wherever in the file."""
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}: relative imports hide where a name comes from"
            module = node.module or ""
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names if module == "tailhealth")


FLAGS = {"live", "is_live", "replay", "is_replay", "replaying", "one_shot", "offline"}


def flags(file: Path) -> Iterator[str]:
    """Yield the boolean arguments, fields and keywords of a file that would tell a part which mode it runs in."""
    for node in nodes(file):
        match node:
            case (
                ast.arg(arg=name, annotation=ast.Name(id="bool"))
                | ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="bool"))
                | ast.AnnAssign(target=ast.Attribute(attr=name), annotation=ast.Name(id="bool"))
                | ast.keyword(arg=str(name), value=ast.Constant(value=bool()))
            ) if name in FLAGS:
                yield name


def _name(file: Path) -> str:
    return file.relative_to(ROOT.parent).as_posix()


def test_imports_go_one_way() -> None:
    """No part knows of the parts above it."""
    for file in FILES:
        own = {name for name in imports(file) if name.split(".")[0] == "tailhealth" and "." in name}
        parts = {name.split(".")[1] for name in own if (ROOT / name.split(".")[1]).is_dir()}
        assert parts - MAY_IMPORT[part(file)] == set(), _name(file)


CORE = [file for file in FILES if part(file) == "core"]


def test_the_core_imports_only_what_is_pure() -> None:
    """No clock, no dice, no I/O: they come in as values or not at all."""
    for file in CORE:
        roots = {name.split(".")[0] for name in imports(file)}
        assert roots - PURE - {"tailhealth"} == set(), _name(file)


def test_the_core_calls_nothing_impure() -> None:
    """Nor do built-ins bring them in."""
    for file in CORE:
        calls = {node.func.id for node in nodes(file) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        assert calls & IMPURE_CALLS == set(), _name(file)


def test_the_core_keeps_nothing_between_engines() -> None:
    """No `global`, and no module-level container but constants: nothing can grow there."""
    for file in CORE:
        assert not [node for node in nodes(file) if isinstance(node, ast.Global | ast.Nonlocal)], file.name
        for node in tree(file).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.List | ast.Dict | ast.Set):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [one.id for one in targets if isinstance(one, ast.Name)]
                assert all(name.isupper() or name == "__all__" for name in names), f"{file.name}:{node.lineno}"


BELOW = [file for file in FILES if part(file) not in ("cli", "")]


def test_nothing_below_the_command_line_knows_whether_it_is_live() -> None:
    """`run` and `replay` differ in two objects only; a flag would be the beginning of two modes."""
    assert {_name(file): found for file in BELOW if (found := list(flags(file)))} == {}


def test_files_are_short() -> None:
    """Nobody reads a long file; the list of exceptions gives a reason for each."""
    lengths = {file: len(file.read_text().splitlines()) for file in (*FILES, *TESTS)}

    assert {str(file): lines for file, lines in lengths.items() if lines > LONGEST and file.name not in LONGER} == {}


def test_tests_neither_sleep_nor_patch() -> None:
    """A test waits for its event and gets its doubles as arguments."""
    for file in set(TESTS) - {Path(__file__)}:
        assert [word for word in ("time.sleep", "mock.patch", "monkeypatch.setattr") if word in file.read_text()] == [], file


def test_the_pure_list_is_of_this_python() -> None:
    """Every module of the list exists, so that a misspelt one hides nothing."""
    assert PURE - {"msgspec", "__future__"} <= sys.stdlib_module_names
