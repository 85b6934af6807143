"""The include file: read as nginx reads it, and changed so that nothing of the operator's is touched."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import crossplane
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailhealth.proxies.nginx_include import entry, parse, render
from tailhealth.proxies.nginx_words import Broken, directives

BLANKS = st.sampled_from([" ", "\t", "  ", "\n", "\r\n", " # note; {with} 'signs'\n", "\n\t# tailhealth is not our mark\n  "])
GAPS = st.one_of(st.just(""), BLANKS)
PARAMETERS = st.sampled_from(
    [
        "weight=5",
        "max_conns=7",
        '"max_conns=9"',
        "max_fails=0",
        "fail_timeout=1m",
        "backup",
        "down",
        "resolve",
        "slow_start=30s",
        "route=a#b",
        "drain",
        "un'known\\;=x",
        "${odd}=1",
    ]
)
ADDRESSES = st.sampled_from(["127.0.0.1:1", "'10.0.0.1'", "[::1]:9000", "unix:/run/a.sock", "node-1.internal:80", '"a b\\"c"'])


@st.composite
def files(draw: st.DrawFn) -> str:
    """Write a file as an operator might."""
    text = draw(GAPS)
    for _ in range(draw(st.integers(1, 4))):
        words = ["server", draw(ADDRESSES), *draw(st.lists(PARAMETERS, max_size=3))]
        for index, word in enumerate(words):
            text += (draw(BLANKS) if index else "") + word
        text += draw(GAPS) + ";" + draw(GAPS)
        if draw(st.integers(0, 5)) == 0:
            text += f"keepalive 16;{draw(GAPS)}"
    return text


WANTED = st.dictionaries(st.integers(0, 3), st.tuples(st.booleans(), st.one_of(st.none(), st.integers(1, 4))), max_size=4)


@given(files(), WANTED, WANTED, st.text(max_size=20))
def test_what_is_ours_can_be_read_and_taken_out_again(
    text: str, first: dict[int, tuple[bool, int | None]], second: dict[int, tuple[bool, int | None]], why: str
) -> None:
    """Whatever is marked, and marked anew over it: it is read back as it was meant, and the rest is the operator's own."""
    original = parse(text)
    assert original.own == text
    assert not any(one.down or one.limit for one in original.servers)
    for wanted in (first, second):
        marked = parse(render(original, wanted, lambda _: why))
        assert marked.own == text
        for index, one in enumerate(marked.servers):
            assert (one.down, one.limit) == wanted.get(index, (False, None))
            assert one.parameters == original.servers[index].parameters
    again = parse(render(parse(render(original, first, lambda _: why)), second, lambda _: "again"))
    assert again == parse(render(original, second, lambda _: why))
    assert render(again, {}, lambda _: why) == text


@given(files(), WANTED)
def test_words_are_those_that_another_parser_finds(text: str, wanted: dict[int, tuple[bool, int | None]]) -> None:
    """A second reading of nginx's language, by a library, finds the same directives, marked or not."""
    marked = render(parse(text), wanted, lambda _: "a reason")
    tokens = [token for token, _, quoted in _lexed(marked) if quoted or not token.startswith("#")]
    mine = [word for one in directives(marked) for word in [*(marked[w.start : w.end] for w in one.words), ";"]]
    assert [_bare(one) for one in mine] == [_bare(one) for one in tokens]


