"""`init`: a configuration to begin with, and the proxy's part of the setup."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tailhealth.cli import main
from tailhealth.config import Config, load, parse
from tailhealth.views import snippets
from tailhealth.views.starter import starter

KINDS = ("caddy", "nginx", "nginx-plus")
CONTRIB = Path(__file__).parent.parent.parent / "contrib"
DEFAULT = re.compile(r"^#(?=[a-z_]+ = )", re.MULTILINE)


def init(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(main, ["init", *arguments])


@pytest.mark.parametrize("kind", KINDS)
def test_the_starter_is_valid(kind: str) -> None:
    """It is read without a problem, names its proxy and one log, and its rules are the defaults."""
    config = parse(starter(kind).encode())

    assert (config.proxy.kind, len(config.log)) == (kind, 1)
    assert config.settings() == Config().settings()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_commented_out_is_the_default(kind: str) -> None:
    """With every default taken in, the configuration means the same."""
    text = DEFAULT.sub("", starter(kind))
    shown, plain = parse(text.encode()), parse(starter(kind).encode())

    assert len(DEFAULT.findall(starter(kind))) > 25
    assert shown.settings() == plain.settings()
    assert shown.proxy.apply_interval == plain.proxy.apply_interval
    assert (shown.proxy.poll, shown.proxy.test, shown.proxy.reload, shown.proxy.pid, shown.on_stop) == (
        plain.proxy.poll,
        plain.proxy.test,
        plain.proxy.reload,
        plain.proxy.pid,
        plain.on_stop,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_its_examples_are_valid(kind: str) -> None:
    """The examples, which are indented in their comments, can be taken over as they stand."""
    lines = re.sub(r"^#    ", "", starter(kind), flags=re.MULTILINE)
    config = parse(lines.encode())

    assert [route.ignore for route in config.bad.route] == [False, True]
    assert config.pool["chat"].guard.protected == ("10.0.0.1:11434",)
    assert (config.state.dir, config.listen.http) == ("/var/lib/tailhealth", "127.0.0.1:9311")


@pytest.mark.parametrize("kind", KINDS)
def test_it_writes_a_file_for_its_owner(tmp_path: Path, kind: str) -> None:
    """The file is the starter, 0600, and the proxy's part is printed."""
    path = tmp_path / "t.toml"
    done = init("--kind", kind, "--output", str(path))

    assert done.exit_code == 0
    assert load(path).proxy.kind == kind
    assert path.read_text() == starter(kind)
    assert path.stat().st_mode & 0o777 == 0o600
    assert all(text in done.output for _, text in snippets.parts(kind))
    assert str(path) in done.output


def test_it_overwrites_nothing_unless_forced(tmp_path: Path) -> None:
    """A file that is there stays as it is, with exit code 2; `--force` replaces it, and leaves nothing beside it."""
    path = tmp_path / "t.toml"
    path.write_text("mine")
    path.chmod(0o644)
    refused = init("-o", str(path))

    assert (refused.exit_code, path.read_text()) == (2, "mine")
    assert "--force" in refused.output

    assert init("-o", str(path), "--force").exit_code == 0
    assert (path.read_text(), path.stat().st_mode & 0o777) == (starter("caddy"), 0o600)
    assert [one.name for one in tmp_path.iterdir()] == ["t.toml"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Where a link stands, even one that leads nowhere, nothing is written."""
    (tmp_path / "link").symlink_to(tmp_path / "target")
    done = init("-o", str(tmp_path / "link"))

    assert done.exit_code == 2
    assert not (tmp_path / "target").exists()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """That is work that failed, in one line."""
    done = init("-o", str(tmp_path / "no" / "t.toml"))

    assert done.exit_code == 1
    assert done.output.count("\n") == 1


def test_standard_output() -> None:
    """With `-`, the configuration and nothing else is printed."""
    done = init("-o", "-", "--kind", "nginx")

    assert done.output == starter("nginx")
    assert tomllib.loads(done.output)["proxy"]["kind"] == "nginx"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("caddy/Caddyfile", snippets.CADDYFILE),
        ("nginx/log_format.conf", snippets.LOG_FORMAT),
        ("nginx/site.conf", snippets.SITE),
        ("nginx/chat.conf", snippets.SERVERS),
    ],
)
def test_contrib_is_what_init_prints(name: str, text: str) -> None:
    """The files of `contrib/`, which real proxies run with in other tests, are the texts that `init` prints."""
    assert (CONTRIB / name).read_text() == text
