"""Every key of the file: its default, what an explicit zero means, and how a value that does not fit is refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec.inspect as mi
import pytest
from msgspec import UNSET

from tailhealth.config import rules, schema
from tailhealth.config.errors import ConfigError
from tailhealth.config.hints import unwrap
from tailhealth.config.loading import Config, load, parse
from tailhealth.config.merge import SECTIONS
from tailhealth.config.schema import Document
from tailhealth.config.statuses import Busy
from tailhealth.core.rules import SERVER_ERRORS

REFUSED = object()
"""An explicit zero is an error."""


class Row(NamedTuple):
    """One key."""

    key: str
    default: Any
    zero: Any
    unfit: str
    """A value that does not fit, as TOML."""
    text: str
    """What the error says."""


NO_TEXT = "expected a text, got 3"
SOME = "must be more than 0, got "
ANY = "must be at least 0, got -1"
COUNT = "must be at least 1, got -1"
SWITCH = 'expected true or false, got "on"'
STATUSES = 'expected statuses such as "5xx", "502", "500-504" or "!501", got "bad"'
PATH = 'expected a path, got ""'
TABLE = "expected a table, got 3"

BAD = [
    Row("status", SERVER_ERRORS, REFUSED, '["bad"]', STATUSES),
    Row("grpc_status", frozenset(), REFUSED, "[17]", "expected gRPC statuses from 1 to 16 as numbers, got 17"),
    Row("slower_than", 120.0, REFUSED, "-1", SOME + "-1; false turns it off"),
    Row("total_slower_than", None, REFUSED, "-1", SOME + "-1; false turns it off"),
    Row("refused", True, REFUSED, '"on"', SWITCH),
    Row("timed_out", True, REFUSED, '"on"', SWITCH),
    Row("abandoned_after", UNSET, 0.0, "-1", ANY + "; false turns it off"),
    Row("truncated", True, REFUSED, '"on"', SWITCH),
    Row("busy", Busy(), REFUSED, '["bad"]', STATUSES),
    Row("uploads", False, REFUSED, '"on"', SWITCH),
]
ROUTE = [Row(row.key, UNSET, *row[2:]) for row in BAD]
OVERRIDABLE = [
    *(Row(f"bad.{row.key}", *row[1:]) for row in BAD),
    Row("bad.stalled_after", UNSET, REFUSED, "-1", SOME + "-1; false turns it off"),
    Row("window.last", 8, REFUSED, "65", "must be at least 1 and at most 64, got 65"),
    Row("window.span", 30.0, 0.0, "-1", ANY),
    Row("window.within", 600.0, REFUSED, "-1", SOME + "-1"),
    Row("window.min_requests", 4, REFUSED, "-1", COUNT),
    Row("window.ratio", 0.6, REFUSED, "1.01", "must be more than 0 and at most 1, got 1.01; false turns it off"),
    Row("window.consecutive_refused", 2, REFUSED, "-1", COUNT + "; false turns it off"),
    Row("window.consecutive_unanswered", 8, REFUSED, "-1", COUNT + "; false turns it off"),
    Row("window.unanswered_after", 1.0, 0.0, "-1", ANY),
    Row("window.clients", UNSET, REFUSED, "-1", COUNT),
    Row("eject.for", 30.0, REFUSED, "-1", SOME + "-1"),
    Row("eject.backoff", 2.0, REFUSED, "0.99", "must be at least 1, got 0.99"),
    Row("eject.max", 600.0, REFUSED, "-1", SOME + "-1"),
    Row("eject.jitter", 0.1, 0.0, "1.01", "must be at least 0 and at most 1, got 1.01"),
    Row("probation.requests", 3, REFUSED, "-1", COUNT),
    Row("probation.bad", 1, REFUSED, "-1", COUNT),
    Row("probation.max_in_flight", 1, REFUSED, "-1", COUNT + "; false turns it off"),
    Row("guard.protected", (), REFUSED, '["x y"]', '"x y" is neither an upstream nor a glob'),
    Row("guard.max_ejected", 0.5, 0.0, "1.01", "must be at least 0 and at most 1, got 1.01; false turns it off"),
    Row("guard.min_serving", 1, REFUSED, "-1", COUNT),
    Row("guard.common_cause", True, REFUSED, '"on"', SWITCH),
    Row("guard.chance", 1e-4, REFUSED, "1.01", "must be more than 0 and at most 1, got 1.01"),
    Row("guard.settle", 10.0, 0.0, "-1", ANY),
    Row("mode", "enforce", REFUSED, '"observer"', 'expected "enforce" or "observe", got "observer"; did you mean "observe"?'),
]
FIELDS = [name for name in schema.Fields.__struct_fields__ if name != "note"]
ROWS = [
    *OVERRIDABLE,
    Row("lateness", 1.0, 0.0, "-1", ANY),
    Row("on_stop", "restore", REFUSED, '"stay"', 'expected "leave" or "restore", got "stay"'),
    Row("proxy.kind", "caddy", REFUSED, '"apache"', 'expected "caddy", "nginx" or "nginx-plus", got "apache"'),
    Row("proxy.admin", "http://127.0.0.1:2019", REFUSED, '"x"', "expected the address of the admin interface"),
    Row("proxy.headers", {}, REFUSED, "3", TABLE),
    Row("proxy.ca", None, REFUSED, '""', PATH),
    Row("proxy.cert", None, REFUSED, '""', PATH),
    Row("proxy.key", None, REFUSED, '""', PATH),
    Row("proxy.timeout", 10.0, REFUSED, "-1", SOME + "-1"),
    Row("proxy.poll", 5.0, REFUSED, "-1", SOME + "-1"),
    Row("proxy.drift_poll", 60.0, REFUSED, "-1", SOME + "-1"),
    Row("proxy.coalesce", 0.25, 0.0, "-1", ANY),
    Row("proxy.min_apply_interval", UNSET, 0.0, "-1", ANY),
    Row("proxy.include", {}, REFUSED, "3", TABLE),
    Row("proxy.test", ("nginx", "-t"), REFUSED, "[]", 'expected a command as a list such as ["nginx", "-t"], got []'),
    Row("proxy.reload", ("nginx", "-s", "reload"), REFUSED, '"x"', "expected a command as a list"),
    Row("proxy.pid", "/run/nginx.pid", REFUSED, '""', PATH),
    Row("proxy.drain", False, REFUSED, '"on"', SWITCH),
    Row("state.dir", None, REFUSED, '""', PATH),
    Row("journal.max_bytes", 16777216, REFUSED, "4095", "must be at least 4096, got 4095"),
    Row("journal.keep", 4, 0, "-1", ANY),
    Row("listen.http", None, REFUSED, '"0.0.0.0:9311"', '"0.0.0.0:9311" is no loopback address'),
    Row("log", (), REFUSED, "3", "expected a list of tables, got 3; write [[log]] with double brackets"),
    Row("notify", (), REFUSED, "3", "expected a list of tables, got 3; write [[notify]] with double brackets"),
    Row("pool", {}, REFUSED, "3", TABLE),
    Row("bad.route", (), REFUSED, "3", "expected a list of tables, got 3; write [[route]] with double brackets"),
    Row("note", "", REFUSED, "3", NO_TEXT),
    *(Row(f"{table}.note", "", REFUSED, "3", NO_TEXT) for table in ("proxy", "state", "journal", "listen", *SECTIONS)),
]
ENTRIES = [
    Row("log[0].format", "auto", REFUSED, '"Caddy"', 'expected "auto", "caddy" or "nginx", got "Caddy"; did you mean "caddy"?'),
    Row("log[0].zone", "UTC", REFUSED, '"Mars"', 'expected a time zone such as "UTC" or "Europe/Paris", got "Mars"'),
    Row("log[0].fields", schema.Fields(), REFUSED, "3", TABLE),
    Row("log[0].note", "", REFUSED, "3", NO_TEXT),
    *(Row(f"log[0].fields.{name}", None, REFUSED, "3", TABLE) for name in FIELDS),
    Row("log[0].fields.note", "", REFUSED, "3", NO_TEXT),
    Row("notify[0].url", None, REFUSED, "3", 'expected an address, "env:NAME" or "file:PATH" as text'),
    Row("notify[0].note", "", REFUSED, "3", NO_TEXT),
    *(Row(f"bad.route[0].{row.key}", *row[1:]) for row in ROUTE),
    Row("bad.route[0].method", (), REFUSED, "[3]", 'expected methods such as "POST", got 3'),
    Row("bad.route[0].host", (), REFUSED, "[3]", "expected hosts or globs"),
    Row("bad.route[0].ignore", False, REFUSED, '"on"', SWITCH),
    Row("bad.route[0].note", "", REFUSED, "3", NO_TEXT),
    Row("pool.a.upstreams", (), REFUSED, '["-"]', '"-" is no upstream: no address is given'),
    Row("pool.a.host", (), REFUSED, "[3]", "expected hosts or globs"),
    Row("pool.a.path", (), REFUSED, '["x"]', 'the path "x" matches nothing: a path begins with /'),
    Row("pool.a.note", "", REFUSED, "3", NO_TEXT),
    *(Row(f"pool.a.{row.key}", *row[1:]) for row in OVERRIDABLE),
]
NEEDED = {
    "log[0]": '[[log]]\npath = "a"\n',
    "notify[0]": '[[notify]]\ncommand = ["a"]\n',
    "bad.route[0]": '[[bad.route]]\npath = "/a"\n',
    "pool.a": '[pool.a]\nid = "a"\n',
}
"""What makes an entry complete, before the key under test is added."""


def document(key: str, value: str) -> bytes:
    """Write a file that sets one key."""
    for entry, needed in NEEDED.items():
        if key.startswith(f"{entry}."):
            return f"{needed}{key.removeprefix(f'{entry}.')} = {value}\n".encode()
    return f"{key} = {value}\n".encode()


def value_at(config: Config, key: str) -> Any:
    """Look a key up in a configuration."""
    found: Any = config
    for part in key.replace("[0]", ".0").split("."):
        if isinstance(found, tuple):
            found = found[int(part)]
        elif isinstance(found, dict):
            found = found[part]
        else:
            found = getattr(found, "for_" if part == "for" else part)
    return found


@pytest.mark.parametrize(("config", "rows"), [(load(None), ROWS), (parse("\n".join(NEEDED.values()).encode()), ENTRIES)])
def test_defaults(config: Config, rows: list[Row]) -> None:
    """A key that is absent from a file, or from an entry, has its documented default."""
    assert {row.key: value_at(config, row.key) for row in rows} == {row.key: row.default for row in rows}


@pytest.mark.parametrize("row", [*ROWS, *ENTRIES], ids=lambda row: row.key)
def test_zero(row: Row) -> None:
    """An explicit zero is never taken for an absent key: it is itself, or an error."""
    if row.zero is REFUSED:
        with pytest.raises(ConfigError, match=r".") as caught:
            parse(document(row.key, "0"))
        assert caught.value.problems[0].startswith(f"tailhealth.toml: {row.key}: ")
    else:
        assert value_at(parse(document(row.key, "0")), row.key) == row.zero


@pytest.mark.parametrize("row", [*ROWS, *ENTRIES], ids=lambda row: row.key)
def test_unfit(row: Row) -> None:
    """A value that does not fit is refused in one line with the full key and what is expected."""
    with pytest.raises(ConfigError) as caught:
        parse(document(row.key, row.unfit))
    assert caught.value.problems[0].startswith(f"tailhealth.toml: {row.key}: {row.text}"), caught.value.problems
    assert "\n" not in caught.value.problems[0]


@pytest.mark.parametrize(
    ("key", "inside", "outside"),
    [
        ("window.last", "1", "0"),
        ("window.last", "64", "65"),
        ("window.min_requests", "1", "0"),
        ("window.ratio", "1", "1.0001"),
        ("window.ratio", "0.0001", "0"),
        ("window.consecutive_refused", "1", "0"),
        ("window.clients", "1", "0"),
        ("eject.backoff", "1", "0.9999"),
        ("eject.jitter", "1", "1.0001"),
        ("eject.jitter", "0", "-0.0001"),
        ("eject.for", "0.001", "0"),
        ("probation.requests", "1", "0"),
        ("probation.max_in_flight", "1", "0"),
        ("guard.max_ejected", "1", "1.0001"),
        ("guard.max_ejected", "0", "-0.0001"),
        ("guard.min_serving", "1", "0"),
        ("guard.chance", "1", "1.0001"),
        ("guard.chance", "1e-12", "0"),
        ("bad.slower_than", '"1ms"', '"0s"'),
        ("bad.stalled_after", '"1ms"', '"0s"'),
        ("bad.abandoned_after", "0", "-0.001"),
        ("journal.max_bytes", "4096", "4095"),
        ("journal.keep", "0", "-1"),
        ("lateness", '"366d"', '"366d1s"'),
        ("listen.http", '"127.0.0.1:65535"', '"127.0.0.1:65536"'),
    ],
)
def test_boundary(key: str, inside: str, outside: str) -> None:
    """The last value inside a range is taken, the first one outside is not."""
    parse(document(key, inside))
    with pytest.raises(ConfigError) as caught:
        parse(document(key, outside))
    assert caught.value.problems[0].startswith(f"tailhealth.toml: {key}: ")


@pytest.mark.parametrize("value", ["2.0", "true", '"2"'])
def test_whole_number(value: str) -> None:
    """A count is a whole number, not a fraction, a switch or a text."""
    with pytest.raises(ConfigError, match="expected a whole number, got "):
        parse(document("window.last", value))


@pytest.mark.parametrize("value", ["nan", "inf", "true", '"0.5"'])
def test_number(value: str) -> None:
    """A share is a finite number."""
    with pytest.raises(ConfigError, match="expected a number, got "):
        parse(document("window.ratio", value))


WITHOUT_ROW = {
    "log[0].path",
    "bad.route[0].path",
    "notify[0].command",
    "pool.a.id",
    *(f"pool.a.{name}.note" for name in SECTIONS),
    "pool.a.bad.route",
}
"""Keys that `NEEDED` sets, and keys whose rows stand elsewhere."""


def keys(spec: mi.Type, path: str) -> Iterator[str]:
    """Name every key of the schema, in the spelling of the rows."""
    if not isinstance(spec, mi.StructType):
        return
    for field in spec.fields:
        inner = unwrap(field.type)[0]
        name = f"{path}{field.encode_name}"
        if isinstance(inner, mi.VarTupleType) and isinstance(inner.item_type, mi.StructType) and not path.startswith("pool"):
            yield from keys(inner.item_type, f"{name}[0].")
        elif isinstance(inner, mi.DictType) and isinstance(inner.value_type, mi.StructType):
            yield from keys(inner.value_type, f"{name}.a.")
        elif isinstance(inner, mi.StructType) and inner.cls is not Busy and not issubclass(inner.cls, schema.Field):
            yield from keys(inner, f"{name}.")
        else:
            yield name


def test_every_key_has_a_row() -> None:
    """A key that is added to the schema needs its row here."""
    assert set(keys(mi.type_info(Document), "")) <= {row.key for row in (*ROWS, *ENTRIES)} | WITHOUT_ROW


@pytest.mark.parametrize("module", [schema, rules])
def test_every_field_is_documented(module: Any) -> None:
    """Each public field has a docstring below it, from which a reference can be made."""
    tables = [
        node for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)
    ]
    assert tables
    for table in (one for one in tables if one.name != "Clash"):
        assert ast.get_docstring(table)
        for node, below in zip(table.body, [*table.body[1:], None], strict=True):
            if isinstance(node, ast.AnnAssign) and "ClassVar" not in ast.unparse(node.annotation):
                documented = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
                assert documented, f"{table.name}.{ast.unparse(node.target)}"