def _lexed(text: str) -> list[tuple[str, int, bool]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "include.conf"
        path.write_bytes(text.encode())
        return list(crossplane.lex(str(path)))


def _bare(word: str) -> str:
    quote = word[:1] if word[:1] in {"'", '"'} and len(word) > 1 else ""
    return (word[1:-1] if quote else word).replace('\\"', '"')


def test_how_it_looks() -> None:
    """The comment stands above, in the same column, and says why; parameters and the operator's comment stay where they are."""
    text = "# nodes\n    server 10.0.0.1:80 weight=5;  # big\n    server 10.0.0.2:80;\n"
    marked = render(parse(text), {0: (True, None), 1: (False, 1)}, lambda address: f"{address}: 6 of 8 bad")
    assert marked == (
        "# nodes\n"
        "    # tailhealth-set down: 10.0.0.1:80: 6 of 8 bad\n"
        "    server 10.0.0.1:80 weight=5 down;  # big\n"
        "    # tailhealth-set max_conns=1: 10.0.0.2:80: 6 of 8 bad\n"
        "    server 10.0.0.2:80 max_conns=1;\n"
    )


def test_a_reason_can_not_break_out_of_its_comment() -> None:
    """Line ends and other signs of a reason are made harmless, and it is cut."""
    marked = render(parse("server a:1;"), {0: (True, None)}, lambda _: "x\n;evil \x1b[31m\u2028é" + "y" * 500)
    assert marked.startswith("# tailhealth-set down: x?;evil ?[31m??yyy")
    assert marked.count("\n") == 1
    assert len(marked) < 400
    assert parse(marked).own == "server a:1;"


@pytest.mark.parametrize(
    "text",
    [
        "# tailhealth-set down: why\nserver a:1;",
        "# tailhealth-set down: why\nserver a:1 down backup;",
        "# tailhealth-set down: why\nserver a:1 nodown;",
        "# tailhealth-set down: why\nserver a:1  'down';",
        "# tailhealth-set max_conns=1: why\nserver a:1 max_conns=2;",
        "# tailhealth-set:\nserver a:1 down;",
        "# tailhealth-set down: why\n\nserver a:1 down;",
        "# tailhealth-set down: why\nkeepalive 3 down;server a:1;",
    ],
)
def test_where_the_operator_was_at_it_nothing_is_ours(text: str) -> None:
    """A mark whose parameters are gone or moved claims nothing: what stands there is the operator's."""
    found = parse(text)
    assert not any(one.down or one.limit for one in found.servers)
    assert "tailhealth" not in found.own
    assert found.own == text.partition("\n")[2]


def test_a_mark_within_a_comment_is_no_mark() -> None:
    """The operator may write about our marks."""
    text = "# it wrote: # tailhealth-set down: why\nserver a:1 down;# tailhealth-set down: x"
    assert parse(text).own == text


def test_a_mark_whose_server_is_gone_is_taken_out() -> None:
    """It would be about the next server, or about none."""
    assert parse("server a:1;\n# tailhealth-set down: why\n").own == "server a:1;\n"
    assert parse("# tailhealth-set down: why\n# tailhealth-set down: why\nserver a:1 down;").own == "server a:1;"


@pytest.mark.parametrize(
    ("line", "address", "numbers", "flags"),
    [
        ("server 10.0.0.1;", "10.0.0.1:80", (None, 1), (False, False)),
        ("server 10.0.0.1:8080 weight=5 max_conns=7;", "10.0.0.1:8080", (7, 5), (False, False)),
        ("server NODE.test:1 max_conns=7 max_conns=0 backup;", "node.test:1", (0, 1), (True, False)),
        ("server [2001:DB8::1]:9 down;", "[2001:db8::1]:9", (None, 1), (False, True)),
        ("server unix:/run/a.sock max_conns=x;", "unix//run/a.sock", (None, 1), (False, False)),
        ("server '10.0.0.1:1' drain;", "10.0.0.1:1", (None, 1), (False, True)),
    ],
)
def test_a_server_as_an_entry(line: str, address: str, numbers: tuple[int | None, int], flags: tuple[bool, bool]) -> None:
    """Addresses are canonical, the operator's own `down` is held down and not ours."""
    (server,) = parse(line).servers
    one = entry(server)
    assert (one.address, (one.limit, one.weight), (one.backup, one.held_down)) == (address, numbers, flags)
    assert (one.out, one.problem) == (False, "")


def test_our_limit_hides_the_operators_and_our_down_is_out() -> None:
    """What nginx works with is read, and the entry's identity is the operator's line."""
    text = "server a:1 max_conns=7;server a:2;"
    (one, two) = parse(render(parse(text), {0: (False, 1), 1: (True, None)}, str)).servers
    assert (entry(one).limit, entry(one).out, entry(one).raw) == (1, False, {"server": "a:1 max_conns=7"})
    assert (entry(two).limit, entry(two).out, entry(two).held_down) == (None, True, False)


@pytest.mark.parametrize(("line", "words"), [("server $x:1;", "can't be acted on"), ("server a service=b resolve;", "SRV")])
def test_servers_that_can_not_be_acted_on(line: str, words: str) -> None:
    """They are listed, with the reason."""
    (server,) = parse(line).servers
    assert words in entry(server).problem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("server a:1", "line 1: unexpected end of the file, a `;` is missing"),
        ("server a:1;\n;", "line 2: unexpected `;`"),
        ("server a:1;\nbalancer_by_lua_block { x }", "line 2: unexpected `{`"),
        ("}", "line 1: unexpected `}`"),
        ("server 'a:1;", "line 1: unexpected end of the file"),
        ("server 'a'b;", "line 1: unexpected 'b' after a quote"),
        ("server a\\", "line 1: unexpected end of the file"),
    ],
)
def test_what_nginx_would_not_read(text: str, words: str) -> None:
    """The line is named, in words like nginx's."""
    with pytest.raises(Broken) as error:
        parse(text)
    assert str(error.value).startswith(words)
