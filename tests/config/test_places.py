"""Addresses, paths, zones and secrets, and what the loaded configuration answers about them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import orjson
import pytest

from tailhealth.config.errors import ConfigError
from tailhealth.config.loading import LONGEST_SOCKET_PATH, load, parse
from tailhealth.config.schema import Log
from tailhealth.config.secrets import Secret


@pytest.mark.parametrize(
    ("admin", "read"),
    [
        ("http://127.0.0.1:2019", "http://127.0.0.1:2019"),
        ("http://[::1]:2019/", "http://[::1]:2019"),
        ("https://caddy.internal", "https://caddy.internal"),
        ("http://proxy/behind/a/prefix/", "http://proxy/behind/a/prefix"),
        ("unix//run/caddy/admin.sock", "unix//run/caddy/admin.sock"),
    ],
)
def test_admin(admin: str, read: str) -> None:
    """The admin interface is reached by http, https or a unix socket."""
    assert parse(f'proxy.admin = "{admin}"'.encode()).proxy.admin == read


@pytest.mark.parametrize(
    ("admin", "text"),
    [
        ("127.0.0.1:2019", 'it lacks its scheme: write "http://127.0.0.1:2019"'),
        ("localhost:2019", 'it lacks its scheme: write "http://localhost:2019"'),
        ("unix/run/a.sock", 'the path of a socket begins with /: write "unix//run/a.sock"'),
        ("ftp://a", "expected the address of the admin interface"),
        ("http://a:99999", "expected the address of the admin interface"),
        ("http://a?b=c", "without ? and #"),
        ("http://me:hunter2@a", "a name or password in the address would be shown"),
        ("ftp://me:hunter2@a", "expected the address of the admin interface"),
    ],
)
def test_no_admin(admin: str, text: str) -> None:
    """What is no admin address is refused with the remedy, and a password in it is not repeated."""
    with pytest.raises(ConfigError) as caught:
        parse(f'proxy.admin = "{admin}"'.encode())
    assert text in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("http", ["127.0.0.1:9311", "127.8.9.1:1", "[::1]:9311", "localhost:9311", "127.0.0.1:0"])
def test_listen(http: str) -> None:
    """Loopback addresses are served."""
    assert parse(f'listen.http = "{http}"'.encode()).listen.http == http


@pytest.mark.parametrize(
    "http", [":9311", "0.0.0.0:9311", "[::]:9311", "192.0.2.1:9311", "example.com:80", "127.0.0.1", "9311", ""]
)
def test_listen_is_loopback(http: str) -> None:
    """No other machine can be served."""
    with pytest.raises(ConfigError, match="expected a loopback address with its port"):
        parse(f'listen.http = "{http}"'.encode())


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("10.0.0.1", 'lacks its port: write "10.0.0.1:*" for all ports or "10.0.0.1:80" for one'),
        ("10.0.0.[12]:80", "is neither an upstream nor a glob"),
    ],
)
def test_protected_is_exact(entry: str, text: str) -> None:
    """A guard does not guess: a host without a port is refused, and brackets are no glob."""
    with pytest.raises(ConfigError) as caught:
        parse(f'guard.protected = ["{entry}"]'.encode())
    assert text in str(caught.value)


@pytest.mark.parametrize(("entry", "read"), [("[::1]:9000", "[::1]:9000"), ("GPU-*", "gpu-*"), ("10.0.0.?:80", "10.0.0.?:80")])
def test_protected(entry: str, read: str) -> None:
    """Addresses become canonical, globs stay."""
    assert parse(f'guard.protected = "{entry}"'.encode()).guard.protected == (read,)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris"])
def test_zone(zone: str) -> None:
    """Zones have their usual names."""
    assert parse(f'[[log]]\npath = "a"\nzone = "{zone}"'.encode()).log[0].zone == zone


@pytest.mark.parametrize("zone", ["", "../../etc/passwd", "/etc/localtime", "Europe", "+02:00"])
def test_no_zone(zone: str) -> None:
    """What is no zone, or a path, is refused."""
    with pytest.raises(ConfigError, match="expected a time zone"):
        parse(f'[[log]]\npath = "a"\nzone = "{zone}"'.encode())


def test_fields() -> None:
    """A field is a key with its unit, or shortly just the key."""
    config = parse(b'[[log]]\npath = "a"\nfields = { header_time = { key = "a.b", unit = "ms" }, upstream = "ups" }')
    fields = config.log[0].fields
    assert fields.header_time is not None
    assert (fields.header_time.key, fields.header_time.unit) == ("a.b", "ms")
    assert fields.upstream is not None
    assert fields.upstream.key == "ups"
    assert fields.status is None


def test_unit_needs_a_time() -> None:
    """Only times have a unit."""
    with pytest.raises(ConfigError, match=r"log\[0\]\.fields\.status\.unit: unknown key"):
        parse(b'[[log]]\npath = "a"\nfields = { status = { key = "s", unit = "ms" } }')


def test_paths_are_meant_from_the_files_folder(tmp_path: Path) -> None:
    """A relative path in the file is meant from the folder of the file, `~` is home, `-` is standard input."""
    file = tmp_path / "tailhealth.toml"
    file.write_text(
        'state.dir = "s"\nproxy = { admin = "https://a", ca = "/c", cert = "~/x" }\nlog = [{ path = "a.log" }, { path = "-" }]'
    )
    config = load(file)
    assert config.state_dir() == tmp_path / "s"
    assert [one.path for one in config.log] == [str(tmp_path / "a.log"), "-"]
    assert (config.proxy.ca, config.proxy.cert) == ("/c", str(Path("~/x").expanduser()))
    assert config.source == str(file)


def test_unreadable(tmp_path: Path) -> None:
    """A file that is not there is one line with the remedy."""
    with pytest.raises(ConfigError, match="can't be read: No such file or directory; `tailhealth init` writes one"):
        load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="can't be read: Is a directory"):
        load(tmp_path)


def test_state_dir(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state directory is the configured one, else systemd's first, else one in the home directory."""
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    assert load(None).state_dir() == Path("/h/.local/state/tailhealth")
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/one:/var/lib/two")
    assert load(None).state_dir() == Path("/var/lib/one")
    assert load(None).control_socket() == Path("/var/lib/one/control.sock")
    assert parse(b'state.dir = "/s"').state_dir() == Path("/s")


