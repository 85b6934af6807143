"""What the main configuration tells of upstream blocks, and names behind servers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailhealth.proxies.nginx_main import Block, Main, read
from tailhealth.proxies.nginx_names import Names, look_up


def main(folder: Path, http: str, *, include: str = "server 127.0.0.1:1;") -> Main:
    """Read a configuration whose block `chat` includes an owned file."""
    (folder / "chat.conf").write_text(include)
    (folder / "nginx.conf").write_text(f"events {{}}\nhttp {{\n{http}\n}}\n")
    return read(str(folder / "nginx.conf"), frozenset({os.path.realpath(folder / "chat.conf")}))


def chat(folder: Path, http: str) -> Block:
    """Return what is known of `chat`."""
    return main(folder, "upstream chat { include chat.conf; }\n" + http).blocks["chat"]


def test_a_block_and_what_it_includes(tmp_path: Path) -> None:
    """Includes are found through links, a zone and servers outside of the owned file too."""
    (tmp_path / "link.conf").symlink_to(tmp_path / "chat.conf")
    (tmp_path / "more.conf").write_text("server 10.0.0.9:80 weight=2;")
    found = main(tmp_path, "upstream chat { zone c 64k; include link.conf; include more.*; server 10.0.0.8; }")
    block = found.blocks["chat"]
    assert os.path.realpath(tmp_path / "chat.conf") in block.includes
    assert (block.zone, block.sticky, found.problem) == (True, False, "")
    assert [one.words for one in block.strays] == [("10.0.0.9:80", "weight=2"), ("10.0.0.8",)]


@pytest.mark.parametrize("method", ["ip_hash;", "hash $uri consistent;", "sticky cookie srv;"])
def test_methods_that_bind_clients(tmp_path: Path, method: str) -> None:
    """They need two clients before anything is believed."""
    assert main(tmp_path, f"upstream chat {{ {method} include chat.conf; }}").blocks["chat"].sticky
    assert not main(tmp_path, "upstream chat { least_conn; include chat.conf; }").blocks["chat"].sticky


@pytest.mark.parametrize(
    ("server", "hosts"),
    [
        ("server_name A.test *.b.test; location / { proxy_pass http://chat; }", ("a.test", "*.b.test")),
        ("server_name .c.test; location / { proxy_pass http://chat; }", ("c.test", "*.c.test")),
        ("server_name _; location / { proxy_pass http://chat; }", ()),
        ("server_name a.test ~^x; location / { proxy_pass http://chat; }", ()),
        ("location / { proxy_pass http://chat; }", ()),
    ],
)
def test_hosts_that_lead_to_a_block(tmp_path: Path, server: str, hosts: tuple[str, ...]) -> None:
    """Names become globs; patterns that are none are not to be told."""
    assert chat(tmp_path, f"server {{ {server} }}").hosts == hosts


@pytest.mark.parametrize(
    ("location", "paths"),
    [
        ("location /api/ { proxy_pass http://chat; }", ("/api/*",)),
        ("location ^~ /api { proxy_pass https://chat/v1/; }", ("/api*",)),
        ("location = /one { grpc_pass grpc://chat; }", ("/one",)),
        ("location /a/ { location /a/b/ { proxy_pass http://chat?x; } }", ("/a/b/*",)),
        ("location /a/ { if ($x) { proxy_pass http://chat; } }", ("/a/*",)),
        ("location /a/ { fastcgi_pass chat; } location /b/ { uwsgi_pass chat; }", ("/a/*", "/b/*")),
        ("location /a/ { proxy_pass http://chat; } location / { proxy_pass http://chat; }", ()),
        ("location ~ \\.php$ { fastcgi_pass chat; }", ()),
        ("location @named { proxy_pass http://chat; }", ()),
        ("location /a/ { proxy_pass http://chat:80; } location /b/ { proxy_pass http://$chat; }", ()),
    ],
)
def test_paths_that_lead_to_a_block(tmp_path: Path, location: str, paths: tuple[str, ...]) -> None:
    """Locations become globs, as long as every way to the block has one."""
    assert chat(tmp_path, f"server {{ {location} }}").paths == paths


@pytest.mark.parametrize(
    ("http", "logged"),
    [
        ("server { location / { proxy_pass http://chat; } }", True),
        ("access_log off; server { location / { proxy_pass http://chat; } }", False),
        ("server { access_log off; location / { access_log a.log; proxy_pass http://chat; } }", True),
        ("server { access_log a.log; location / { access_log off; proxy_pass http://chat; } }", False),
    ],
)
def test_whether_it_is_logged(tmp_path: Path, http: str, logged: bool) -> None:
    """The innermost word on the access log counts."""
    assert chat(tmp_path, http).logged == logged


def test_the_digest_is_of_the_operators_files(tmp_path: Path) -> None:
    """Our own file is told apart by itself; any other file that is included counts."""
    http = "upstream chat { include chat.conf; include more.*; }"
    (tmp_path / "more.conf").write_text("server 10.0.0.9:80;")
    before = main(tmp_path, http).digest
    assert main(tmp_path, http, include="server 127.0.0.1:1 down;").digest == before
    (tmp_path / "more.conf").write_text("server 10.0.0.7:80;")
    assert main(tmp_path, http).digest != before


def test_what_can_not_be_read_is_said(tmp_path: Path) -> None:
    """A file that is missing or broken, or not known at all, is a problem in words, not an end."""
    assert "`test` command" in read(None, frozenset()).problem
    assert "nginx.conf" in read(str(tmp_path / "nginx.conf"), frozenset()).problem
    broken = main(tmp_path, "upstream chat { include chat.conf; include gone.conf; } server { ")
    assert broken.problem


def test_names_are_looked_up_and_kept_over_a_pause() -> None:
    """One name, two addresses, in canonical spelling; without an answer the last one holds (case 33)."""
    answers: list[list[str] | None] = [["10.0.0.2", "::1", "10.0.0.2"], None, ["10.0.0.3"]]
    asked = []

    def find(host: str, port: str) -> list[str]:
        asked.append((host, port))
        answer = answers.pop(0)
        if answer is None:
            raise OSError("Temporary failure in name resolution")
        return answer

    names = Names(find)
    assert names.of("node.test:80") == ("10.0.0.2:80", "[::1]:80")
    assert names.of("node.test:80") == ("10.0.0.2:80", "[::1]:80")
    assert names.of("node.test:80") == ("10.0.0.3:80",)
    assert asked == [("node.test", "80")] * 3


def test_a_name_that_was_never_found_has_no_addresses() -> None:
    """It can't be seen in the log yet, and that is all."""

    def find(_host: str, _port: str) -> list[str]:
        raise OSError

    assert Names(find).of("node.test:80") == ()


@pytest.mark.parametrize("address", ["10.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80", "unix//run/a.sock"])
def test_addresses_are_not_looked_up(address: str) -> None:
    """They stand for themselves."""

    def find(_host: str, _port: str) -> list[str]:
        raise AssertionError

    assert Names(find).of(address) == ()


def test_the_system_knows_localhost() -> None:
    """Names are asked for as nginx does."""
    assert "127.0.0.1" in look_up("localhost", "80")