@pytest.mark.parametrize(("extra", "fits"), [(0, True), (1, False)])
def test_socket_path_length(extra: int, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest path that a socket can have is taken, one byte more is a configuration error, counted in bytes."""
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    spare = LONGEST_SOCKET_PATH - len("/control.sock")
    directory = "/\N{LATIN SMALL LETTER E WITH ACUTE}" + "d" * (spare - 3 + extra)
    text = f'state.dir = "{directory}"'.encode()
    if fits:
        assert len(str(parse(text).control_socket()).encode()) == LONGEST_SOCKET_PATH
    else:
        with pytest.raises(ConfigError, match=r"state\.dir: the control socket would be .* choose a shorter directory"):
            parse(text)
        monkeypatch.setenv("STATE_DIRECTORY", directory)
        with pytest.raises(ConfigError, match=r"state\.dir: the control socket would be "):
            load(None).control_socket()


def test_log_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A LOG argument uses the entry of its path, an exact one before a glob; with several others it uses the defaults."""
    monkeypatch.chdir(tmp_path)
    text = b'[[log]]\npath = "b*.log"\nformat = "nginx"\n[[log]]\npath = "b1.log"\nformat = "caddy"\n[[log]]\npath = "-"'
    config = parse(text, folder=tmp_path)
    assert config.log_for("b1.log") is config.log[1]
    assert config.log_for(str(tmp_path / "." / "b1.log")) is config.log[1]
    assert config.log_for("./b2.log") is config.log[0]
    assert config.log_for("-") is config.log[2]
    assert config.log_for("deeper/b2.log") == Log(path=str(tmp_path / "deeper/b2.log"))


def test_log_for_the_only_entry() -> None:
    """With one entry every LOG argument uses it, with none the defaults."""
    config = parse(b'[[log]]\npath = "/a.log"\nformat = "nginx"')
    assert config.log_for("/b.log") is config.log_for("-") is config.log[0]
    assert load(None).log_for("-") == Log(path="-")


TOKEN = "hunter2-and-more"


def test_secrets_are_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers and webhooks come from the file, the environment or another file, and no representation shows them."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv("TAILHEALTH_TOKEN", TOKEN)
    text = f"""
        [proxy.headers]
        A = "{TOKEN}"
        B = "env:TAILHEALTH_TOKEN"
        C = "file:token"
        [[notify]]
        url = "https://example.com/{TOKEN}"
    """
    config = parse(text.encode(), folder=tmp_path)
    assert config.admin_headers() == {"A": TOKEN, "B": TOKEN, "C": TOKEN}
    assert config.notify[0].url is not None
    assert config.notify[0].url.reveal() == f"https://example.com/{TOKEN}"
    assert TOKEN not in repr(config)
    for encode in (msgspec.json.encode, orjson.dumps):
        with pytest.raises(TypeError):
            encode(config.notify[0].url)
    assert config == parse(text.encode(), folder=tmp_path)


def test_secrets_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is named by its key and its place; all at once."""
    monkeypatch.setenv("TAILHEALTH_BROKEN", f"{TOKEN}\r\nX: y")
    monkeypatch.delenv("TAILHEALTH_NONE", raising=False)
    (tmp_path / "latin").write_bytes(b"\xff")
    text = b'proxy.headers = { A = "env:TAILHEALTH_NONE", B = "file:none", C = "env:TAILHEALTH_BROKEN", D = "file:latin" }'
    with pytest.raises(ConfigError) as caught:
        parse(text, folder=tmp_path).admin_headers()
    assert [one.partition("proxy.")[2] for one in caught.value.problems] == [
        "headers.A: the environment variable TAILHEALTH_NONE is not set",
        f"headers.B: the file {tmp_path / 'none'} can't be read: No such file or directory",
        "headers.C: the environment variable TAILHEALTH_BROKEN holds a line break or a control character",
        f"headers.D: the file {tmp_path / 'latin'} is no UTF-8 text",
    ]
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("value", [f'"ftp://{TOKEN}"', f'"https:///{TOKEN}"', f'["{TOKEN}"]', f'"{TOKEN}"'])
def test_wrong_webhook_is_not_shown(value: str) -> None:
    """A webhook that is refused is not repeated: its path may be the secret."""
    with pytest.raises(ConfigError, match=r"notify\[0\]\.url: expected an address") as caught:
        parse(f"[[notify]]\nurl = {value}".encode())
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize("value", ["env:", "file:"])
def test_secret_without_a_place(value: str) -> None:
    """A reference to nowhere is refused."""
    with pytest.raises(ConfigError, match="after the colon a name is missing"):
        parse(f'proxy.headers.A = "{value}"'.encode())


def test_secret_is_hidden() -> None:
    """A secret shows nothing of itself."""
    assert repr(Secret(TOKEN)) == str(Secret(TOKEN)) == "Secret(hidden)"
